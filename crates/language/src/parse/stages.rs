//! Stages, branches and steps from tokens.

use super::{
    Parser,
    draft::{DraftKind, DraftStage, DraftStep, Mark},
    faults,
};
use crate::{
    expand,
    quote::unquote,
    scan::{Token, TokenKind},
    span::Spanned,
    tree::Arrow,
};

impl Parser<'_> {
    /// Reads all there is.
    pub(super) fn stages(&mut self) {
        if self.tokens.is_empty() {
            self.fault(faults::empty(self.end()));
        }
        let mut arrow = Arrow::First;
        let mut sign: Option<Token> = None;
        while let Some(token) = self.peek() {
            if let Some(next) = arrow_of(token.kind) {
                self.next();
                if sign.is_some() || self.drafts.is_empty() {
                    self.fault(faults::nothing_before(token.span, self.slice(token)));
                } else {
                    arrow = next;
                }
                sign = Some(token);
            } else {
                if sign.is_none() && !self.drafts.is_empty() {
                    arrow = Arrow::Chain;
                }
                self.stage(arrow);
                sign = None;
            }
        }
        if let Some(sign) = sign
            && !self.drafts.is_empty()
        {
            self.fault(faults::nothing_after(sign.span, self.slice(sign)));
        }
    }

    fn stage(&mut self, arrow: Arrow) {
        let lead = self.leading_marks();
        let kind = if let Some(sign) = self.take(TokenKind::Question) {
            self.conditional(sign, lead)
        } else {
            let mut steps = Vec::new();
            self.group(&mut steps, lead);
            DraftKind::Group(steps)
        };
        self.drafts.push(DraftStage { arrow, kind });
    }

    fn leading_marks(&mut self) -> Vec<Mark> {
        let mut marks = Vec::new();
        while self.mark(&mut marks) {}
        marks
    }

    fn conditional(&mut self, sign: Token, lead: Vec<Mark>) -> DraftKind {
        let condition = match self.peek().map(|token| (token.kind, token)) {
            Some((TokenKind::Condition, token)) => {
                self.next();
                Some(Spanned::new(unquote(self.slice(token)), token.span))
            }
            Some((TokenKind::Unclosed, token)) => {
                self.unclosed(token);
                None
            }
            _ => {
                self.fault(faults::conditional(
                    sign.span,
                    "a quoted condition belongs after this",
                ));
                None
            }
        };
        let colon = self.take(TokenKind::Colon);
        if let Some(condition) = condition.as_ref().filter(|_| colon.is_none()) {
            self.fault(faults::conditional(
                condition.span,
                "`:` and a step belong after this",
            ));
        }
        let mut then = Vec::new();
        let mut otherwise = Vec::new();
        if let Some(colon) = colon {
            self.branch(colon, &mut then);
            if let Some(colon) = self.take(TokenKind::Colon) {
                self.branch(colon, &mut otherwise);
            }
        } else if self.peek().is_some_and(|token| !ends_step(token.kind)) {
            self.group(&mut then, Vec::new());
        }
        DraftKind::Conditional {
            condition: condition.unwrap_or_default(),
            lead,
            then,
            otherwise,
        }
    }

    fn branch(&mut self, colon: Token, steps: &mut Vec<DraftStep>) {
        if self.peek().is_none_or(|token| ends_step(token.kind)) {
            self.fault(faults::conditional(colon.span, "a step belongs after this"));
            return;
        }
        self.group(steps, Vec::new());
    }

    /// Steps with `+` between them.
    fn group(&mut self, steps: &mut Vec<DraftStep>, mut lead: Vec<Mark>) {
        loop {
            steps.extend(self.step(std::mem::take(&mut lead)));
            if self.take(TokenKind::Plus).is_none() {
                break;
            }
        }
    }

    /// One step; `None` if its prompt cannot be read.
    fn step(&mut self, lead: Vec<Mark>) -> Option<DraftStep> {
        let mut before = lead;
        let id = loop {
            let Some(token) = self.peek() else {
                self.fault(faults::no_prompt(self.end()));
                return None;
            };
            match token.kind {
                TokenKind::Reference => {}
                TokenKind::SingleAngle => {
                    let rest = self.text.get(token.span.end..).unwrap_or_default();
                    self.fault(faults::single_angle(token.span, rest));
                }
                TokenKind::Id => break Some(token),
                TokenKind::BadId => {
                    self.fault(faults::bad_id(token.span, self.slice(token)));
                    break None;
                }
                TokenKind::Plus => {
                    self.fault(faults::nothing_before(token.span, "+"));
                }
                _ => {
                    if self.mark(&mut before) {
                        continue;
                    }
                    self.fault(faults::no_prompt(token.span));
                    // What no step begins with is left out, that the reading goes on.
                    if token.kind == TokenKind::Colon || !ends_step(token.kind) {
                        self.next();
                    }
                    return None;
                }
            }
            self.next();
        };
        self.next();
        let mut step = DraftStep::new(before);
        self.step_rest(&mut step);
        let id = id?;
        step.id = Spanned::new(self.slice(id).to_owned(), id.span);
        self.count(&step);
        (!self.halted || !self.too_long()).then_some(step)
    }

    /// What stands behind the id.
    fn step_rest(&mut self, step: &mut DraftStep) {
        let mut joined = false;
        while let Some(token) = self.peek() {
            if token.kind == TokenKind::Repeat {
                self.next();
                self.repeat(step, token);
            } else if token.kind.is_data() {
                self.next();
                if step.gated || (!joined && !step.data.is_empty()) {
                    self.doubtful.get_or_insert(token.span);
                }
                step.add_data(token, joined);
                joined = true;
                continue;
            } else if token.kind == TokenKind::Unclosed {
                self.unclosed(token);
            } else if self.mark(&mut step.after) {
                step.note_gate();
            } else {
                break;
            }
            joined = false;
        }
    }

    fn repeat(&mut self, step: &mut DraftStep, token: Token) {
        let digits = self.slice(token).trim_start_matches('*').trim_start();
        let count = digits.parse().unwrap_or(u32::MAX);
        if let Some(first) = &step.repeat {
            self.fault(faults::second_repeat(token.span, first.span));
        } else if count == 0 || count > self.limits.repetitions {
            self.fault(faults::repeat(token.span, digits, self.limits));
        } else {
            step.repeat = Some(Spanned::new(count, token.span));
        }
    }

    /// Adds a step's copies to the sum, before anything is copied.
    fn count(&mut self, step: &DraftStep) {
        let copies = step.repeat.as_ref().map_or(1, |repeat| repeat.value);
        self.steps = self.steps.saturating_add(copies as usize);
        if self.too_long() {
            let place = step.repeat.as_ref().map_or(step.id.span, |it| it.span);
            self.fault(expand::too_many(place, self.limits));
        }
    }

    fn too_long(&self) -> bool {
        self.steps > self.limits.steps
    }
}

fn arrow_of(kind: TokenKind) -> Option<Arrow> {
    match kind {
        TokenKind::Chain => Some(Arrow::Chain),
        TokenKind::Delegate => Some(Arrow::Delegate),
        _ => None,
    }
}

/// Whether a step cannot go on here.
fn ends_step(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Chain | TokenKind::Delegate | TokenKind::Question | TokenKind::Colon
    )
}
