//! Expands repeats, after the total number of steps is known to be within the limit.

use super::ast::{Arrow, CommandStage, CommandStep, CommandTree, StageKind};
use crate::{
    diagnostic::{Diagnostic, DiagnosticCode},
    limits::CommandLimits,
    span::Span,
};

impl CommandTree {
    /// Iterates over every step in the order written.
    pub fn steps(&self) -> impl Iterator<Item = &CommandStep> {
        self.stages.iter().flat_map(|stage| {
            let (first, second) = match &stage.kind {
                StageKind::Group(steps) => (steps.as_slice(), [].as_slice()),
                StageKind::Conditional {
                    then, otherwise, ..
                } => (then.as_slice(), otherwise.as_slice()),
            };
            first.iter().chain(second)
        })
    }

    /// Returns the stages with every repeat expanded: copies of a single step follow one another
    /// with `-->`, copies in a group or branch are parallel.
    pub fn expand_repeats(
        &self,
        limits: &CommandLimits,
    ) -> Result<Vec<CommandStage>, Box<Diagnostic>> {
        let mut total = 0_usize;
        for step in self.steps() {
            let count = step.repeat.as_ref().map_or(1, |repeat| repeat.value);
            total = total.saturating_add(count as usize);
            if count > limits.repetitions || total > limits.steps {
                let span = step.repeat.as_ref().map_or(step.id.span, |it| it.span);
                return Err(Box::new(too_many_steps(span, limits)));
            }
        }
        Ok(self.stages.iter().flat_map(unroll_stage).collect())
    }
}

/// Creates the diagnostic for the step or count that exceeds the limit.
pub(crate) fn too_many_steps(place: Span, limits: &CommandLimits) -> Diagnostic {
    let steps = limits.steps;
    Diagnostic::new(
        DiagnosticCode::TooManySteps,
        place,
        format!("the command has more than {steps} steps"),
        "exceeds the limit; every repetition counts",
    )
    .with_help("split the command, or use fewer repetitions")
}

fn unroll_stage(stage: &CommandStage) -> Vec<CommandStage> {
    match &stage.kind {
        StageKind::Group(steps) => match steps.as_slice() {
            [only] => repeat_step(only)
                .enumerate()
                .map(|(number, step)| CommandStage {
                    arrow: if number == 0 {
                        stage.arrow
                    } else {
                        Arrow::Chain
                    },
                    kind: StageKind::Group(vec![step]),
                })
                .collect(),
            _ => vec![CommandStage {
                arrow: stage.arrow,
                kind: StageKind::Group(steps.iter().flat_map(repeat_step).collect()),
            }],
        },
        StageKind::Conditional {
            condition,
            then,
            otherwise,
        } => vec![CommandStage {
            arrow: stage.arrow,
            kind: StageKind::Conditional {
                condition: condition.clone(),
                then: then.iter().flat_map(repeat_step).collect(),
                otherwise: otherwise.iter().flat_map(repeat_step).collect(),
            },
        }],
    }
}

fn repeat_step(step: &CommandStep) -> impl Iterator<Item = CommandStep> {
    let count = step.repeat.as_ref().map_or(1, |repeat| repeat.value);
    let single = CommandStep {
        repeat: None,
        ..step.clone()
    };
    (0..count).map(move |_| single.clone())
}
