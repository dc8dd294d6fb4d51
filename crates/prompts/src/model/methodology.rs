//! Methodologies: ways to work on a task, in phases.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ItemOrigin;

/// A methodology: phases, guidance for the model, and requirements for the answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Methodology {
    pub id: String,
    /// The display name.
    pub name: String,
    /// The kind; usually the same as the name.
    #[serde(rename = "type")]
    pub kind: String,
    pub version: String,
    pub description: String,
    pub enabled: bool,
    /// The text given to the model.
    pub system_prompt_guidance: String,
    /// The gates that are added with the methodology.
    pub gates: MethodologyGates,
    /// The requirements for an answer.
    pub methodology_gates: Vec<MethodologyGate>,
    /// The phases, in order.
    pub phases: Vec<MethodologyPhase>,
    /// The steps to carry it out, in order.
    pub execution_steps: Vec<PhaseStep>,
    /// `keywords` and `patterns` that indicate a phase, by phase.
    pub quality_indicators: Value,
    /// The instructions for a judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_prompt: Option<String>,
    /// Descriptions of tools, by tool name.
    pub tool_descriptions: BTreeMap<String, Value>,
    /// All other fields of its files, for `inspect` and for writing the files again.
    pub rest: serde_json::Map<String, Value>,
    pub origin: ItemOrigin,
}

/// The gates that are added with a methodology.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MethodologyGates {
    pub include: Vec<String>,
    pub exclude: Vec<String>,
}

/// A requirement of a methodology for an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MethodologyGate {
    pub id: String,
    pub name: String,
    pub description: String,
    /// The part of the methodology that it belongs to.
    pub methodology_area: String,
    pub priority: String,
    /// The criteria to judge, one sentence each.
    pub validation_criteria: Vec<String>,
}

/// A phase of a methodology.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MethodologyPhase {
    pub id: String,
    pub name: String,
    pub description: String,
    /// The principle that the phase is based on.
    pub methodology_basis: String,
    pub order: f64,
    pub required: bool,
    /// The heading of its section in the answer.
    #[serde(alias = "section_header", skip_serializing_if = "Option::is_none")]
    pub section_header: Option<String>,
    /// The requirements for that section.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guards: Option<PhaseRequirement>,
}

/// The requirements for the section of an answer that belongs to a phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseRequirement {
    /// Whether the section must exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// The minimum number of characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<usize>,
    /// The maximum number of characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<usize>,
    /// Terms of which one must occur.
    pub contains_any: Vec<String>,
    /// Terms that must all occur.
    pub contains_all: Vec<String>,
    /// A pattern that must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches_pattern: Option<String>,
    /// Terms of which none may occur.
    pub forbidden_terms: Vec<String>,
}

/// A step of carrying out a methodology.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PhaseStep {
    pub id: String,
    pub name: String,
    pub action: String,
    /// The phase that the step belongs to.
    pub methodology_phase: String,
    /// The steps that must be done before.
    pub dependencies: Vec<String>,
    #[serde(rename = "expected_output")]
    pub expected_output: String,
}
