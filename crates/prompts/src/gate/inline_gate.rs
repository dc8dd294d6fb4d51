//! Gates that are defined where they are used: in a command, a call or a prompt. Each becomes a
//! [`Gate`] like those of the library. This module looks up nothing.

use deliberate_core::did_you_mean;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{
    Criterion, CriterionKind, Gate, GateKind, GateSeverity, InlineGate, MethodologyGate,
    RetryConfig, ShellCheck, ShellCheckPreset,
};

/// A gate that a command requests with `::`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InlineGateSpec {
    /// A bare word: the gate of that name if it exists, else a criterion.
    Word(String),
    /// A criterion in quotes.
    Criterion(String),
    /// A criterion with its own id.
    Named { id: String, text: String },
    /// A command that must succeed.
    Verify(ShellCheck),
}

/// One entry of the `gates` parameter: a word, a sentence or a whole gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", untagged)]
pub enum GateParameter {
    /// An id or a criterion; with a leading `-` or `!`, a gate that is vetoed.
    Word(String),
    /// A complete gate definition.
    Gate(Box<InlineGate>),
}

/// The error of an invalid entry of the `gates` parameter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GateParameterError(String);

/// The fields of an inline gate definition.
const INLINE_GATE_FIELDS: [&str; 14] = [
    "id",
    "name",
    "description",
    "type",
    "scope",
    "guidance",
    "criteria",
    "pass_criteria",
    "severity",
    "source",
    "context",
    "target_step_number",
    "apply_to_steps",
    "applyToSteps",
];

/// The fields of a command that only a file can set: they could turn one command into another.
pub(crate) const OPERATOR_FIELDS: [&str; 2] = ["shell_env", "shell_working_dir"];

impl TryFrom<Value> for GateParameter {
    type Error = GateParameterError;

    fn try_from(value: Value) -> Result<Self, GateParameterError> {
        // A client whose schemas have one type per item writes the object as text.
        let written = value
            .as_str()
            .filter(|text| text.trim_start().starts_with('{'))
            .and_then(|text| serde_json::from_str::<Value>(text).ok());
        let mut fields = match written.unwrap_or(value) {
            Value::String(word) => return Ok(Self::Word(word)),
            Value::Object(fields) => fields,
            other => {
                return Err(GateParameterError(format!(
                    "a gate is an id, a criterion in words, or an object, not {other}"
                )));
            }
        };
        if let Some(unknown) = fields
            .keys()
            .find(|key| !INLINE_GATE_FIELDS.contains(&key.as_str()))
        {
            let meant = did_you_mean(unknown, INLINE_GATE_FIELDS)
                .map(|meant| format!("; did you mean `{meant}`?"))
                .unwrap_or_default();
            return Err(GateParameterError(format!(
                "a gate has no field `{unknown}`{meant}"
            )));
        }
        if let Some(steps) = fields.remove("applyToSteps") {
            fields.insert("apply_to_steps".to_owned(), steps);
        }
        if let Some(Value::Array(criteria)) = fields.get_mut("pass_criteria") {
            for criterion in criteria {
                if let Value::String(words) = criterion {
                    *criterion = serde_json::json!({
                        "type": "llm_self_check",
                        "prompt_template": std::mem::take(words),
                    });
                }
            }
        }
        for list in ["criteria", "pass_criteria"] {
            let criteria = fields.get(list).and_then(Value::as_array);
            let mut names = criteria.into_iter().flatten().filter_map(Value::as_object);
            let named = |criterion: &serde_json::Map<String, Value>| {
                OPERATOR_FIELDS
                    .iter()
                    .find(|name| criterion.contains_key(**name))
            };
            if let Some(name) = names.find_map(named) {
                return Err(GateParameterError(format!(
                    "a gate of a call can't set `{name}`; put the gate into a file of the workspace"
                )));
            }
        }
        serde_json::from_value(Value::Object(fields))
            .map(|gate| Self::Gate(Box::new(gate)))
            .map_err(|error| GateParameterError(format!("a gate is invalid: {error}")))
    }
}

