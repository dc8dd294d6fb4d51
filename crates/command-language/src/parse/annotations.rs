//! Parses annotations from tokens: modifier, framework, style and gates.

use super::{CommandParser, errors, partial_tree::PendingAnnotation};
use crate::{
    ast::{CommandModifier, GateAnnotation, ShellVerify, ShellVerifyPreset},
    lexer::{CommandToken, TokenKind, style_name},
    quote::unquote,
    span::{Span, Spanned},
};

impl CommandParser<'_> {
    /// Consumes the next annotation, if there is one; an invalid annotation is reported and
    /// skipped.
    pub(super) fn parse_annotation(&mut self, marks: &mut Vec<PendingAnnotation>) -> bool {
        let Some(token) = self.peek() else {
            return false;
        };
        let text = self.slice(token);
        let read = match token.kind {
            TokenKind::Modifier => self.parse_modifier(token),
            TokenKind::Framework => {
                let name = text.strip_prefix('@').unwrap_or(text).to_owned();
                Some(PendingAnnotation::Framework(Spanned::new(name, token.span)))
            }
            TokenKind::Style => {
                let name = style_name(text).to_owned();
                Some(PendingAnnotation::Style(Spanned::new(name, token.span)))
            }
            TokenKind::Gate => {
                self.next();
                marks.extend(self.parse_gate(token).map(PendingAnnotation::Gate));
                return true;
            }
            _ => return false,
        };
        self.next();
        marks.extend(read);
        true
    }

    fn parse_modifier(&mut self, token: CommandToken) -> Option<PendingAnnotation> {
        let name = self.slice(token).trim_start_matches('%').trim_start();
        let known = CommandModifier::from_name(&name.to_ascii_lowercase());
        if known.is_none() {
            self.report(errors::unknown_modifier(token.span, name));
        }
        known.map(|known| PendingAnnotation::Modifier(Spanned::new(known, token.span)))
    }

    fn parse_gate(&mut self, sign: CommandToken) -> Option<Spanned<GateAnnotation>> {
        let operand = self.peek();
        let (gate, end) = match operand.map(|token| (token.kind, token)) {
            Some((TokenKind::Criterion, _)) => self.parse_criteria()?,
            Some((TokenKind::GateWord, word)) => {
                self.next();
                (GateAnnotation::Word(self.slice(word).to_owned()), word.span)
            }
            Some((TokenKind::GateName, name)) => {
                self.next();
                self.parse_named_gate(name)?
            }
            Some((TokenKind::Unclosed, token)) => {
                self.report_unclosed_quote(token);
                return None;
            }
            _ => {
                self.report(errors::bad_gate_operand(
                    sign.span,
                    "no gate or criterion follows",
                ));
                return None;
            }
        };
        let glued = Span::new(end.end, end.end + self.adjacent_char_len(end.end));
        if glued.end > glued.start {
            self.report(errors::bad_gate_operand(
                glued,
                "add a space here, or quote the text",
            ));
            return None;
        }
        Some(Spanned::new(gate, sign.span.join(end)))
    }

    /// Returns the length of a character directly after an operand, where a blank is required.
    fn adjacent_char_len(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        if rest.starts_with("-->") || rest.starts_with("==>") {
            return 0;
        }
        let next = rest.chars().next().filter(|next| !next.is_whitespace());
        next.map_or(0, char::len_utf8)
    }

    fn parse_criteria(&mut self) -> Option<(GateAnnotation, Span)> {
        let mut criteria = Vec::new();
        let mut end = Span::default();
        while let Some(token) = self.take(TokenKind::Criterion) {
            end = token.span;
            criteria.push(Spanned::new(unquote(self.slice(token)), token.span));
            let Some(separator) = self.take(TokenKind::Separator) else {
                break;
            };
            match self.peek() {
                Some(next) if next.kind == TokenKind::Criterion => {}
                Some(next) if next.kind == TokenKind::Unclosed => {
                    self.report_unclosed_quote(next);
                    return None;
                }
                _ => {
                    let label = "another quoted criterion must follow";
                    self.report(errors::bad_gate_operand(separator.span, label));
                    return None;
                }
            }
        }
        Some((GateAnnotation::Criteria(criteria), end))
    }

    fn parse_named_gate(&mut self, name: CommandToken) -> Option<(GateAnnotation, Span)> {
        let Some(text) = self.take(TokenKind::Criterion) else {
            let unclosed = self.peek().filter(|next| next.kind == TokenKind::Unclosed);
            if let Some(unclosed) = unclosed {
                self.report_unclosed_quote(unclosed);
            } else {
                let label = "a quoted text must follow the colon";
                self.report(errors::bad_gate_operand(name.span, label));
            }
            return None;
        };
        let written = unquote(self.slice(text));
        let name = self.slice(name).trim_end_matches(':');
        if name == "verify" {
            let (verify, end) = self.parse_verify(written, text.span);
            return Some((GateAnnotation::Verify(verify), end));
        }
        let gate = GateAnnotation::Named {
            name: name.to_owned(),
            text: written,
        };
        Some((gate, text.span))
    }

    fn parse_verify(&mut self, command: String, mut end: Span) -> (ShellVerify, Span) {
        let mut verify = ShellVerify {
            command,
            ..ShellVerify::default()
        };
        while let Some(token) = self.take(TokenKind::VerifyOption) {
            end = token.span;
            let written = self.slice(token);
            if set_verify_option(&mut verify, written).is_none() {
                self.report(errors::bad_verify_option(token.span, written));
            }
        }
        (verify, end)
    }
}

/// Sets one option; returns `None` if it is unknown or was set before.
fn set_verify_option(verify: &mut ShellVerify, written: &str) -> Option<()> {
    fn set_once<T>(slot: &mut Option<T>, value: Option<T>) -> Option<()> {
        if slot.is_some() {
            return None;
        }
        *slot = Some(value?);
        Some(())
    }
    let (name, value) = written.split_once(':')?;
    match name {
        "" => set_once(
            &mut verify.preset,
            ShellVerifyPreset::ALL
                .into_iter()
                .find(|known| known.name() == value),
        ),
        "max" => set_once(&mut verify.max, value.parse().ok()),
        "timeout" => set_once(&mut verify.timeout, value.parse().ok()),
        _ => set_once(&mut verify.again, value.parse().ok()),
    }
}
