//! Whether guidance is added to a step. The three kinds are decided separately, each by the first
//! of seven levels that has something to say. Pure: time and place are handed in.

mod context;
mod explain;
mod precedence;
mod rule;

pub use context::{GateStatus, InjectionContext, PreviousStepResult, StepType};
pub use explain::{ExplanationLine, explain};
pub use precedence::{
    InjectionLevel, InjectionLevels, InjectionModifier, InjectionOverride, InjectionSources,
    OverrideScope, matches_pattern,
};

use crate::model::Injection;

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InjectionDecision {
    /// Whether it is added.
    pub inject: bool,
    /// The level that decided.
    pub level: InjectionLevel,
    /// Why.
    pub reason: String,
}

/// What a level says: yes or no, or nothing, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LevelDecision {
    pub(crate) inject: Option<bool>,
    pub(crate) reason: String,
}

impl LevelDecision {
    pub(crate) fn yes(reason: impl Into<String>) -> Self {
        Self {
            inject: Some(true),
            reason: reason.into(),
        }
    }

    pub(crate) fn no(reason: impl Into<String>) -> Self {
        Self {
            inject: Some(false),
            reason: reason.into(),
        }
    }

    pub(crate) fn undecided(reason: impl Into<String>) -> Self {
        Self {
            inject: None,
            reason: reason.into(),
        }
    }
}

/// Whether guidance of this kind is added.
pub fn decide(
    kind: Injection,
    levels: &InjectionLevels<'_>,
    at: &InjectionContext<'_>,
) -> InjectionDecision {
    for level in InjectionLevel::ALL {
        let say = levels.decide_level(level, kind, at);
        if let Some(inject) = say.inject {
            return InjectionDecision {
                inject,
                level,
                reason: say.reason,
            };
        }
    }
    // The default always says something; should it ever not, nothing is added.
    InjectionDecision {
        inject: false,
        level: InjectionLevel::Default,
        reason: "nobody says anything".to_owned(),
    }
}
