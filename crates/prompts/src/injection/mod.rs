//! Decides whether guidance is injected into a step. The three kinds of guidance are decided
//! separately, each by the first of seven levels that has a rule for it. Decisions are pure: the
//! time and place are passed in.

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

/// The decision for one kind of guidance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InjectionDecision {
    pub inject: bool,
    pub level: InjectionLevel,
    pub reason: String,
}

/// The decision of one level: yes, no or undecided, with the reason.
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

/// Decides whether guidance of this kind is injected.
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
    // The default level always decides. If it ever did not, nothing would be injected.
    InjectionDecision {
        inject: false,
        level: InjectionLevel::Default,
        reason: "no level decides".to_owned(),
    }
}
