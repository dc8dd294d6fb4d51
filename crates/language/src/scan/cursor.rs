//! Looking about in the text: where runs of a kind end, and what stands at an offset.
//!
//! Every offset it gives lies between two characters.

use super::TokenKind;

pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn go(&mut self, at: usize) {
        self.at = at;
    }

    pub(super) fn is_done(&self) -> bool {
        self.at >= self.text.len()
    }

    pub(super) fn rest(&self, at: usize) -> &'a str {
        self.text.get(at..).unwrap_or_default()
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    pub(super) fn char(&self, at: usize) -> Option<char> {
        self.rest(at).chars().next()
    }

    pub(super) fn starts(&self, at: usize, with: &str) -> bool {
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
            each.is_whitespace() || (maybe_arrow && self.arrow(at + offset).is_some())
        });
        at + end.map_or(rest.len(), |(offset, _)| offset)
    }

    pub(super) fn arrow(&self, at: usize) -> Option<TokenKind> {
        if self.starts(at, "-->") {
            Some(TokenKind::Chain)
        } else if self.starts(at, "==>") {
            Some(TokenKind::Delegate)
        } else {
            None
        }
    }

    /// Whether a mark or operand may end here: before a blank, an arrow, or the end.
    pub(super) fn is_break(&self, at: usize) -> bool {
        self.char(at).is_none_or(char::is_whitespace) || self.arrow(at).is_some()
    }

    /// The end of an identifier that starts here.
    pub(super) fn ident(&self, at: usize) -> Option<usize> {
        self.char(at)
            .filter(|first| is_ident(*first) && *first != '-')?;
        Some(self.ident_end(at))
    }

    /// Where the run of identifier characters ends; the dashes of an arrow are not among them.
    pub(super) fn ident_end(&self, at: usize) -> usize {
        let end = self.run_end(at, is_ident);
        if self.starts(end, ">") && self.slice(at, end).ends_with("--") {
            end - 2
        } else {
            end
        }
    }

    /// Whether `>>` stands here, behind nothing but blanks and marks.
    pub(super) fn reference_follows(&self, mut at: usize) -> bool {
        loop {
            at = self.blank_end(at);
            match self.char(at) {
                Some('@' | '#' | '%') if self.ident(at + 1).is_some() => {
                    at = self.ident_end(at + 1);
                }
                _ => return self.starts(at, ">>"),
            }
        }
    }
}

/// What an id or the name of a mark is made of.
pub(super) fn is_ident(each: char) -> bool {
    each.is_ascii_alphanumeric() || matches!(each, '_' | '-')
}

/// What the name of an argument is made of.
pub(super) fn is_name(each: char) -> bool {
    each.is_alphanumeric() || matches!(each, '_' | '-')
}
