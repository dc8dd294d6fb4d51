//! Scans `%name`, `@name` and `#name`, and decides where each is an annotation and not data.

use super::{CommandLexer, StepPosition, TokenKind};
use crate::ast::CommandModifier;

/// The legacy syntaxes of a style: the text before its name and the text after it.
const LEGACY_STYLE_SYNTAX: [(&str, &str); 3] = [("#style(", ")"), ("#style:", ""), ("#style=", "")];

impl CommandLexer<'_> {
    /// Consumes the annotation at the current offset, if there is one.
    pub(super) fn scan_annotation(&mut self) -> bool {
        let found = match self.cursor.char_at(self.cursor.position()) {
            Some('%') => self.modifier_end().map(|end| (TokenKind::Modifier, end)),
            Some('@') => self.framework_end().map(|end| (TokenKind::Framework, end)),
            Some('#') => self.style_end().map(|end| (TokenKind::Style, end)),
            _ => None,
        };
        if let Some((kind, end)) = found {
            self.push(kind, end);
        }
        found.is_some()
    }

    /// Before an id, `%` with any name is a modifier; elsewhere only the four known names are, so
    /// that `%s` stays data.
    fn modifier_end(&self) -> Option<usize> {
        let at = self.cursor.position();
        if self.position == StepPosition::Start {
            let end = self
                .cursor
                .match_identifier(self.cursor.blank_end(at + 1))?;
            return self.ends_annotation(end).then_some(end);
        }
        let end = self.cursor.match_identifier(at + 1)?;
        let known = CommandModifier::from_name(self.cursor.slice(at + 1, end)).is_some();
        (known && self.ends_annotation(end)).then_some(end)
    }

    fn framework_end(&self) -> Option<usize> {
        let end = self.cursor.match_identifier(self.cursor.position() + 1)?;
        self.ends_annotation(end).then_some(end)
    }

    fn style_end(&self) -> Option<usize> {
        let at = self.cursor.position();
        for (open, close) in LEGACY_STYLE_SYNTAX {
            let name = at + open.len();
            // In every syntax, a style name begins with a letter: otherwise it could not be
            // printed.
            let named = self
                .cursor
                .char_at(name)
                .is_some_and(|it| it.is_ascii_alphabetic());
            if named
                && self.cursor.starts_with_at(at, open)
                && let Some(end) = self.cursor.match_identifier(name)
                && self.cursor.starts_with_at(end, close)
                && self.ends_annotation(end + close.len())
            {
                return Some(end + close.len());
            }
        }
        self.cursor
            .char_at(at + 1)
            .filter(char::is_ascii_alphabetic)
            .map(|_| self.cursor.identifier_end(at + 1))
            .filter(|end| self.ends_annotation(*end))
    }

    /// An annotation must be a whole word: `@home.org` and `#1,` are data.
    fn ends_annotation(&self, end: usize) -> bool {
        self.cursor.is_boundary(end)
            || (self.position == StepPosition::Start && self.cursor.starts_with_at(end, ">>"))
    }
}

/// Returns the name in a style annotation of any syntax.
pub(crate) fn style_name(written: &str) -> &str {
    LEGACY_STYLE_SYNTAX
        .iter()
        .find_map(|(open, close)| written.strip_prefix(open)?.strip_suffix(close))
        .or_else(|| written.strip_prefix('#'))
        .unwrap_or(written)
}
