//! Reads `gates/<id>/gate.yaml` and the gates in prompt files.

use std::sync::Arc;

use deliberate_json_schema::JsonSchemaValidator;

use super::{
    first_existing,
    source_file::{LibrarySourceFile, ReadContext},
};
use crate::{
    library::{
        ProblemSeverity,
        part::{LibraryItem, LibraryPart},
        yaml::YamlNode,
    },
    model::{
        Activation, Criterion, Enforcement, Evaluation, Gate, GateKind, GateSeverity,
        LibraryItemKind, RetryConfig,
    },
};

/// The fields of the file.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct GateFile {
    id: String,
    name: String,
    description: String,
    #[serde(rename = "type")]
    kind: Option<GateKind>,
    severity: GateSeverity,
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

pub(super) fn read(desk: ReadContext<'_>, folder: &str, unit: &mut LibraryPart) {
    let Some(file) = first_existing(desk, folder, &["gate.yaml", "gate.yml"]) else {
        return;
    };
    let mut source_file =
        LibrarySourceFile::open(desk, LibraryItemKind::Gate, folder, folder, file);
    let item = source_file
        .is_usable()
        .then(|| source_file.deserialize::<GateFile>())
        .flatten()
        .and_then(|gate_file| build_gate(&mut source_file, gate_file));
    unit.add_source(source_file, item);
}

fn build_gate(file: &mut LibrarySourceFile<'_>, gate_file: GateFile) -> Option<LibraryItem> {
    let folder = file.folder.clone();
    let id = file.check_id(&gate_file.id, &folder)?;
    file.require_non_empty("name", &gate_file.name);
    file.require_non_empty("description", &gate_file.description);
    if gate_file.kind.is_none() {
        file.error(
            None,
            "`type` is missing.".to_owned(),
            Some("Write `type: validation` or `type: guidance`.".to_owned()),
        );
    }
    let gate_type = gate_file.gate_type.unwrap_or_else(|| "custom".to_owned());
    if !matches!(gate_type.as_str(), "framework" | "category" | "custom") {
        let at = file.node.get("gate_type").map(|node| node.position);
        file.error(
            at,
            format!("`{gate_type}` is not a gate type."),
            Some("Use `framework`, `category` or `custom`.".to_owned()),
        );
    }
    let mut guidance = gate_file.guidance;
    if let Some(name) = gate_file.guidance_file
        && let Some(text) =
            file.read_sibling_or_report(&name, "guidanceFile", ProblemSeverity::Warning)
    {
        guidance = text;
    }
    let yaml_node = ["pass_criteria", "passCriteria"]
        .iter()
        .find_map(|name| file.node.get(name).cloned());
    if let Some(list) = yaml_node {
        check_criteria(file, &list);
    }
    file.is_usable().then(|| {
        LibraryItem::Gate(Arc::new(Gate {
            id,
            name: gate_file.name,
            description: gate_file.description,
            kind: gate_file.kind.unwrap_or_default(),
            severity: gate_file.severity,
            enforcement: gate_file.enforcement,
            gate_type,
            guidance,
            criteria: gate_file.pass_criteria,
            retry: gate_file.retry_config,
            activation: gate_file.activation,
            evaluation: gate_file.evaluation,
            origin: file.origin(),
        }))
    })
}

/// The fields of each type of criterion, besides `type` and `description`.
const CRITERION_FIELDS: [(&str, &[&str]); 9] = [
    ("content_check", CONTENT_FIELDS),
    ("inline_guidance", CONTENT_FIELDS),
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

const CONTENT_FIELDS: &[&str] = &[
    "min_length",
    "max_length",
    "required_patterns",
    "forbidden_patterns",
];

/// Checks the field names and patterns in a list of criteria.
pub(super) fn check_criteria(sheet: &mut LibrarySourceFile<'_>, list: &YamlNode) {
    let file = sheet.file.clone();
    let shown = sheet.display_path(&file);
    for entry in list.items() {
        let kind = entry
            .get("type")
            .and_then(YamlNode::text)
            .unwrap_or_default();
        let known = CRITERION_FIELDS
            .iter()
            .find(|(name, _)| *name == kind)
            .map_or(&[][..], |(_, known)| known);
        for (key, value) in entry.entries() {
            let name = key.name.as_str();
            if !known.is_empty()
                && !known.contains(&name)
                && !matches!(name, "type" | "description")
            {
                sheet.warn_unknown_key(&shown, name, key.position, known);
            }
            if matches!(
                name,
                "required_patterns" | "forbidden_patterns" | "regex_patterns"
            ) {
                for pattern in value.items() {
                    if let Some(text) = pattern.text() {
                        sheet.check_pattern(ProblemSeverity::Error, &file, text, pattern.position);
                    }
                }
            }
        }
        if kind == "schema_check"
            && let Some(schema) = entry.get("schema")
            && let Err(error) = JsonSchemaValidator::new(&schema.to_json())
        {
            sheet.error(
                Some(schema.position),
                format!("The schema is invalid: {error}."),
                None,
            );
        }
    }
}
