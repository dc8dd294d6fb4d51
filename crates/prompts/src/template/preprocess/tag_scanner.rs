//! Splits a template into text, comments, raw blocks and tags without parsing the tags. Every byte
//! of the template is in exactly one token. Knows nothing of values or prompts.

/// A token of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TemplateToken<'a> {
    pub(crate) kind: TemplateTokenKind,
    /// The whole token, with its braces.
    pub(crate) text: &'a str,
    /// The byte offset of its start.
    pub(crate) start: usize,
}

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TemplateTokenKind {
    /// Text that is printed unchanged.
    Text,
    /// A raw block with its tags, or a comment: its content is not parsed.
    Literal,
    /// `{{ … }}`.
    Print,
    /// `{% … %}`.
    Block,
}

impl<'a> TemplateToken<'a> {
    /// Splits a tag into its opening, content and closing. The whitespace control characters (`-`,
    /// `+`) belong to the opening and closing.
    pub(crate) fn split_tag(&self) -> (&'a str, &'a str, &'a str) {
        let opens = 2 + usize::from(
            self.text
                .get(2..)
                .is_some_and(|rest| rest.starts_with(['-', '+'])),
        );
        let closing = match self.kind {
            TemplateTokenKind::Print => "}}",
            _ => "%}",
        };
        let closes = match self.text.strip_suffix(closing) {
            Some(rest) if rest.len() > opens && rest.ends_with(['-', '+']) => 3,
            Some(_) => 2,
            None => 0,
        };
        let ends = self.text.len().saturating_sub(closes).max(opens);
        let (front, back) = self.text.split_at_checked(ends).unwrap_or((self.text, ""));
        let (open, inside) = front.split_at_checked(opens).unwrap_or((front, ""));
        (open, inside, back)
    }

    /// Returns whether a tag, comment or raw block eats the blanks behind it.
    pub(crate) fn trims_next(&self) -> bool {
        ["-%}", "-}}", "-#}"]
            .iter()
            .any(|closing| self.text.ends_with(closing))
    }

    /// Returns the first word of a tag.
    pub(crate) fn tag_name(&self) -> &'a str {
        let inside = self.split_tag().1.trim_start();
        let end = inside
            .find(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .unwrap_or(inside.len());
        inside.get(..end).unwrap_or_default()
    }
}

/// Splits a template into tokens.
pub(crate) fn tokenize(template: &str) -> Vec<TemplateToken<'_>> {
    let mut found = Vec::new();
    let mut rest = template;
    let mut start = 0;
    while !rest.is_empty() {
        let (kind, length) = next_token(rest);
        let (text, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        found.push(TemplateToken { kind, text, start });
        start += text.len();
        rest = after;
    }
    found
}

/// Returns the kind of the next token and its length, which is never 0.
fn next_token(rest: &str) -> (TemplateTokenKind, usize) {
    match find_tag_start(rest) {
        None => (TemplateTokenKind::Text, rest.len()),
        Some((at, _)) if at > 0 => (TemplateTokenKind::Text, at),
        Some((_, '#')) => {
            let length = rest
                .get(2..)
                .and_then(|inside| inside.find("#}"))
                .map_or(rest.len(), |end| end + 4);
            (TemplateTokenKind::Literal, length)
        }
        Some((_, '{')) => (TemplateTokenKind::Print, tag_length(rest, "}}")),
        Some(_) => {
            let length = tag_length(rest, "%}");
            if tag_is(rest.get(..length).unwrap_or_default(), "raw") {
                (
                    TemplateTokenKind::Literal,
                    length + raw_block_length(rest, length),
                )
            } else {
                (TemplateTokenKind::Block, length)
            }
        }
    }
}

/// Returns the offset of the next tag or comment, and its second character.
fn find_tag_start(text: &str) -> Option<(usize, char)> {
    let mut braces = text.match_indices('{');
    braces.find_map(|(at, _)| {
        let second = text.get(at + 1..)?.chars().next()?;
        matches!(second, '{' | '%' | '#').then_some((at, second))
    })
}

