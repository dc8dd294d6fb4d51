//! Parses stages, branches and steps from tokens.

use super::{
    CommandParser, errors,
    partial_tree::{PartialStage, PartialStageKind, PartialStep, PendingAnnotation},
};
use crate::{
    ast::Arrow,
    lexer::{CommandToken, TokenKind},
    quote::unquote,
    repeat_expansion,
    span::Spanned,
};

impl CommandParser<'_> {
    /// Parses all stages of the command.
    pub(super) fn parse_stages(&mut self) {
        if self.tokens.is_empty() {
            self.report(errors::empty_command(self.end_span()));
        }
        let mut arrow = Arrow::First;
        let mut sign: Option<CommandToken> = None;
        while let Some(token) = self.peek() {
            if let Some(next) = arrow_from_token(token.kind) {
                self.next();
                if sign.is_some() || self.partial_stages.is_empty() {
                    self.report(errors::missing_before(token.span, self.slice(token)));
                } else {
                    arrow = next;
                }
                sign = Some(token);
            } else {
                if sign.is_none() && !self.partial_stages.is_empty() {
                    arrow = Arrow::Chain;
                }
                self.parse_stage(arrow);
                sign = None;
            }
        }
        if let Some(sign) = sign
            && !self.partial_stages.is_empty()
        {
            self.report(errors::missing_after(sign.span, self.slice(sign)));
        }
    }

    fn parse_stage(&mut self, arrow: Arrow) {
        let lead = self.parse_leading_annotations();
        let kind = if let Some(sign) = self.take(TokenKind::Question) {
            self.parse_conditional(sign, lead)
        } else {
            let mut steps = Vec::new();
            self.parse_group(&mut steps, lead);
            PartialStageKind::Group(steps)
        };
        self.partial_stages.push(PartialStage { arrow, kind });
    }

    fn parse_leading_annotations(&mut self) -> Vec<PendingAnnotation> {
        let mut annotations = Vec::new();
        while self.parse_annotation(&mut annotations) {}
        annotations
    }

    fn parse_conditional(
        &mut self,
        sign: CommandToken,
        lead: Vec<PendingAnnotation>,
    ) -> PartialStageKind {
        let condition = match self.peek().map(|token| (token.kind, token)) {
            Some((TokenKind::Condition, token)) => {
                self.next();
                Some(Spanned::new(unquote(self.slice(token)), token.span))
            }
            Some((TokenKind::Unclosed, token)) => {
                self.report_unclosed_quote(token);
                None
            }
            _ => {
                self.report(errors::bad_conditional(
                    sign.span,
                    "a quoted condition must follow",
                ));
                None
            }
        };
        let colon = self.take(TokenKind::Colon);
        if let Some(condition) = condition.as_ref().filter(|_| colon.is_none()) {
            self.report(errors::bad_conditional(
                condition.span,
                "`:` and a step must follow",
            ));
        }
        let mut then = Vec::new();
        let mut otherwise = Vec::new();
        if let Some(colon) = colon {
            self.parse_branch(colon, &mut then);
            if let Some(colon) = self.take(TokenKind::Colon) {
                self.parse_branch(colon, &mut otherwise);
            }
        } else if self.peek().is_some_and(|token| !ends_step(token.kind)) {
            self.parse_group(&mut then, Vec::new());
        }
        PartialStageKind::Conditional {
            condition: condition.unwrap_or_default(),
            leading: lead,
            then,
            otherwise,
        }
    }

    fn parse_branch(&mut self, colon: CommandToken, steps: &mut Vec<PartialStep>) {
        if self.peek().is_none_or(|token| ends_step(token.kind)) {
            self.report(errors::bad_conditional(colon.span, "a step must follow"));
            return;
        }
        self.parse_group(steps, Vec::new());
    }

    /// Parses steps separated by `+`.
    fn parse_group(&mut self, steps: &mut Vec<PartialStep>, mut lead: Vec<PendingAnnotation>) {
        loop {
            steps.extend(self.parse_step(std::mem::take(&mut lead)));
            if self.take(TokenKind::Plus).is_none() {
                break;
            }
        }
    }

    /// Parses one step; returns `None` if its prompt id is missing or invalid.
    fn parse_step(&mut self, lead: Vec<PendingAnnotation>) -> Option<PartialStep> {
        let mut before = lead;
        let id = loop {
            let Some(token) = self.peek() else {
                self.report(errors::missing_prompt(self.end_span()));
                return None;
            };
            match token.kind {
                TokenKind::Reference => {}
                TokenKind::SingleAngle => {
                    let rest = self.text.get(token.span.end..).unwrap_or_default();
                    self.report(errors::single_angle(token.span, rest));
                }
                TokenKind::Id => break Some(token),
                TokenKind::BadId => {
                    self.report(errors::bad_id(token.span, self.slice(token)));
                    break None;
                }
                TokenKind::Plus => {
                    self.report(errors::missing_before(token.span, "+"));
                }
                _ => {
                    if self.parse_annotation(&mut before) {
                        continue;
                    }
                    self.report(errors::missing_prompt(token.span));
                    // A token that cannot start a step is skipped so that parsing continues.
                    if token.kind == TokenKind::Colon || !ends_step(token.kind) {
                        self.next();
                    }
                    return None;
                }
            }
            self.next();
        };
        self.next();
        let mut step = PartialStep::new(before);
        self.parse_step_rest(&mut step);
        let id = id?;
        step.id = Spanned::new(self.slice(id).to_owned(), id.span);
        self.count_copies(&step);
        (!self.halted || !self.exceeds_step_limit()).then_some(step)
    }

    /// Parses the part of a step after its id.
    fn parse_step_rest(&mut self, step: &mut PartialStep) {
        let mut joined = false;
        while let Some(token) = self.peek() {
            if token.kind == TokenKind::Repeat {
                self.next();
                self.parse_repeat(step, token);
            } else if token.kind.is_data() {
                self.next();
                if step.has_gate || (!joined && !step.data_spans.is_empty()) {
                    self.split_text_span.get_or_insert(token.span);
                }
                step.add_data(token, joined);
                joined = true;
                continue;
            } else if token.kind == TokenKind::Unclosed {
                self.report_unclosed_quote(token);
            } else if self.parse_annotation(&mut step.trailing) {
                step.note_gate();
            } else {
                break;
            }
            joined = false;
        }
    }

    fn parse_repeat(&mut self, step: &mut PartialStep, token: CommandToken) {
        let digits = self.slice(token).trim_start_matches('*').trim_start();
        let count = digits.parse().unwrap_or(u32::MAX);
        if let Some(first) = &step.repeat {
            self.report(errors::duplicate_repeat(token.span, first.span));
        } else if count == 0 || count > self.limits.repetitions {
            self.report(errors::bad_repeat_count(token.span, digits, self.limits));
        } else {
            step.repeat = Some(Spanned::new(count, token.span));
        }
    }

    /// Adds the repetitions of a step to the total before any step is copied.
    fn count_copies(&mut self, step: &PartialStep) {
        let copies = step.repeat.as_ref().map_or(1, |repeat| repeat.value);
        self.step_count = self.step_count.saturating_add(copies as usize);
        if self.exceeds_step_limit() {
            let span = step.repeat.as_ref().map_or(step.id.span, |it| it.span);
            self.report(repeat_expansion::too_many_steps(span, self.limits));
        }
    }

    fn exceeds_step_limit(&self) -> bool {
        self.step_count > self.limits.steps
    }
}

fn arrow_from_token(kind: TokenKind) -> Option<Arrow> {
    match kind {
        TokenKind::Chain => Some(Arrow::Chain),
        TokenKind::Delegate => Some(Arrow::Delegate),
        _ => None,
    }
}

/// Returns whether a token of this kind ends a step.
fn ends_step(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Chain | TokenKind::Delegate | TokenKind::Question | TokenKind::Colon
    )
}
