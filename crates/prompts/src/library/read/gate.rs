//! `gates/<id>/gate.yaml`, and what prompts say about gates.

use std::sync::Arc;

use super::first_of;
use crate::{
    library::{
        Weight,
        sheet::{Desk, Sheet},
        unit::{Item, Unit},
        yaml::Node,
    },
    model::{
        Activation, Criterion, Enforcement, Evaluation, Gate, GateKind, Kind, RetryConfig, Severity,
    },
};

/// What the file may say.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct GateFile {
    id: String,
    name: String,
    description: String,
    #[serde(rename = "type")]
    kind: Option<GateKind>,
    severity: Severity,
    #[serde(rename = "enforcementMode", alias = "enforcement_mode")]
    enforcement: Option<Enforcement>,
    #[serde(alias = "gateType")]
    gate_type: Option<String>,
    guidance: String,
    #[serde(rename = "guidanceFile", alias = "guidance_file")]
    guidance_file: Option<String>,
    #[serde(alias = "passCriteria")]
    pass_criteria: Vec<Criterion>,
    #[serde(alias = "retryConfig")]
    retry_config: RetryConfig,
    activation: Option<Activation>,
    evaluation: Option<Evaluation>,
}

pub(super) fn read(desk: Desk<'_>, folder: &str, unit: &mut Unit) {
    let Some(file) = first_of(desk, folder, &["gate.yaml", "gate.yml"]) else {
        return;
    };
    let mut sheet = Sheet::open(desk, Kind::Gate, folder, folder, file);
    let item = sheet
        .is_good()
        .then(|| sheet.typed::<GateFile>())
        .flatten()
        .and_then(|said| gate(&mut sheet, said));
    unit.take(sheet, item);
}

fn gate(sheet: &mut Sheet<'_>, said: GateFile) -> Option<Item> {
    let folder = sheet.folder.clone();
    let id = sheet.same_id(&said.id, &folder)?;
    sheet.needs("name", &said.name);
    sheet.needs("description", &said.description);
    if said.kind.is_none() {
        sheet.error(
            None,
            "`type` is missing.".to_owned(),
            Some("Write `type: validation` or `type: guidance`.".to_owned()),
        );
    }
    let gate_type = said.gate_type.unwrap_or_else(|| "custom".to_owned());
    if !matches!(gate_type.as_str(), "framework" | "category" | "custom") {
        let at = sheet.node.get("gate_type").map(|node| node.at);
        sheet.error(
            at,
            format!("`{gate_type}` is no type of gate."),
            Some("Use `framework`, `category` or `custom`.".to_owned()),
        );
    }
    let mut guidance = said.guidance;
    if let Some(name) = said.guidance_file
        && let Some(text) = sheet.beside_or_problem(&name, "guidanceFile", Weight::Warning)
    {
        guidance = text;
    }
    let listed = ["pass_criteria", "passCriteria"]
        .iter()
        .find_map(|name| sheet.node.get(name).cloned());
    if let Some(list) = listed {
        criteria(sheet, &list);
    }
    sheet.is_good().then(|| {
        Item::Gate(Arc::new(Gate {
            id,
            name: said.name,
            description: said.description,
            kind: said.kind.unwrap_or_default(),
            severity: said.severity,
            enforcement: said.enforcement,
            gate_type,
            guidance,
            criteria: said.pass_criteria,
            retry: said.retry_config,
            activation: said.activation,
            evaluation: said.evaluation,
            origin: sheet.origin(),
        }))
    })
}

/// What each type of criterion may say, beside `type` and `description`.
const CRITERIA: [(&str, &[&str]); 9] = [
    ("content_check", CONTENT),
    ("inline_guidance", CONTENT),
    ("pattern_check", &["regex_patterns", "keyword_count"]),
    ("schema_check", &["schema"]),
    ("citation_check", &["min_citations"]),
    (
        "llm_self_check",
        &["prompt_template", "criteria", "pass_threshold"],
    ),
    (
        "methodology_compliance",
        &[
            "methodology",
            "min_compliance_score",
            "quality_indicators",
            "severity",
        ],
    ),
    (
        "shell_verify",
        &[
            "shell_command",
            "shell_timeout",
            "shell_working_dir",
            "shell_env",
            "shell_max_attempts",
            "shell_preset",
            "shell_stdin_source",
            "shell_response_env_var",
        ],
    ),
    ("script_tool", &["tool", "id", "script"]),
];

const CONTENT: &[&str] = &[
    "min_length",
    "max_length",
    "required_patterns",
    "forbidden_patterns",
];

/// Checks the names and patterns in a list of criteria.
pub(super) fn criteria(sheet: &mut Sheet<'_>, list: &Node) {
    let file = sheet.file.clone();
    let shown = sheet.shown(&file);
    for entry in list.items() {
        let kind = entry.get("type").and_then(Node::text).unwrap_or_default();
        let known = CRITERIA
            .iter()
            .find(|(name, _)| *name == kind)
            .map_or(&[][..], |(_, known)| known);
        for (key, value) in entry.entries() {
            let name = key.name.as_str();
            if !known.is_empty()
                && !known.contains(&name)
                && !matches!(name, "type" | "description")
            {
                sheet.unknown_key(&shown, name, key.at, known);
            }
            if matches!(
                name,
                "required_patterns" | "forbidden_patterns" | "regex_patterns"
            ) {
                for pattern in value.items() {
                    if let Some(text) = pattern.text() {
                        sheet.pattern(Weight::Error, &file, text, pattern.at);
                    }
                }
            }
        }
        if kind == "schema_check"
            && let Some(schema) = entry.get("schema")
            && let Err(error) = jsonschema::validator_for(&schema.json())
        {
            sheet.error(
                Some(schema.at),
                format!("The schema can't be used: {error}."),
                None,
            );
        }
    }
}
