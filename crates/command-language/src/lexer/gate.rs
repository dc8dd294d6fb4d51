//! Scans `::` and its operand.

use super::{CommandLexer, TokenKind};

impl CommandLexer<'_> {
    /// Consumes `::` and its operand.
    pub(super) fn scan_gate(&mut self) {
        self.push(TokenKind::Gate, self.cursor.position() + 2);
        let operand = self.cursor.blank_end(self.cursor.position());
        if self.quotes.quote_char(operand).is_some() {
            self.scan_blank();
            self.scan_criteria();
            return;
        }
        let Some(end) = self.cursor.match_identifier(operand) else {
            return;
        };
        self.scan_blank();
        if !self.cursor.starts_with_at(end, ":") || self.cursor.starts_with_at(end, "::") {
            self.push(TokenKind::GateWord, end);
            return;
        }
        let verifies = self.cursor.slice(operand, end) == "verify";
        self.push(TokenKind::GateName, end + 1);
        if self
            .quotes
            .quote_char(self.cursor.blank_end(end + 1))
            .is_some()
        {
            self.scan_blank();
            let closed = self.scan_quoted(TokenKind::Criterion);
            while closed && verifies && self.scan_verify_option() {}
        }
    }

    /// Consumes quoted texts separated by `,` or `;`.
    fn scan_criteria(&mut self) {
        while self.scan_quoted(TokenKind::Criterion) {
            let sign = self.cursor.blank_end(self.cursor.position());
            if !self.cursor.starts_with_at(sign, ",") && !self.cursor.starts_with_at(sign, ";") {
                return;
            }
            self.scan_blank();
            self.push(TokenKind::Separator, sign + 1);
            if self
                .quotes
                .quote_char(self.cursor.blank_end(sign + 1))
                .is_none()
            {
                return;
            }
            self.scan_blank();
        }
    }

    fn scan_quoted(&mut self, kind: TokenKind) -> bool {
        let open = self.cursor.position();
        if let Some(end) = self.quotes.quote_end(open) {
            self.push(kind, end);
            true
        } else {
            self.push(TokenKind::Unclosed, open + 1);
            false
        }
    }

    fn scan_verify_option(&mut self) -> bool {
        let at = self.cursor.blank_end(self.cursor.position());
        let apart = at > self.cursor.position();
        let name = if self.cursor.starts_with_at(at, ":")
            && self.cursor.match_identifier(at + 1).is_some()
        {
            1
        } else {
            ["max:", "timeout:", "loop:"]
                .iter()
                .find(|name| apart && self.cursor.starts_with_at(at, name))
                .map_or(0, |name| name.len())
        };
        if name > 0 {
            self.scan_blank();
            let end = self.cursor.word_end(at + name, true);
            let value = self.cursor.slice(at + name, end);
            let end = at + name + value.find(':').unwrap_or(value.len());
            self.push(TokenKind::VerifyOption, end);
        }
        name > 0
    }
}
