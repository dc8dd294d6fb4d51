//! Marks from tokens: modifier, framework, style and gates.

use super::{Parser, draft::Mark, faults};
use crate::{
    quote::unquote,
    scan::{Token, TokenKind, style_name},
    span::{Span, Spanned},
    tree::{GateMark, Modifier, Preset, Verify},
};

impl Parser<'_> {
    /// Takes the mark that stands next, if one does; one that is wrong is left out.
    pub(super) fn mark(&mut self, marks: &mut Vec<Mark>) -> bool {
        let Some(token) = self.peek() else {
            return false;
        };
        let text = self.slice(token);
        let read = match token.kind {
            TokenKind::Modifier => self.modifier(token),
            TokenKind::Framework => {
                let name = text.strip_prefix('@').unwrap_or(text).to_owned();
                Some(Mark::Framework(Spanned::new(name, token.span)))
            }
            TokenKind::Style => {
                let name = style_name(text).to_owned();
                Some(Mark::Style(Spanned::new(name, token.span)))
            }
            TokenKind::Gate => {
                self.next();
                marks.extend(self.gate(token).map(Mark::Gate));
                return true;
            }
            _ => return false,
        };
        self.next();
        marks.extend(read);
        true
    }

    fn modifier(&mut self, token: Token) -> Option<Mark> {
        let name = self.slice(token).trim_start_matches('%').trim_start();
        let known = Modifier::named(&name.to_ascii_lowercase());
        if known.is_none() {
            self.fault(faults::unknown_modifier(token.span, name));
        }
        known.map(|known| Mark::Modifier(Spanned::new(known, token.span)))
    }

    fn gate(&mut self, sign: Token) -> Option<Spanned<GateMark>> {
        let operand = self.peek();
        let (gate, end) = match operand.map(|token| (token.kind, token)) {
            Some((TokenKind::Criterion, _)) => self.criteria()?,
            Some((TokenKind::GateWord, word)) => {
                self.next();
                (GateMark::Word(self.slice(word).to_owned()), word.span)
            }
            Some((TokenKind::GateName, name)) => {
                self.next();
                self.named(name)?
            }
            Some((TokenKind::Unclosed, token)) => {
                self.unclosed(token);
                return None;
            }
            _ => {
                self.fault(faults::gate_operand(
                    sign.span,
                    "nothing to check stands here",
                ));
                return None;
            }
        };
        let glued = Span::new(end.end, end.end + self.next_char(end.end));
        if glued.end > glued.start {
            self.fault(faults::gate_operand(
                glued,
                "a blank belongs here, or quotes",
            ));
            return None;
        }
        Some(Spanned::new(gate, sign.span.to(end)))
    }

    /// The length of a character that stands right behind an operand and should not.
    fn next_char(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        if rest.starts_with("-->") || rest.starts_with("==>") {
            return 0;
        }
        let next = rest.chars().next().filter(|next| !next.is_whitespace());
        next.map_or(0, char::len_utf8)
    }

    fn criteria(&mut self) -> Option<(GateMark, Span)> {
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
                    self.unclosed(next);
                    return None;
                }
                _ => {
                    let label = "another quoted criterion belongs here";
                    self.fault(faults::gate_operand(separator.span, label));
                    return None;
                }
            }
        }
        Some((GateMark::Criteria(criteria), end))
    }

    fn named(&mut self, name: Token) -> Option<(GateMark, Span)> {
        let Some(text) = self.take(TokenKind::Criterion) else {
            let unclosed = self.peek().filter(|next| next.kind == TokenKind::Unclosed);
            if let Some(unclosed) = unclosed {
                self.unclosed(unclosed);
            } else {
                let label = "a quoted text belongs after the colon";
                self.fault(faults::gate_operand(name.span, label));
            }
            return None;
        };
        let written = unquote(self.slice(text));
        let name = self.slice(name).trim_end_matches(':');
        if name == "verify" {
            let (verify, end) = self.verify(written, text.span);
            return Some((GateMark::Verify(verify), end));
        }
        let gate = GateMark::Named {
            name: name.to_owned(),
            text: written,
        };
        Some((gate, text.span))
    }

    fn verify(&mut self, command: String, mut end: Span) -> (Verify, Span) {
        let mut verify = Verify {
            command,
            ..Verify::default()
        };
        while let Some(token) = self.take(TokenKind::VerifyOption) {
            end = token.span;
            let written = self.slice(token);
            if set_option(&mut verify, written).is_none() {
                self.fault(faults::verify_option(token.span, written));
            }
        }
        (verify, end)
    }
}

/// Sets one option; `None` if it is none, or was set before.
fn set_option(verify: &mut Verify, written: &str) -> Option<()> {
    fn once<T>(slot: &mut Option<T>, value: Option<T>) -> Option<()> {
        if slot.is_some() {
            return None;
        }
        *slot = Some(value?);
        Some(())
    }
    let (name, value) = written.split_once(':')?;
    match name {
        "" => once(
            &mut verify.preset,
            Preset::ALL.into_iter().find(|known| known.name() == value),
        ),
        "max" => once(&mut verify.max, value.parse().ok()),
        "timeout" => once(&mut verify.timeout, value.parse().ok()),
        _ => once(&mut verify.again, value.parse().ok()),
    }
}
