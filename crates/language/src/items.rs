//! Raw argument text cut into pairs and words, nothing judged and no byte left out.

use crate::{
    quote::unquote,
    scan::{Token, TokenKind, data_tokens},
    span::{Span, Spanned},
    tree::Item,
};

/// The pairs and words of raw text, with offsets into it.
pub(crate) fn cut(raw: &str) -> Vec<Item> {
    let tokens = data_tokens(raw);
    let mut items = Vec::new();
    let mut rest = tokens.as_slice();
    while let Some((first, after)) = rest.split_first() {
        rest = match first.kind {
            TokenKind::Blank => after,
            TokenKind::Name => pair(raw, first, after, &mut items),
            _ => word(raw, rest, &mut items),
        };
    }
    items
}

/// A pair whose name was taken: the sign, and a quoted value or words up to the next name.
fn pair<'a>(raw: &str, name: &Token, after: &'a [Token], items: &mut Vec<Item>) -> &'a [Token] {
    let (sign, rest) = match after {
        [sign, rest @ ..] if sign.kind == TokenKind::Sign => (sign, rest),
        [_, sign, rest @ ..] => (sign, rest),
        _ => (name, after),
    };
    let behind_blank = match rest {
        [blank, rest @ ..] if blank.kind == TokenKind::Blank => rest,
        _ => rest,
    };
    let name = spanned(raw, name.span);
    if let [value, rest @ ..] = behind_blank
        && value.kind == TokenKind::Quoted
    {
        let text = unquote(value.span.of(raw));
        items.push(Item::Pair {
            name,
            value: Spanned::new(text, value.span),
            quoted: true,
        });
        return rest;
    }
    let count = rest
        .iter()
        .position(|token| token.kind == TokenKind::Name)
        .unwrap_or(rest.len());
    let (words, rest) = rest.split_at_checked(count).unwrap_or((rest, &[]));
    let mut filled = words.iter().filter(|token| token.kind != TokenKind::Blank);
    let span = match (filled.next(), filled.next_back()) {
        (Some(first), Some(last)) => first.span.to(last.span),
        (Some(only), None) => only.span,
        _ => Span::new(sign.span.end, sign.span.end),
    };
    items.push(Item::Pair {
        name,
        value: spanned(raw, span),
        quoted: false,
    });
    rest
}

/// All that stands together up to the next blank or name.
fn word<'a>(raw: &str, tokens: &'a [Token], items: &mut Vec<Item>) -> &'a [Token] {
    let count = tokens
        .iter()
        .position(|token| matches!(token.kind, TokenKind::Blank | TokenKind::Name))
        .unwrap_or(tokens.len());
    let (together, rest) = tokens.split_at_checked(count).unwrap_or((tokens, &[]));
    if let (Some(first), Some(last)) = (together.first(), together.last()) {
        items.push(Item::Word(spanned(raw, first.span.to(last.span))));
    }
    rest
}

fn spanned(raw: &str, span: Span) -> Spanned<String> {
    Spanned::new(span.of(raw).to_owned(), span)
}

/// The same items with every offset moved.
pub(crate) fn moved(mut items: Vec<Item>, place: impl Fn(Span) -> Span) -> Vec<Item> {
    for item in &mut items {
        match item {
            Item::Pair { name, value, .. } => {
                name.span = place(name.span);
                value.span = place(value.span);
            }
            Item::Word(word) => word.span = place(word.span),
        }
    }
    items
}
