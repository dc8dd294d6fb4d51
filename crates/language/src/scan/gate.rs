//! `::` and its operand.

use super::{Scanner, TokenKind};

impl Scanner<'_> {
    /// Takes `::` and what belongs to it.
    pub(super) fn gate(&mut self) {
        self.push(TokenKind::Gate, self.text.at() + 2);
        let operand = self.text.blank_end(self.text.at());
        if self.quotes.mark(operand).is_some() {
            self.blank();
            self.criteria();
            return;
        }
        let Some(end) = self.text.ident(operand) else {
            return;
        };
        self.blank();
        if !self.text.starts(end, ":") || self.text.starts(end, "::") {
            self.push(TokenKind::GateWord, end);
            return;
        }
        let verifies = self.text.slice(operand, end) == "verify";
        self.push(TokenKind::GateName, end + 1);
        if self.quotes.mark(self.text.blank_end(end + 1)).is_some() {
            self.blank();
            let closed = self.quoted(TokenKind::Criterion);
            while closed && verifies && self.verify_option() {}
        }
    }

    /// Quoted texts with `,` or `;` between them.
    fn criteria(&mut self) {
        while self.quoted(TokenKind::Criterion) {
            let sign = self.text.blank_end(self.text.at());
            if !self.text.starts(sign, ",") && !self.text.starts(sign, ";") {
                return;
            }
            self.blank();
            self.push(TokenKind::Separator, sign + 1);
            if self.quotes.mark(self.text.blank_end(sign + 1)).is_none() {
                return;
            }
            self.blank();
        }
    }

    fn quoted(&mut self, kind: TokenKind) -> bool {
        let open = self.text.at();
        if let Some(end) = self.quotes.end(open) {
            self.push(kind, end);
            true
        } else {
            self.push(TokenKind::Unclosed, open + 1);
            false
        }
    }

    fn verify_option(&mut self) -> bool {
        let at = self.text.blank_end(self.text.at());
        let apart = at > self.text.at();
        let name = if self.text.starts(at, ":") && self.text.ident(at + 1).is_some() {
            1
        } else {
            ["max:", "timeout:", "loop:"]
                .iter()
                .find(|name| apart && self.text.starts(at, name))
                .map_or(0, |name| name.len())
        };
        if name > 0 {
            self.blank();
            let end = self.text.word_end(at + name, true);
            let value = self.text.slice(at + name, end);
            let end = at + name + value.find(':').unwrap_or(value.len());
            self.push(TokenKind::VerifyOption, end);
        }
        name > 0
    }
}
