//! `%name`, `@name` and `#name`: where each is a mark and not data.

use super::{Place, Scanner, TokenKind};
use crate::tree::Modifier;

/// The old ways to write a style, by what opens its name and what closes it.
const OLD_STYLES: [(&str, &str); 3] = [("#style(", ")"), ("#style:", ""), ("#style=", "")];

impl Scanner<'_> {
    /// Takes the mark that stands here, if one does.
    pub(super) fn mark(&mut self) -> bool {
        let found = match self.text.char(self.text.at()) {
            Some('%') => self.modifier().map(|end| (TokenKind::Modifier, end)),
            Some('@') => self.framework().map(|end| (TokenKind::Framework, end)),
            Some('#') => self.style().map(|end| (TokenKind::Style, end)),
            _ => None,
        };
        if let Some((kind, end)) = found {
            self.push(kind, end);
        }
        found.is_some()
    }

    /// Before an id any name is one; elsewhere only the four, so that `%s` stays data.
    fn modifier(&self) -> Option<usize> {
        let at = self.text.at();
        if self.place == Place::Start {
            let end = self.text.ident(self.text.blank_end(at + 1))?;
            return self.ends_mark(end).then_some(end);
        }
        let end = self.text.ident(at + 1)?;
        let known = Modifier::named(self.text.slice(at + 1, end)).is_some();
        (known && self.ends_mark(end)).then_some(end)
    }

    fn framework(&self) -> Option<usize> {
        let end = self.text.ident(self.text.at() + 1)?;
        self.ends_mark(end).then_some(end)
    }

    fn style(&self) -> Option<usize> {
        let at = self.text.at();
        for (open, close) in OLD_STYLES {
            let name = at + open.len();
            // A name begins with a letter, however it is written: else it could not be printed.
            let named = self
                .text
                .char(name)
                .is_some_and(|it| it.is_ascii_alphabetic());
            if named
                && self.text.starts(at, open)
                && let Some(end) = self.text.ident(name)
                && self.text.starts(end, close)
                && self.ends_mark(end + close.len())
            {
                return Some(end + close.len());
            }
        }
        self.text
            .char(at + 1)
            .filter(char::is_ascii_alphabetic)
            .map(|_| self.text.ident_end(at + 1))
            .filter(|end| self.ends_mark(*end))
    }

    /// A mark is a word of its own: `@home.org` and `#1,` are data.
    fn ends_mark(&self, end: usize) -> bool {
        self.text.is_break(end) || (self.place == Place::Start && self.text.starts(end, ">>"))
    }
}

/// The name in a style, however it was written.
pub(crate) fn style_name(written: &str) -> &str {
    OLD_STYLES
        .iter()
        .find_map(|(open, close)| written.strip_prefix(open)?.strip_suffix(close))
        .or_else(|| written.strip_prefix('#'))
        .unwrap_or(written)
}
