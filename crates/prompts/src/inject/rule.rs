//! What one rule says at one moment.

use serde_json::Value;

use super::{Moment, Say};
use crate::model::{Condition, Effect, Frequency, FrequencyMode, Rule, Target, When};

/// What a rule says: whether at all, then to what, then its exceptions, then how often. One that
/// only names a target or exceptions leaves the rest to the next level.
pub(super) fn say(rule: &Rule, at: &Moment<'_>) -> Say {
    if rule.enabled == Some(false) {
        return Say::no("is switched off");
    }
    match rule.target {
        Some(Target::Steps) if at.in_review => return Say::no("is for steps, this is a review"),
        Some(Target::Gates) if !at.in_review => return Say::no("is for reviews, this is a step"),
        _ => {}
    }
    if let Some(condition) = rule.conditions.iter().find(|it| applies(&it.when, at)) {
        let name = name_of(condition);
        return match condition.then {
            Effect::Inject => Say::yes(format!("condition {name} says inject")),
            Effect::Skip => Say::no(format!("condition {name} says skip")),
            Effect::Inherit => Say::nothing(format!("condition {name} says inherit")),
        };
    }
    match (rule.frequency, rule.enabled) {
        (Some(frequency), _) => often(frequency, at),
        (None, Some(true)) => Say::yes("is switched on"),
        (None, _) => Say::nothing("says nothing about how often"),
    }
}

fn name_of(condition: &Condition) -> String {
    if condition.id.is_empty() {
        "without a name".to_owned()
    } else {
        format!("`{}`", condition.id)
    }
}

/// What a frequency says.
pub(super) fn often(frequency: Frequency, at: &Moment<'_>) -> Say {
    match frequency.mode {
        FrequencyMode::Never => Say::no("never"),
        FrequencyMode::FirstOnly if at.step <= 1 => Say::yes("first step only, this is it"),
        FrequencyMode::FirstOnly => Say::no(format!("first step only, this is {}", at.step)),
        FrequencyMode::Every => {
            let every = frequency.interval.unwrap_or(1).max(1);
            let due = at.step.saturating_sub(1).is_multiple_of(every);
            let reason = format!("every {every} step(s), this is {}", at.step);
            if due {
                Say::yes(reason)
            } else {
                Say::no(reason)
            }
        }
    }
}

fn applies(when: &When, at: &Moment<'_>) -> bool {
    let is = |there: &str, wanted: &str| there.eq_ignore_ascii_case(wanted.trim());
    match when {
        When::Always => true,
        When::GateStatus { status } => {
            let there = if at.in_review {
                Some("pending")
            } else {
                at.gate_status.map(super::GateStatus::as_str)
            };
            there.is_some_and(|there| is(there, status))
        }
        When::StepType { value } => is(
            if at.in_review {
                "review"
            } else {
                at.step_type.as_str()
            },
            value,
        ),
        When::StepNumber { operator, value } => number(operator.as_deref(), value, at),
        When::PreviousStepResult { value } => is(at.previous.as_str(), value),
        When::ChainPosition { value } => match value.trim().to_ascii_lowercase().as_str() {
            "first" => at.step <= 1,
            "last" => at.step >= at.steps,
            "middle" => at.step > 1 && at.step < at.steps,
            _ => false,
        },
    }
}

fn number(operator: Option<&str>, value: &Value, at: &Moment<'_>) -> bool {
    let Some(wanted) = value
        .as_u64()
        .or_else(|| value.as_str()?.trim().parse().ok())
    else {
        return selects(value, at);
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

/// Whether a selector means this step: a number, `first`, `last`, `odd`, `even`.
pub(super) fn selects(selector: &Value, at: &Moment<'_>) -> bool {
    if let Some(wanted) = selector.as_u64() {
        return u64::from(at.step) == wanted;
    }
    let Some(word) = selector.as_str().map(str::trim) else {
        return false;
    };
    match word.to_ascii_lowercase().as_str() {
        "first" => at.step <= 1,
        "last" => at.step >= at.steps,
        "odd" => at.step % 2 == 1,
        "even" => at.step.is_multiple_of(2),
        digits => digits.parse() == Ok(at.step),
    }
}