/// Returns the length of the tag at the start. Its end is ignored inside quotes and brackets.
fn tag_length(tag: &str, end: &str) -> usize {
    let mut depth = 0_usize;
    let mut quotes = QuoteTracker::default();
    for (at, letter) in tag.char_indices().skip(2) {
        if quotes.is_quoted(letter) {
            continue;
        }
        let ends = depth == 0 && tag.get(at..).is_some_and(|here| here.starts_with(end));
        match letter {
            _ if ends => return at + end.len(),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    tag.len()
}

/// Returns the length of a raw block after its opening tag. Like the engine it knows only the white
/// space of ASCII: if both ended the block at different places, the engine would run what looked
/// like a comment.
fn raw_block_length(rest: &str, opened: usize) -> usize {
    let body = rest.get(opened..).unwrap_or_default();
    body.match_indices("{%")
        .find_map(|(at, _)| {
            let inside = body.get(at + 2..)?;
            let word = inside.strip_prefix(['-', '+']).unwrap_or(inside);
            let word = word.trim_ascii_start();
            let after = word.strip_prefix("endraw")?.trim_ascii_start();
            let after = after.strip_prefix(['-', '+']).unwrap_or(after);
            let after = after.strip_prefix("%}")?;
            Some(body.len() - after.len())
        })
        .unwrap_or(body.len())
}

/// Returns whether a block tag contains only this word.
fn tag_is(tag: &str, word: &str) -> bool {
    tag.strip_prefix("{%")
        .and_then(|tag| tag.strip_suffix("%}"))
        .is_some_and(|inside| inside.trim_matches(['-', '+']).trim_ascii() == word)
}

/// Tracks whether the current character of a tag is inside quotes.
#[derive(Default)]
struct QuoteTracker {
    open: Option<char>,
    escaped: bool,
}

impl QuoteTracker {
    /// Returns whether this character is inside quotes; the quotes themselves are not.
    fn is_quoted(&mut self, letter: char) -> bool {
        let Some(open) = self.open else {
            self.open = matches!(letter, '"' | '\'').then_some(letter);
            return false;
        };
        let closes = !self.escaped && letter == open;
        self.escaped = !self.escaped && letter == '\\';
        if closes {
            self.open = None;
        }
        !closes
    }
}

/// The content of a tag with quoted text replaced by blanks. It has the same length in bytes, so
/// that offsets are valid in both.
pub(crate) struct QuoteMask(String);

impl QuoteMask {
    pub(crate) fn new(inside: &str) -> Self {
        let mut mask = String::with_capacity(inside.len());
        let mut quotes = QuoteTracker::default();
        for letter in inside.chars() {
            if quotes.is_quoted(letter) {
                mask.extend(std::iter::repeat_n(' ', letter.len_utf8()));
            } else {
                mask.push(letter);
            }
        }
        Self(mask)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kinds(template: &str) -> Vec<(TemplateTokenKind, &str)> {
        tokenize(template)
            .into_iter()
            .map(|piece| (piece.kind, piece.text))
            .collect()
    }

    #[test]
    fn quotes_brackets_comments_and_raw_blocks_hide_what_they_hold() {
        use TemplateTokenKind::{Block, Literal, Print, Text};
        assert_eq!(
            kinds(
                "a{{ '}}' }}{{ {\"a\": {}} }}{# {{ x }} #}{%- raw -%}{{ x }}{% x %}{% endraw %}{% if a %}"
            ),
            vec![
                (Text, "a"),
                (Print, "{{ '}}' }}"),
                (Print, "{{ {\"a\": {}} }}"),
                (Literal, "{# {{ x }} #}"),
                (Literal, "{%- raw -%}{{ x }}{% x %}{% endraw %}"),
                (Block, "{% if a %}"),
            ]
        );
        assert_eq!(
            kinds("{ } {{ open"),
            vec![(Text, "{ } "), (Print, "{{ open")]
        );
    }

    #[test]
    fn the_marks_that_eat_blanks_are_outside() {
        let all = tokenize("{{- x -}}{% if a %}{{}}");
        let parts: Vec<_> = all.iter().map(TemplateToken::split_tag).collect();
        assert_eq!(
            parts,
            vec![
                ("{{-", " x ", "-}}"),
                ("{%", " if a ", "%}"),
                ("{{", "", "}}")
            ]
        );
    }

    proptest! {
        #[test]
        fn no_byte_is_lost(template in "[{}%#\"' a\\\\ü-]{0,60}") {
            let all = tokenize(&template);
            let whole: String = all.iter().map(|piece| piece.text).collect();
            prop_assert_eq!(&whole, &template);
            for piece in all.iter().filter(|piece| matches!(piece.kind, TemplateTokenKind::Print | TemplateTokenKind::Block)) {
                let (open, inside, close) = piece.split_tag();
                prop_assert_eq!(format!("{open}{inside}{close}"), piece.text);
                let mask = QuoteMask::new(inside);
                prop_assert_eq!(mask.as_str().len(), inside.len());
            }
        }
    }
}
