//! A methodology: a way to work, in phases.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ItemOrigin;

/// A methodology.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Methodology {
    /// Its id.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What kind it is; usually the name again.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its version.
    pub version: String,
    /// What it is for.
    pub description: String,
    /// Whether it can be used.
    pub enabled: bool,
    /// What is said to the model.
    pub system_prompt_guidance: String,
    /// Gates that it brings along.
    pub gates: MethodologyGates,
    /// What it asks of an answer.
    pub methodology_gates: Vec<MethodologyGate>,
    /// Its phases, in order.
    pub phases: Vec<MethodologyPhase>,
    /// How it is carried out, in order.
    pub execution_steps: Vec<PhaseStep>,
    /// Phase → `keywords` and `patterns` that show it.
    pub quality_indicators: Value,
    /// What a judge is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_prompt: Option<String>,
    /// What it says about tools, by name.
    pub tool_descriptions: BTreeMap<String, Value>,
    /// Everything else that its files say, kept for `inspect` and for writing them again.
    pub rest: serde_json::Map<String, Value>,
    /// Where it came from.
    pub origin: ItemOrigin,
}

/// Gates that a methodology brings along.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MethodologyGates {
    /// These.
    pub include: Vec<String>,
    /// Not these.
    pub exclude: Vec<String>,
}

/// What a methodology asks of an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MethodologyGate {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it asks for.
    pub description: String,
    /// The part of the methodology it belongs to.
    pub methodology_area: String,
    /// How much it matters.
    pub priority: String,
    /// What is judged, one sentence each.
    pub validation_criteria: Vec<String>,
}

/// A phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MethodologyPhase {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What is done in it.
    pub description: String,
    /// What it stands on.
    pub methodology_basis: String,
    /// Its place.
    pub order: f64,
    /// Whether it can't be left out.
    pub required: bool,
    /// The heading under which its part of the answer stands.
    #[serde(alias = "section_header", skip_serializing_if = "Option::is_none")]
    pub section_header: Option<String>,
    /// What that part must be like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guards: Option<PhaseRequirement>,
}

/// What the part of an answer that belongs to a phase must be like.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseRequirement {
    /// It must be there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// The fewest characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<usize>,
    /// The most characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<usize>,
    /// One of these must occur.
    pub contains_any: Vec<String>,
    /// All of these must occur.
    pub contains_all: Vec<String>,
    /// This must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches_pattern: Option<String>,
    /// None of these may occur.
    pub forbidden_terms: Vec<String>,
}

/// One step of carrying it out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PhaseStep {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What is done.
    pub action: String,
    /// The phase it belongs to.
    pub methodology_phase: String,
    /// The steps it needs.
    pub dependencies: Vec<String>,
    /// What comes out.
    #[serde(rename = "expected_output")]
    pub expected_output: String,
}
