//! Splits raw argument text into pairs and words without judging them; no byte is lost.

use super::{
    ast::ArgumentItem,
    lexer::{CommandToken, TokenKind, tokenize_arguments},
};
use crate::{
    quote::unquote,
    span::{Span, Spanned},
};

/// Returns the pairs and words of raw text, with offsets into that text.
pub(crate) fn split_items(raw: &str) -> Vec<ArgumentItem> {
    let tokens = tokenize_arguments(raw);
    let mut items = Vec::new();
    let mut rest = tokens.as_slice();
    while let Some((first, after)) = rest.split_first() {
        rest = match first.kind {
            TokenKind::Blank => after,
            TokenKind::Name => parse_pair(raw, first, after, &mut items),
            _ => parse_word(raw, rest, &mut items),
        };
    }
    items
}

/// Parses a pair after its name: the sign, and a quoted value or words up to the next name.
fn parse_pair<'a>(
    raw: &str,
    name: &CommandToken,
    after: &'a [CommandToken],
    items: &mut Vec<ArgumentItem>,
) -> &'a [CommandToken] {
    let (sign, rest) = match after {
        [sign, rest @ ..] if sign.kind == TokenKind::Sign => (sign, rest),
        [_, sign, rest @ ..] => (sign, rest),
        _ => (name, after),
    };
    let behind_blank = match rest {
        [blank, rest @ ..] if blank.kind == TokenKind::Blank => rest,
        _ => rest,
    };
    let name = spanned_text(raw, name.span);
    if let [value, rest @ ..] = behind_blank
        && value.kind == TokenKind::Quoted
    {
        let text = unquote(value.span.slice(raw));
        items.push(ArgumentItem::Pair {
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
        (Some(first), Some(last)) => first.span.join(last.span),
        (Some(only), None) => only.span,
        _ => Span::new(sign.span.end, sign.span.end),
    };
    items.push(ArgumentItem::Pair {
        name,
        value: spanned_text(raw, span),
        quoted: false,
    });
    rest
}

/// Parses adjacent tokens up to the next blank or name as one word.
fn parse_word<'a>(
    raw: &str,
    tokens: &'a [CommandToken],
    items: &mut Vec<ArgumentItem>,
) -> &'a [CommandToken] {
    let count = tokens
        .iter()
        .position(|token| matches!(token.kind, TokenKind::Blank | TokenKind::Name))
        .unwrap_or(tokens.len());
    let (together, rest) = tokens.split_at_checked(count).unwrap_or((tokens, &[]));
    if let (Some(first), Some(last)) = (together.first(), together.last()) {
        items.push(ArgumentItem::Word(spanned_text(
            raw,
            first.span.join(last.span),
        )));
    }
    rest
}

fn spanned_text(raw: &str, span: Span) -> Spanned<String> {
    Spanned::new(span.slice(raw).to_owned(), span)
}

/// Returns the items with every span mapped to new offsets.
pub(crate) fn map_item_spans(
    mut items: Vec<ArgumentItem>,
    place: impl Fn(Span) -> Span,
) -> Vec<ArgumentItem> {
    for item in &mut items {
        match item {
            ArgumentItem::Pair { name, value, .. } => {
                name.span = place(name.span);
                value.span = place(value.span);
            }
            ArgumentItem::Word(word) => word.span = place(word.span),
        }
    }
    items
}
