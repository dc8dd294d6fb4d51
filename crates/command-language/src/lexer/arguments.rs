//! Scans the text after a prompt's id: argument data, and operators where they apply.

use serde_json::{Map, Value};

use super::{CommandLexer, StepPosition, TokenKind, cursor::is_argument_name_char};

impl CommandLexer<'_> {
    /// Consumes one token after the id.
    pub(super) fn scan_after_id(&mut self) {
        let starred = self.last_kind() == Some(TokenKind::Id) && !self.arguments_only;
        let word_start = self.is_at_word_start();
        if (word_start || starred) && !self.arguments_only && self.scan_repeat() {
            return;
        }
        if word_start && !self.arguments_only && (self.scan_operator() || self.scan_annotation()) {
            return;
        }
        if self.scan_json() || self.scan_quoted_data(word_start) {
            return;
        }
        if word_start && (self.scan_pair() || self.scan_quoted_question()) {
            return;
        }
        let end = self
            .cursor
            .word_end(self.cursor.position(), !self.arguments_only);
        self.push(TokenKind::Text, end);
    }

    /// Consumes `+`, `?`, `:` or `::` at the start of a word.
    fn scan_operator(&mut self) -> bool {
        let at = self.cursor.position();
        if self.cursor.starts_with_at(at, "::") {
            self.scan_gate();
        } else if self.cursor.starts_with_at(at, "+") && self.cursor.reference_follows(at + 1) {
            self.push(TokenKind::Plus, at + 1);
            self.position = StepPosition::Start;
        } else if self.opens_else() {
            self.scan_else_branch();
        } else if self.cursor.starts_with_at(at, "?") && self.is_condition(at + 1) {
            self.scan_condition();
        } else {
            return false;
        }
        true
    }

    /// Returns whether a quoted text and a colon follow, or a `"` that is never closed.
    fn is_condition(&self, at: usize) -> bool {
        let open = self.cursor.blank_end(at);
        match self.quotes.quote_end(open) {
            Some(end) => self.cursor.starts_with_at(self.cursor.blank_end(end), ":"),
            None => self.quotes.quote_char(open) == Some('"'),
        }
    }

    /// Consumes `* N`. Right after the id it is a repeat; later it is one only if nothing but
    /// operators follow, which the next token decides.
    fn scan_repeat(&mut self) -> bool {
        let at = self.cursor.position();
        if !self.cursor.starts_with_at(at, "*") {
            return false;
        }
        let digits = self.cursor.blank_end(at + 1);
        let end = self.cursor.run_end(digits, |each| each.is_ascii_digit());
        if end == digits || !self.cursor.is_boundary(end) {
            return false;
        }
        if self.position == StepPosition::AfterId {
            self.push(TokenKind::Repeat, end);
            return true;
        }
        let before = std::mem::take(&mut self.undecided_repeats);
        self.push(TokenKind::Repeat, end);
        self.undecided_repeats = before;
        self.undecided_repeats.push(self.tokens.len() - 1);
        true
    }

    /// Consumes a JSON object as the first argument, whatever its strings contain.
    fn scan_json(&mut self) -> bool {
        let at = self.cursor.position();
        if self.position != StepPosition::AfterId || !self.cursor.starts_with_at(at, "{") {
            return false;
        }
        let mut objects = serde_json::Deserializer::from_str(self.cursor.rest(at))
            .into_iter::<Map<String, Value>>();
        let Some(Ok(_)) = objects.next() else {
            return false;
        };
        let end = at + objects.byte_offset();
        self.push(TokenKind::Json, end);
        true
    }

    /// Consumes a quoted text at the start of a word or value.
    fn scan_quoted_data(&mut self, word_start: bool) -> bool {
        let at = self.cursor.position();
        let Some(mark) = self.quotes.quote_char(at) else {
            return false;
        };
        let valued = self.last_kind() == Some(TokenKind::Sign);
        if !word_start && !valued {
            return false;
        }
        if let Some(end) = self.quotes.quote_end(at) {
            self.push(TokenKind::Quoted, end);
            return true;
        }
        if valued && mark == '"' {
            self.push(TokenKind::Unclosed, at + 1);
            return true;
        }
        false
    }

    /// Consumes `?"…"` that is not a condition. The quoted text is still one token, so that its
    /// end does not depend on the text after the arguments.
    fn scan_quoted_question(&mut self) -> bool {
        let open = self.cursor.position() + 1;
        if !self.cursor.starts_with_at(self.cursor.position(), "?")
            || self.quotes.quote_char(open).is_none()
        {
            return false;
        }
        self.push(TokenKind::Text, open);
        if let Some(end) = self.quotes.quote_end(open) {
            self.push(TokenKind::Quoted, end);
        }
        true
    }

    /// Consumes a name and its sign at the start of a word. Blanks before the sign are allowed
    /// only if the value is quoted, so that `so : well` stays text.
    fn scan_pair(&mut self) -> bool {
        let at = self.cursor.position();
        let end = self.cursor.run_end(at, is_argument_name_char);
        if end == at {
            return false;
        }
        let sign = self.cursor.blank_end(end);
        let quoted = || {
            let value = self.cursor.blank_end(sign + 1);
            self.quotes.quote_end(value).is_some()
        };
        if !self.is_sign(sign) || (sign > end && !quoted()) {
            return false;
        }
        self.push(TokenKind::Name, end);
        self.scan_blank();
        self.push(TokenKind::Sign, sign + 1);
        true
    }

    /// Returns whether a `:` or `=` is a sign, not part of `http://`, `a::b`, `a == b` or an arrow.
    fn is_sign(&self, at: usize) -> bool {
        let next = at + 1;
        match self.cursor.char_at(at) {
            Some(':') => {
                !self.cursor.starts_with_at(next, "//") && !self.cursor.starts_with_at(next, ":")
            }
            Some('=') => {
                !self.cursor.starts_with_at(next, "//")
                    && !self.cursor.starts_with_at(next, ":")
                    && !self.cursor.starts_with_at(next, "=")
            }
            _ => false,
        }
    }
}
