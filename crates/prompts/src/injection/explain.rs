//! Explains an injection decision: the level that decided, and the decisions of the others.

use schemars::JsonSchema;
use serde::Serialize;

use super::{InjectionContext, InjectionLevel, InjectionLevels, decide};
use crate::model::Injection;

/// The decision of one level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExplanationLine {
    /// The level.
    pub level: InjectionLevel,
    /// Whether the level injects; unset if it leaves the decision open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inject: Option<bool>,
    /// The reason.
    pub reason: String,
    /// Whether this level decided.
    pub decides: bool,
}

/// Returns the decision of each level, strongest first.
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
