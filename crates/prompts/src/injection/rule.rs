//! Evaluates one injection rule at one moment.

use serde_json::Value;

use super::{InjectionContext, LevelDecision};
use crate::model::{
    InjectionCondition, InjectionConditionKind, InjectionEffect, InjectionFrequency,
    InjectionFrequencyMode, InjectionRule, InjectionTarget,
};

/// Evaluates a rule: first its switch, then its target, its conditions and its frequency. A rule
/// that has only a target or conditions leaves the rest to the next level.
pub(super) fn evaluate_rule(rule: &InjectionRule, at: &InjectionContext<'_>) -> LevelDecision {
    if rule.enabled == Some(false) {
        return LevelDecision::no("is disabled");
    }
    match rule.target {
        Some(InjectionTarget::Steps) if at.in_review => {
            return LevelDecision::no("applies to steps, but this is a review");
        }
        Some(InjectionTarget::Gates) if !at.in_review => {
            return LevelDecision::no("applies to reviews, but this is a step");
        }
        _ => {}
    }
    if let Some(condition) = rule
        .conditions
        .iter()
        .find(|it| condition_applies(&it.when, at))
    {
        let name = condition_name(condition);
        return match condition.then {
            InjectionEffect::Inject => LevelDecision::yes(format!("condition {name} says inject")),
            InjectionEffect::Skip => LevelDecision::no(format!("condition {name} says skip")),
            InjectionEffect::Inherit => {
                LevelDecision::undecided(format!("condition {name} says inherit"))
            }
        };
    }
    match (rule.frequency, rule.enabled) {
        (Some(frequency), _) => evaluate_frequency(frequency, at),
        (None, Some(true)) => LevelDecision::yes("is enabled"),
        (None, _) => LevelDecision::undecided("sets no frequency"),
    }
}

fn condition_name(condition: &InjectionCondition) -> String {
    if condition.id.is_empty() {
        "without a name".to_owned()
    } else {
        format!("`{}`", condition.id)
    }
}

/// Evaluates a frequency.
pub(super) fn evaluate_frequency(
    frequency: InjectionFrequency,
    at: &InjectionContext<'_>,
) -> LevelDecision {
    match frequency.mode {
        InjectionFrequencyMode::Never => LevelDecision::no("never"),
        InjectionFrequencyMode::FirstOnly if at.step <= 1 => {
            LevelDecision::yes("first step only, and this is the first step")
        }
        InjectionFrequencyMode::FirstOnly => {
            LevelDecision::no(format!("first step only, and this is step {}", at.step))
        }
        InjectionFrequencyMode::Every => {
            let every = frequency.interval.unwrap_or(1).max(1);
            let due = at.step.saturating_sub(1).is_multiple_of(every);
            let reason = format!("every {every} step(s), and this is step {}", at.step);
            if due {
                LevelDecision::yes(reason)
            } else {
                LevelDecision::no(reason)
            }
        }
    }
}

fn condition_applies(when: &InjectionConditionKind, at: &InjectionContext<'_>) -> bool {
    let is = |there: &str, wanted: &str| there.eq_ignore_ascii_case(wanted.trim());
    match when {
        InjectionConditionKind::Always => true,
        InjectionConditionKind::GateStatus { status } => {
            let there = if at.in_review {
                Some("pending")
            } else {
                at.gate_status.map(super::GateStatus::as_str)
            };
            there.is_some_and(|there| is(there, status))
        }
        InjectionConditionKind::StepType { value } => is(
            if at.in_review {
                "review"
            } else {
                at.step_type.as_str()
            },
            value,
        ),
        InjectionConditionKind::StepNumber { operator, value } => {
            compare_step_number(operator.as_deref(), value, at)
        }
        InjectionConditionKind::PreviousStepResult { value } => {
            is(at.previous_result.as_str(), value)
        }
        InjectionConditionKind::ChainPosition { value } => {
            match value.trim().to_ascii_lowercase().as_str() {
                "first" => at.step <= 1,
                "last" => at.step >= at.total_steps,
                "middle" => at.step > 1 && at.step < at.total_steps,
                _ => false,
            }
        }
    }
}

fn compare_step_number(operator: Option<&str>, value: &Value, at: &InjectionContext<'_>) -> bool {
    let Some(wanted) = value
        .as_u64()
        .or_else(|| value.as_str()?.trim().parse().ok())
    else {
        return selects_step(value, at);
    };
    let step = u64::from(at.step);
    match operator.unwrap_or("eq") {
        "eq" | "=" | "==" => step == wanted,
        "gt" | ">" => step > wanted,
        "lt" | "<" => step < wanted,
        "gte" | ">=" => step >= wanted,
        "lte" | "<=" => step <= wanted,
        _ => false,
    }
}

/// Returns whether a selector matches this step: a number, `first`, `last`, `odd` or `even`.
pub(super) fn selects_step(selector: &Value, at: &InjectionContext<'_>) -> bool {
    if let Some(wanted) = selector.as_u64() {
        return u64::from(at.step) == wanted;
    }
    let Some(word) = selector.as_str().map(str::trim) else {
        return false;
    };
    match word.to_ascii_lowercase().as_str() {
        "first" => at.step <= 1,
        "last" => at.step >= at.total_steps,
        "odd" => at.step % 2 == 1,
        "even" => at.step.is_multiple_of(2),
        digits => digits.parse() == Ok(at.step),
    }
}
