//! Repeats unrolled, after the sum is known to fit.

use crate::{
    diagnostic::{Code, Diagnostic},
    limits::Limits,
    span::Span,
    tree::{Arrow, Command, Stage, StageKind, Step},
};

impl Command {
    /// Every step, in the order written.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
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

    /// The stages with every repeat unrolled: copies of a step that stands alone follow one
    /// another by `-->`, those in a group or branch stand side by side.
    pub fn expanded(&self, limits: &Limits) -> Result<Vec<Stage>, Box<Diagnostic>> {
        let mut total = 0_usize;
        for step in self.steps() {
            let count = step.repeat.as_ref().map_or(1, |repeat| repeat.value);
            total = total.saturating_add(count as usize);
            if count > limits.repetitions || total > limits.steps {
                let place = step.repeat.as_ref().map_or(step.id.span, |it| it.span);
                return Err(Box::new(too_many(place, limits)));
            }
        }
        Ok(self.stages.iter().flat_map(unrolled).collect())
    }
}

/// The step, or its count, that makes a command too long.
pub(crate) fn too_many(place: Span, limits: &Limits) -> Diagnostic {
    let steps = limits.steps;
    Diagnostic::new(
        Code::TooManySteps,
        place,
        format!("the command has more than {steps} steps"),
        "one too many, repeats counted",
    )
    .helping("split the command, or repeat less")
}

fn unrolled(stage: &Stage) -> Vec<Stage> {
    match &stage.kind {
        StageKind::Group(steps) => match steps.as_slice() {
            [only] => copies(only)
                .enumerate()
                .map(|(number, step)| Stage {
                    arrow: if number == 0 {
                        stage.arrow
                    } else {
                        Arrow::Chain
                    },
                    kind: StageKind::Group(vec![step]),
                })
                .collect(),
            _ => vec![Stage {
                arrow: stage.arrow,
                kind: StageKind::Group(steps.iter().flat_map(copies).collect()),
            }],
        },
        StageKind::Conditional {
            condition,
            then,
            otherwise,
        } => vec![Stage {
            arrow: stage.arrow,
            kind: StageKind::Conditional {
                condition: condition.clone(),
                then: then.iter().flat_map(copies).collect(),
                otherwise: otherwise.iter().flat_map(copies).collect(),
            },
        }],
    }
}

fn copies(step: &Step) -> impl Iterator<Item = Step> {
    let count = step.repeat.as_ref().map_or(1, |repeat| repeat.value);
    let single = Step {
        repeat: None,
        ..step.clone()
    };
    (0..count).map(move |_| single.clone())
}
