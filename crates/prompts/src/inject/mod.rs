//! Whether guidance is added to a step. The three kinds are decided separately, each by the first
//! of seven levels that has something to say. Pure: time and place are handed in.

mod explain;
mod levels;
mod moment;
mod rule;

pub use explain::{Line, explain};
pub use levels::{Level, LevelSources, Levels, Modifier, Override, Scope, fits_pattern};
pub use moment::{GateStatus, Moment, Previous, StepType};

use crate::model::Injection;

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// Whether it is added.
    pub inject: bool,
    /// The level that decided.
    pub level: Level,
    /// Why.
    pub reason: String,
}

/// What a level says: yes or no, or nothing, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Say {
    pub(crate) inject: Option<bool>,
    pub(crate) reason: String,
}

impl Say {
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

    pub(crate) fn nothing(reason: impl Into<String>) -> Self {
        Self {
            inject: None,
            reason: reason.into(),
        }
    }
}

/// Whether guidance of this kind is added.
pub fn decide(kind: Injection, levels: &Levels<'_>, at: &Moment<'_>) -> Decided {
    for level in Level::ALL {
        let say = levels.say(level, kind, at);
        if let Some(inject) = say.inject {
            return Decided {
                inject,
                level,
                reason: say.reason,
            };
        }
    }
    // The default always says something; should it ever not, nothing is added.
    Decided {
        inject: false,
        level: Level::Default,
        reason: "nobody says anything".to_owned(),
    }
}
