//! Which level decided, and what the others would have said.

use schemars::JsonSchema;
use serde::Serialize;

use super::{InjectionContext, InjectionLevel, InjectionLevels, decide};
use crate::model::Injection;

/// What one level said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExplanationLine {
    /// The level.
    pub level: InjectionLevel,
    /// Whether it would add it; unset if it has nothing to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inject: Option<bool>,
    /// Why.
    pub reason: String,
    /// Whether it decided.
    pub decides: bool,
}

/// A line for each level, strongest first.
pub fn explain(
    kind: Injection,
    levels: &InjectionLevels<'_>,
    at: &InjectionContext<'_>,
) -> Vec<ExplanationLine> {
    let decided = decide(kind, levels, at).level;
    InjectionLevel::ALL
        .into_iter()
        .map(|level| {
            let say = levels.decide_level(level, kind, at);
            ExplanationLine {
                level,
                inject: say.inject,
                reason: say.reason,
                decides: level == decided,
            }
        })
        .collect()
}
