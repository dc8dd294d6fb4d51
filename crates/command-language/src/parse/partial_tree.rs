//! The partial tree, built before it is known which step each annotation belongs to, and its
//! conversion to the final tree.

use super::errors;
use crate::{
    argument_items,
    ast::{
        Arrow, CommandAnnotations, CommandModifier, CommandStage, CommandStep, CommandTree,
        GateAnnotation, StageKind, StepArgs,
    },
    diagnostic::Diagnostic,
    lexer::{CommandToken, TokenKind},
    parse::MAX_DIAGNOSTICS,
    span::{Span, Spanned},
};

pub(super) enum PendingAnnotation {
    Modifier(Spanned<CommandModifier>),
    Framework(Spanned<String>),
    Style(Spanned<String>),
    Gate(Spanned<GateAnnotation>),
}

pub(super) struct PartialStage {
    pub(super) arrow: Arrow,
    pub(super) kind: PartialStageKind,
}

pub(super) enum PartialStageKind {
    Group(Vec<PartialStep>),
    Conditional {
        condition: Spanned<String>,
        /// Annotations before the `?`.
        leading: Vec<PendingAnnotation>,
        then: Vec<PartialStep>,
        otherwise: Vec<PartialStep>,
    },
}

impl PartialStageKind {
    fn step_count(&self) -> usize {
        match self {
            Self::Group(steps) => steps.len(),
            Self::Conditional {
                then, otherwise, ..
            } => then.len() + otherwise.len(),
        }
    }
}

#[derive(Default)]
pub(super) struct PartialStep {
    pub(super) id: Spanned<String>,
    pub(super) leading: Vec<PendingAnnotation>,
    pub(super) trailing: Vec<PendingAnnotation>,
    pub(super) repeat: Option<Spanned<u32>>,
    /// Spans of argument text without annotations inside.
    pub(super) data_spans: Vec<Span>,
    /// The number of annotations after the id that are followed by argument text.
    annotations_before_data: usize,
    is_json: bool,
    /// Whether a gate follows the id.
    pub(super) has_gate: bool,
}

impl PartialStep {
    pub(super) fn new(leading: Vec<PendingAnnotation>) -> Self {
        Self {
            leading,
            ..Self::default()
        }
    }

    /// Records whether the last annotation after the id is a gate.
    pub(super) fn note_gate(&mut self) {
        self.has_gate |= matches!(self.trailing.last(), Some(PendingAnnotation::Gate(_)));
    }

    pub(super) fn add_data(&mut self, token: CommandToken, joined: bool) {
        self.is_json = self.data_spans.is_empty() && token.kind == TokenKind::Json;
        self.annotations_before_data = self.trailing.len();
        match self.data_spans.last_mut().filter(|_| joined) {
            Some(last) => last.end = token.span.end,
            None => self.data_spans.push(token.span),
        }
    }

    fn parse_args(&self, text: &str) -> StepArgs {
        let (Some(first), Some(last)) = (self.data_spans.first(), self.data_spans.last()) else {
            return StepArgs::None;
        };
        let pieces: Vec<_> = self
            .data_spans
            .iter()
            .map(|span| span.slice(text))
            .collect();
        let raw = Spanned::new(pieces.join(" "), first.join(*last));
        if self.is_json
            && let Ok(value) = serde_json::from_str(&raw.value)
        {
            return StepArgs::Json { raw, value };
        }
        let items =
            argument_items::map_item_spans(argument_items::split_items(&raw.value), |span| {
                self.source_span(span)
            });
        StepArgs::Text { raw, items }
    }

    /// Maps a span of the joined text to the source.
    fn source_span(&self, span: Span) -> Span {
        Span::new(self.source_offset(span.start), self.source_offset(span.end))
    }

    fn source_offset(&self, at: usize) -> usize {
        let mut before = 0;
        for piece in &self.data_spans {
            let length = piece.end - piece.start;
            if at <= before + length {
                return piece.start + at.saturating_sub(before);
            }
            before += length + 1;
        }
        self.data_spans.last().map_or(at, |last| last.end)
    }
}

