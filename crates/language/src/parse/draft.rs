//! What was read before it is known which marks belong to whom, and the tree made of it.

use crate::{
    diagnostic::Diagnostic,
    items,
    parse::{MOST_FAULTS, faults},
    scan::{Token, TokenKind},
    span::{Span, Spanned},
    tree::{Args, Arrow, Command, GateMark, Marks, Modifier, Stage, StageKind, Step},
};

pub(super) enum Mark {
    Modifier(Spanned<Modifier>),
    Framework(Spanned<String>),
    Style(Spanned<String>),
    Gate(Spanned<GateMark>),
}

pub(super) struct DraftStage {
    pub(super) arrow: Arrow,
    pub(super) kind: DraftKind,
}

pub(super) enum DraftKind {
    Group(Vec<DraftStep>),
    Conditional {
        condition: Spanned<String>,
        /// Marks before the `?`.
        lead: Vec<Mark>,
        then: Vec<DraftStep>,
        otherwise: Vec<DraftStep>,
    },
}

impl DraftKind {
    fn steps(&self) -> usize {
        match self {
            Self::Group(steps) => steps.len(),
            Self::Conditional {
                then, otherwise, ..
            } => then.len() + otherwise.len(),
        }
    }
}

#[derive(Default)]
pub(super) struct DraftStep {
    pub(super) id: Spanned<String>,
    pub(super) before: Vec<Mark>,
    pub(super) after: Vec<Mark>,
    pub(super) repeat: Option<Spanned<u32>>,
    /// Stretches of argument text with no mark inside.
    pub(super) data: Vec<Span>,
    /// How many of the marks behind the id have argument text behind them.
    inside: usize,
    json: bool,
    /// Whether a gate stands behind the id.
    pub(super) gated: bool,
}

impl DraftStep {
    pub(super) fn new(before: Vec<Mark>) -> Self {
        Self {
            before,
            ..Self::default()
        }
    }

    /// Notes whether the last mark behind the id is a gate.
    pub(super) fn note_gate(&mut self) {
        self.gated |= matches!(self.after.last(), Some(Mark::Gate(_)));
    }

    pub(super) fn add_data(&mut self, token: Token, joined: bool) {
        self.json = self.data.is_empty() && token.kind == TokenKind::Json;
        self.inside = self.after.len();
        match self.data.last_mut().filter(|_| joined) {
            Some(last) => last.end = token.span.end,
            None => self.data.push(token.span),
        }
    }

    fn args(&self, text: &str) -> Args {
        let (Some(first), Some(last)) = (self.data.first(), self.data.last()) else {
            return Args::None;
        };
        let pieces: Vec<_> = self.data.iter().map(|span| span.of(text)).collect();
        let raw = Spanned::new(pieces.join(" "), first.to(*last));
        if self.json
            && let Ok(value) = serde_json::from_str(&raw.value)
        {
            return Args::Json { raw, value };
        }
        let items = items::moved(items::cut(&raw.value), |span| self.placed(span));
        Args::Text { raw, items }
    }

    /// Where in the source a stretch of the joined text stands.
    fn placed(&self, span: Span) -> Span {
        Span::new(self.offset(span.start), self.offset(span.end))
    }

    fn offset(&self, at: usize) -> usize {
        let mut before = 0;
        for piece in &self.data {
            let length = piece.end - piece.start;
            if at <= before + length {
                return piece.start + at.saturating_sub(before);
            }
            before += length + 1;
        }
        self.data.last().map_or(at, |last| last.end)
    }
}

/// The tree of what was read, with a fault for every mark that has no room.
pub(super) fn finish(text: &str, drafts: Vec<DraftStage>) -> (Command, Vec<Diagnostic>) {
    let mut binder = Binder {
        text,
        total: drafts.iter().map(|draft| draft.kind.steps()).sum(),
        number: 0,
        whole: Marks::default(),
        faults: Vec::new(),
    };
    let stages = drafts
        .into_iter()
        .filter(|draft| draft.kind.steps() > 0)
        .map(|draft| Stage {
            arrow: draft.arrow,
            kind: binder.kind(draft.kind),
        })
        .collect();
    let command = Command {
        whole: binder.whole,
        stages,
    };
    (command, binder.faults)
}

/// Gives each mark to its step or to the whole command.
struct Binder<'a> {
    text: &'a str,
    total: usize,
    number: usize,
    whole: Marks,
    faults: Vec<Diagnostic>,
}

impl Binder<'_> {
    fn kind(&mut self, kind: DraftKind) -> StageKind {
        match kind {
            DraftKind::Group(steps) => StageKind::Group(self.steps(steps)),
            DraftKind::Conditional {
                condition,
                lead,
                mut then,
                otherwise,
            } => {
                if self.number == 0 {
                    add_all(&mut self.whole, lead, &mut self.faults);
                } else if let Some(first) = then.first_mut() {
                    first.before.splice(..0, lead);
                }
                // A branch is never the start of the command: its marks stand behind a `:`.
                let first = self.number == 0 && self.total > 1;
                let ahead = first.then(|| then.first_mut().map(|step| &mut step.before));
                let own = ahead.flatten().map(std::mem::take);
                let mut then = self.steps(then);
                if let (Some(own), Some(step)) = (own, then.first_mut()) {
                    add_all(&mut step.marks, own, &mut self.faults);
                }
                StageKind::Conditional {
                    condition,
                    then,
                    otherwise: self.steps(otherwise),
                }
            }
        }
    }

    fn steps(&mut self, drafts: Vec<DraftStep>) -> Vec<Step> {
        drafts.into_iter().map(|draft| self.step(draft)).collect()
    }

    fn step(&mut self, mut draft: DraftStep) -> Step {
        self.number += 1;
        let args = draft.args(self.text);
        let mut marks = Marks::default();
        let trailing = if self.number == self.total {
            draft.after.split_off(draft.inside)
        } else {
            Vec::new()
        };
        let faults = &mut self.faults;
        if self.number == 1 {
            add_all(&mut self.whole, draft.before, faults);
        } else {
            add_all(&mut marks, draft.before, faults);
        }
        if self.total == 1 {
            add_all(&mut self.whole, draft.after, faults);
        } else {
            add_all(&mut marks, draft.after, faults);
        }
        add_all(&mut self.whole, trailing, faults);
        Step {
            id: draft.id,
            marks,
            repeat: draft.repeat,
            args,
        }
    }
}

fn add_all(marks: &mut Marks, added: Vec<Mark>, faults: &mut Vec<Diagnostic>) {
    for mark in added {
        match mark {
            Mark::Modifier(mark) => set(&mut marks.modifier, mark, "modifier", faults),
            Mark::Framework(mark) => set(&mut marks.framework, mark, "framework", faults),
            Mark::Style(mark) => set(&mut marks.style, mark, "style", faults),
            Mark::Gate(mark) => marks.gates.push(mark),
        }
    }
}

fn set<T>(
    slot: &mut Option<Spanned<T>>,
    mark: Spanned<T>,
    what: &str,
    faults: &mut Vec<Diagnostic>,
) {
    match slot {
        Some(first) if faults.len() < MOST_FAULTS => {
            faults.push(faults::second_mark(what, mark.span, first.span));
        }
        Some(_) => {}
        None => *slot = Some(mark),
    }
}
