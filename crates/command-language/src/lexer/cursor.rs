//! Lookahead in the source: the characters at an offset and the end of a run of characters.
//!
//! Every offset that it returns is a character boundary.

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

    /// Returns the end of the run of characters for which `fits` is true.
    pub(super) fn run_end(&self, at: usize, fits: impl Fn(char) -> bool) -> usize {
        let rest = self.rest(at);
        at + rest.find(|each| !fits(each)).unwrap_or(rest.len())
    }

    pub(super) fn blank_end(&self, at: usize) -> usize {
        self.run_end(at, char::is_whitespace)
    }

    /// Returns the end of the word that starts here: a blank or, if `arrows` is set, an arrow.
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

    /// Returns whether an annotation or operand may end here: at a blank, an arrow or the end.
    pub(super) fn is_boundary(&self, at: usize) -> bool {
        self.char_at(at).is_none_or(char::is_whitespace) || self.arrow_at(at).is_some()
    }

    /// Returns the end of the identifier that starts here, if one does.
    pub(super) fn match_identifier(&self, at: usize) -> Option<usize> {
        self.char_at(at)
            .filter(|first| is_identifier_char(*first) && *first != '-')?;
        Some(self.identifier_end(at))
    }

    /// Returns the end of a run of identifier characters; the dashes of an arrow are not included.
    pub(super) fn identifier_end(&self, at: usize) -> usize {
        let end = self.run_end(at, is_identifier_char);
        if self.starts_with_at(end, ">") && self.slice(at, end).ends_with("--") {
            end - 2
        } else {
            end
        }
    }

    /// Returns whether `>>` follows after nothing but blanks and annotations.
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

/// Returns whether a character may be part of an id or of the name of an annotation.
pub(super) fn is_identifier_char(each: char) -> bool {
    each.is_ascii_alphanumeric() || matches!(each, '_' | '-')
}

/// Returns whether a character may be part of an argument name.
pub(super) fn is_argument_name_char(each: char) -> bool {
    each.is_alphanumeric() || matches!(each, '_' | '-')
}
