//! Looking about in the text: where runs of a kind end, and what stands at an offset.
//!
//! Every offset it gives lies between two characters.

use super::TokenKind;

pub(super) struct LexerCursor<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> LexerCursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    pub(super) fn move_to(&mut self, at: usize) {
        self.position = at;
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.position >= self.text.len()
    }

    pub(super) fn rest(&self, at: usize) -> &'a str {
        self.text.get(at..).unwrap_or_default()
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    pub(super) fn char_at(&self, at: usize) -> Option<char> {
        self.rest(at).chars().next()
    }

    pub(super) fn starts_with_at(&self, at: usize, with: &str) -> bool {
        self.rest(at).starts_with(with)
    }

    /// Where the run of characters that `fits` ends.
    pub(super) fn run_end(&self, at: usize, fits: impl Fn(char) -> bool) -> usize {
        let rest = self.rest(at);
        at + rest.find(|each| !fits(each)).unwrap_or(rest.len())
    }

    pub(super) fn blank_end(&self, at: usize) -> usize {
        self.run_end(at, char::is_whitespace)
    }

    /// Where a word that starts here ends: at a blank or, if arrows count, at an arrow.
    pub(super) fn word_end(&self, at: usize, arrows: bool) -> usize {
        let rest = self.rest(at);
        let end = rest.char_indices().find(|(offset, each)| {
            let maybe_arrow = arrows && matches!(each, '-' | '=');
            each.is_whitespace() || (maybe_arrow && self.arrow_at(at + offset).is_some())
        });
        at + end.map_or(rest.len(), |(offset, _)| offset)
    }

    pub(super) fn arrow_at(&self, at: usize) -> Option<TokenKind> {
        if self.starts_with_at(at, "-->") {
            Some(TokenKind::Chain)
        } else if self.starts_with_at(at, "==>") {
            Some(TokenKind::Delegate)
        } else {
            None
        }
    }

    /// Whether a mark or operand may end here: before a blank, an arrow, or the end.
    pub(super) fn is_boundary(&self, at: usize) -> bool {
        self.char_at(at).is_none_or(char::is_whitespace) || self.arrow_at(at).is_some()
    }

    /// The end of an identifier that starts here.
    pub(super) fn match_identifier(&self, at: usize) -> Option<usize> {
        self.char_at(at)
            .filter(|first| is_identifier_char(*first) && *first != '-')?;
        Some(self.identifier_end(at))
    }

    /// Where the run of identifier characters ends; the dashes of an arrow are not among them.
    pub(super) fn identifier_end(&self, at: usize) -> usize {
        let end = self.run_end(at, is_identifier_char);
        if self.starts_with_at(end, ">") && self.slice(at, end).ends_with("--") {
            end - 2
        } else {
            end
        }
    }

    /// Whether `>>` stands here, behind nothing but blanks and marks.
    pub(super) fn reference_follows(&self, mut at: usize) -> bool {
        loop {
            at = self.blank_end(at);
            match self.char_at(at) {
                Some('@' | '#' | '%') if self.match_identifier(at + 1).is_some() => {
                    at = self.identifier_end(at + 1);
                }
                _ => return self.starts_with_at(at, ">>"),
            }
        }
    }
}

/// What an id or the name of a mark is made of.
pub(super) fn is_identifier_char(each: char) -> bool {
    each.is_ascii_alphanumeric() || matches!(each, '_' | '-')
}

/// What the name of an argument is made of.
pub(super) fn is_argument_name_char(each: char) -> bool {
    each.is_alphanumeric() || matches!(each, '_' | '-')
}
