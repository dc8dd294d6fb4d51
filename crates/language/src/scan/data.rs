//! What may stand after a prompt's id: operators where they count, and argument data.

use serde_json::{Map, Value};

use super::{Place, Scanner, TokenKind, cursor::is_name};

impl Scanner<'_> {
    /// Takes one token after the id.
    pub(super) fn after_id(&mut self) {
        let starred = self.last_kind() == Some(TokenKind::Id) && !self.plain;
        let word_start = self.at_word_start();
        if (word_start || starred) && !self.plain && self.star() {
            return;
        }
        if word_start && !self.plain && (self.operator() || self.mark()) {
            return;
        }
        if self.json() || self.quoted_data(word_start) {
            return;
        }
        if word_start && (self.pair() || self.questioned()) {
            return;
        }
        let end = self.text.word_end(self.text.at(), !self.plain);
        self.push(TokenKind::Text, end);
    }

    /// `+`, `?`, `:` and `::`, at the start of a word.
    fn operator(&mut self) -> bool {
        let at = self.text.at();
        if self.text.starts(at, "::") {
            self.gate();
        } else if self.text.starts(at, "+") && self.text.reference_follows(at + 1) {
            self.push(TokenKind::Plus, at + 1);
            self.place = Place::Start;
        } else if self.opens_else() {
            self.else_branch();
        } else if self.text.starts(at, "?") && self.is_condition(at + 1) {
            self.condition();
        } else {
            return false;
        }
        true
    }

    /// Whether a quoted text and a colon follow, or a `"` that never closes.
    fn is_condition(&self, at: usize) -> bool {
        let open = self.text.blank_end(at);
        match self.quotes.end(open) {
            Some(end) => self.text.starts(self.text.blank_end(end), ":"),
            None => self.quotes.mark(open) == Some('"'),
        }
    }

    /// `* N`: right after the id it is a repeat; later it is one if nothing but operators follow,
    /// which is settled by the next token.
    fn star(&mut self) -> bool {
        let at = self.text.at();
        if !self.text.starts(at, "*") {
            return false;
        }
        let digits = self.text.blank_end(at + 1);
        let end = self.text.run_end(digits, |each| each.is_ascii_digit());
        if end == digits || !self.text.is_break(end) {
            return false;
        }
        if self.place == Place::AfterId {
            self.push(TokenKind::Repeat, end);
            return true;
        }
        let before = std::mem::take(&mut self.undecided);
        self.push(TokenKind::Repeat, end);
        self.undecided = before;
        self.undecided.push(self.tokens.len() - 1);
        true
    }

    /// A JSON object as the first of the arguments, whatever its strings hold.
    fn json(&mut self) -> bool {
        let at = self.text.at();
        if self.place != Place::AfterId || !self.text.starts(at, "{") {
            return false;
        }
        let mut objects = serde_json::Deserializer::from_str(self.text.rest(at))
            .into_iter::<Map<String, Value>>();
        let Some(Ok(_)) = objects.next() else {
            return false;
        };
        let end = at + objects.byte_offset();
        self.push(TokenKind::Json, end);
        true
    }

    /// A quote at the start of a word or value.
    fn quoted_data(&mut self, word_start: bool) -> bool {
        let at = self.text.at();
        let Some(mark) = self.quotes.mark(at) else {
            return false;
        };
        let valued = self.last_kind() == Some(TokenKind::Sign);
        if !word_start && !valued {
            return false;
        }
        if let Some(end) = self.quotes.end(at) {
            self.push(TokenKind::Quoted, end);
            return true;
        }
        if valued && mark == '"' {
            self.push(TokenKind::Unclosed, at + 1);
            return true;
        }
        false
    }

    /// `?"…"` that is no condition: the quote is one all the same, so that where it closes does
    /// not depend on what stands behind the arguments.
    fn questioned(&mut self) -> bool {
        let open = self.text.at() + 1;
        if !self.text.starts(self.text.at(), "?") || self.quotes.mark(open).is_none() {
            return false;
        }
        self.push(TokenKind::Text, open);
        if let Some(end) = self.quotes.end(open) {
            self.push(TokenKind::Quoted, end);
        }
        true
    }

    /// A name and its sign at the start of a word. Blanks before the sign only if the value is
    /// quoted, so that `so : well` stays text.
    fn pair(&mut self) -> bool {
        let at = self.text.at();
        let end = self.text.run_end(at, is_name);
        if end == at {
            return false;
        }
        let sign = self.text.blank_end(end);
        let quoted = || {
            let value = self.text.blank_end(sign + 1);
            self.quotes.end(value).is_some()
        };
        if !self.is_sign(sign) || (sign > end && !quoted()) {
            return false;
        }
        self.push(TokenKind::Name, end);
        self.blank();
        self.push(TokenKind::Sign, sign + 1);
        true
    }

    /// `:` or `=`, but not that of `http://`, `a::b`, `a == b` or an arrow.
    fn is_sign(&self, at: usize) -> bool {
        let next = at + 1;
        match self.text.char(at) {
            Some(':') => !self.text.starts(next, "//") && !self.text.starts(next, ":"),
            Some('=') => {
                !self.text.starts(next, "//")
                    && !self.text.starts(next, ":")
                    && !self.text.starts(next, "=")
            }
            _ => false,
        }
    }
}