/// Returns a criterion that only a judgment can settle.
pub(crate) fn judgment_criterion(words: &str) -> Criterion {
    Criterion {
        description: None,
        kind: CriterionKind::LlmSelfCheck {
            prompt_template: Some(words.trim().to_owned()),
            pass_threshold: None,
        },
    }
}

/// Builds a gate from criteria in words.
pub(crate) fn gate_from_sentences(id: &str, name: &str, words: &[String]) -> Gate {
    Gate {
        id: id.to_owned(),
        name: name.to_owned(),
        gate_type: "custom".to_owned(),
        criteria: words
            .iter()
            .map(|words| judgment_criterion(words))
            .collect(),
        ..Gate::default()
    }
}

/// Builds a gate from an inline definition; `fallback` is its id if it has neither id nor name.
pub(crate) fn gate_from_definition(it: &InlineGate, fallback: &str) -> Gate {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let name = given(&it.name);
    let id = given(&it.id)
        .or_else(|| name.as_deref().map(slugify))
        .filter(|id| !id.is_empty())
        .unwrap_or_else(|| fallback.to_owned());
    let description = given(&it.description);
    let guidance = given(&it.guidance)
        .or_else(|| (!it.criteria.is_empty()).then(|| it.criteria.join("\n")))
        .or_else(|| description.clone())
        .unwrap_or_default();
    let mut criteria: Vec<Criterion> = it
        .criteria
        .iter()
        .map(|text| judgment_criterion(text))
        .collect();
    criteria.extend(it.pass_criteria.iter().cloned());
    // A definition that is only a sentence uses that sentence as its criterion.
    if criteria.is_empty() && !guidance.is_empty() {
        criteria.push(judgment_criterion(&guidance));
    }
    Gate {
        name: name.unwrap_or_else(|| id.clone()),
        id,
        description: description.unwrap_or_default(),
        kind: it.kind.unwrap_or(GateKind::Validation),
        severity: it.severity.unwrap_or_default(),
        gate_type: "custom".to_owned(),
        guidance,
        criteria,
        ..Gate::default()
    }
}

/// Builds the gate of a methodology.
pub(crate) fn gate_from_methodology(it: &MethodologyGate) -> Gate {
    let severity = match it.priority.to_ascii_lowercase().as_str() {
        "critical" => GateSeverity::Critical,
        "high" => GateSeverity::High,
        "low" => GateSeverity::Low,
        _ => GateSeverity::Medium,
    };
    Gate {
        id: it.id.clone(),
        name: if it.name.is_empty() { &it.id } else { &it.name }.clone(),
        description: it.description.clone(),
        severity,
        gate_type: "framework".to_owned(),
        guidance: it.description.clone(),
        criteria: it
            .validation_criteria
            .iter()
            .map(|text| judgment_criterion(text))
            .collect(),
        ..Gate::default()
    }
}

/// Builds a gate from a command that must succeed.
pub(crate) fn gate_from_command(check: &ShellCheck, id: String) -> Gate {
    let attempts = check.max_attempts.unwrap_or(match check.preset {
        Some(ShellCheckPreset::Fast) => 1,
        Some(ShellCheckPreset::Extended) => 10,
        Some(ShellCheckPreset::Full) | None => 5,
    });
    Gate {
        name: format!("`{}` succeeds", check.command),
        id,
        gate_type: "custom".to_owned(),
        criteria: vec![Criterion {
            description: None,
            kind: CriterionKind::ShellVerify(check.clone()),
        }],
        retry: RetryConfig {
            max_attempts: attempts,
            ..RetryConfig::default()
        },
        ..Gate::default()
    }
}

/// Converts a name into an id.
fn slugify(name: &str) -> String {
    let mut id = String::with_capacity(name.len());
    for character in name.chars() {
        if character.is_alphanumeric() {
            id.extend(character.to_lowercase());
        } else if !id.ends_with('-') && !id.is_empty() {
            id.push('-');
        }
    }
    id.trim_end_matches('-').to_owned()
}