/// Builds the final tree, with a diagnostic for every duplicate annotation.
pub(super) fn build_tree(text: &str, drafts: Vec<PartialStage>) -> (CommandTree, Vec<Diagnostic>) {
    let mut binder = AnnotationBinder {
        text,
        total_steps: drafts.iter().map(|draft| draft.kind.step_count()).sum(),
        step_number: 0,
        command_annotations: CommandAnnotations::default(),
        diagnostics: Vec::new(),
    };
    let stages = drafts
        .into_iter()
        .filter(|draft| draft.kind.step_count() > 0)
        .map(|draft| CommandStage {
            arrow: draft.arrow,
            kind: binder.bind_stage(draft.kind),
        })
        .collect();
    let command = CommandTree {
        whole: binder.command_annotations,
        stages,
    };
    (command, binder.diagnostics)
}

/// Assigns each annotation to its step or to the whole command.
struct AnnotationBinder<'a> {
    text: &'a str,
    total_steps: usize,
    step_number: usize,
    command_annotations: CommandAnnotations,
    diagnostics: Vec<Diagnostic>,
}

impl AnnotationBinder<'_> {
    fn bind_stage(&mut self, kind: PartialStageKind) -> StageKind {
        match kind {
            PartialStageKind::Group(steps) => StageKind::Group(self.bind_steps(steps)),
            PartialStageKind::Conditional {
                condition,
                leading: lead,
                mut then,
                otherwise,
            } => {
                if self.step_number == 0 {
                    add_annotations(&mut self.command_annotations, lead, &mut self.diagnostics);
                } else if let Some(first) = then.first_mut() {
                    first.leading.splice(..0, lead);
                }
                // A branch is never the start of the command: its annotations follow a `:`.
                let first = self.step_number == 0 && self.total_steps > 1;
                let ahead = first.then(|| then.first_mut().map(|step| &mut step.leading));
                let own = ahead.flatten().map(std::mem::take);
                let mut then = self.bind_steps(then);
                if let (Some(own), Some(step)) = (own, then.first_mut()) {
                    add_annotations(&mut step.marks, own, &mut self.diagnostics);
                }
                StageKind::Conditional {
                    condition,
                    then,
                    otherwise: self.bind_steps(otherwise),
                }
            }
        }
    }

    fn bind_steps(&mut self, drafts: Vec<PartialStep>) -> Vec<CommandStep> {
        drafts
            .into_iter()
            .map(|draft| self.bind_step(draft))
            .collect()
    }

    fn bind_step(&mut self, mut draft: PartialStep) -> CommandStep {
        self.step_number += 1;
        let args = draft.parse_args(self.text);
        let mut annotations = CommandAnnotations::default();
        let trailing = if self.step_number == self.total_steps {
            draft.trailing.split_off(draft.annotations_before_data)
        } else {
            Vec::new()
        };
        let faults = &mut self.diagnostics;
        if self.step_number == 1 {
            add_annotations(&mut self.command_annotations, draft.leading, faults);
        } else {
            add_annotations(&mut annotations, draft.leading, faults);
        }
        if self.total_steps == 1 {
            add_annotations(&mut self.command_annotations, draft.trailing, faults);
        } else {
            add_annotations(&mut annotations, draft.trailing, faults);
        }
        add_annotations(&mut self.command_annotations, trailing, faults);
        CommandStep {
            id: draft.id,
            marks: annotations,
            repeat: draft.repeat,
            args,
        }
    }
}

fn add_annotations(
    annotations: &mut CommandAnnotations,
    added: Vec<PendingAnnotation>,
    faults: &mut Vec<Diagnostic>,
) {
    for annotation in added {
        match annotation {
            PendingAnnotation::Modifier(spanned) => {
                set_annotation(&mut annotations.modifier, spanned, "modifier", faults);
            }
            PendingAnnotation::Framework(spanned) => {
                set_annotation(&mut annotations.framework, spanned, "framework", faults);
            }
            PendingAnnotation::Style(spanned) => {
                set_annotation(&mut annotations.style, spanned, "style", faults);
            }
            PendingAnnotation::Gate(spanned) => annotations.gates.push(spanned),
        }
    }
}

fn set_annotation<T>(
    slot: &mut Option<Spanned<T>>,
    spanned: Spanned<T>,
    what: &str,
    faults: &mut Vec<Diagnostic>,
) {
    match slot {
        Some(first) if faults.len() < MAX_DIAGNOSTICS => {
            faults.push(errors::duplicate_annotation(what, spanned.span, first.span));
        }
        Some(_) => {}
        None => *slot = Some(spanned),
    }
}
