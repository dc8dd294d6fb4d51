//! Which level decided, and what the others would have said.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Level, Levels, Moment, decide};
use crate::model::Injection;

/// What one level said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Line {
    /// The level.
    pub level: Level,
    /// Whether it would add it; unset if it has nothing to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inject: Option<bool>,
    /// Why.
    pub reason: String,
    /// Whether it decided.
    pub decides: bool,
}

/// A line for each level, strongest first.
pub fn explain(kind: Injection, levels: &Levels<'_>, at: &Moment<'_>) -> Vec<Line> {
    let decided = decide(kind, levels, at).level;
    Level::ALL
        .into_iter()
        .map(|level| {
            let say = levels.say(level, kind, at);
            Line {
                level,
                inject: say.inject,
                reason: say.reason,
                decides: level == decided,
            }
        })
        .collect()
}
