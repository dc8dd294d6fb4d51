//! Reads `methodologies/<id>/` (or `frameworks/<id>/`): the main file, the phases, the judge prompt
//! and the system prompt.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value};

use super::{
    first_existing,
    source_file::{LibrarySourceFile, ReadContext},
};
use crate::{
    library::{
        ProblemSeverity,
        part::{LibraryItem, LibraryPart, NameReference, NameReferenceKind},
        yaml::YamlNode,
    },
    model::{
        LibraryItemKind, Methodology, MethodologyGate, MethodologyGates, MethodologyPhase,
        PhaseStep,
    },
};

/// The fields of the main file. `phases.yaml` may contain the last four.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MethodologyFile {
    id: String,
    name: String,
    #[serde(rename = "type")]
    kind: String,
    version: String,
    description: String,
    enabled: Option<bool>,
    system_prompt_guidance: String,
    #[serde(alias = "systemPromptGuidanceFile")]
    system_prompt_file: Option<String>,
    phases_file: Option<String>,
    judge_prompt_file: Option<String>,
    gates: MethodologyGates,
    #[serde(alias = "frameworkGates")]
    methodology_gates: Vec<MethodologyGate>,
    tool_descriptions: BTreeMap<String, Value>,
    #[serde(alias = "phases")]
    processing_steps: Vec<MethodologyPhase>,
    execution_steps: Vec<PhaseStep>,
    quality_indicators: Value,
    #[serde(rename = "templateSuggestions")]
    _template_suggestions: Value,
    #[serde(rename = "methodologyElements", alias = "frameworkElements")]
    _elements: Value,
    #[serde(rename = "argumentSuggestions")]
    _argument_suggestions: Value,
    #[serde(rename = "executionTypeEnhancements")]
    _type_enhancements: Value,
    #[serde(rename = "templateEnhancements")]
    _template_enhancements: Value,
    #[serde(rename = "executionFlow")]
    _flow: Value,
}

/// The fields of `phases.yaml`.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PhasesFile {
    #[serde(alias = "phases")]
    processing_steps: Vec<MethodologyPhase>,
    execution_steps: Vec<PhaseStep>,
    quality_indicators: Value,
    #[serde(rename = "executionTypeEnhancements")]
    _type_enhancements: Value,
    #[serde(rename = "templateEnhancements")]
    _template_enhancements: Value,
    #[serde(rename = "executionFlow")]
    _flow: Value,
}

const MAIN_FILES: [&str; 4] = [
    "methodology.yaml",
    "methodology.yml",
    "framework.yaml",
    "framework.yml",
];

pub(super) fn read(desk: ReadContext<'_>, folder: &str, unit: &mut LibraryPart) {
    let Some(file) = first_existing(desk, folder, &MAIN_FILES) else {
        return;
    };
    let mut source_file =
        LibrarySourceFile::open(desk, LibraryItemKind::Methodology, folder, folder, file);
    let item = source_file
        .is_usable()
        .then(|| source_file.deserialize::<MethodologyFile>())
        .flatten()
        .and_then(|methodology_file| build_methodology(&mut source_file, methodology_file));
    unit.add_source(source_file, item);
}

fn build_methodology(
    file: &mut LibrarySourceFile<'_>,
    methodology_file: MethodologyFile,
) -> Option<LibraryItem> {
    let folder = file.folder.clone();
    let id = file.check_id(&methodology_file.id, &folder)?;
    file.require_non_empty("name", &methodology_file.name);
    let mut phases = PhasesFile {
        processing_steps: methodology_file.processing_steps,
        execution_steps: methodology_file.execution_steps,
        quality_indicators: methodology_file.quality_indicators,
        ..PhasesFile::default()
    };
    let main = file.node.clone();
    let main_file = file.file.clone();
    check_patterns(file, &main_file, &main);
    let mut rest = extra_fields(&main);
    read_phases(
        file,
        methodology_file.phases_file.as_deref(),
        &mut phases,
        &mut rest,
    );
    let judge_prompt = named_or_default_file(
        file,
        methodology_file.judge_prompt_file.as_deref(),
        "judgePromptFile",
        "judge-prompt.md",
    );
    let guidance = named_or_default_file(
        file,
        methodology_file.system_prompt_file.as_deref(),
        "systemPromptFile",
        "system-prompt.md",
    )
    .unwrap_or(methodology_file.system_prompt_guidance);
    if file.is_usable() {
        file.require_non_empty("systemPromptGuidance", &guidance);
    }
    phases
        .processing_steps
        .sort_by(|a, b| a.order.total_cmp(&b.order));
    let mentions = collect_references(file);
    file.is_usable().then(|| {
        let methodology = Methodology {
            id,
            kind: methodology_file.kind,
            name: methodology_file.name,
            version: methodology_file.version,
            description: methodology_file.description,
            enabled: methodology_file.enabled.unwrap_or(true),
            system_prompt_guidance: guidance,
            gates: methodology_file.gates,
            methodology_gates: methodology_file.methodology_gates,
            phases: phases.processing_steps,
            execution_steps: phases.execution_steps,
            quality_indicators: phases.quality_indicators,
            judge_prompt,
            tool_descriptions: methodology_file.tool_descriptions,
            rest,
            origin: file.origin(),
        };
        LibraryItem::Methodology(Arc::new(methodology), mentions)
    })
}

/// The fields that the model represents; all others are stored unchanged.
const MODELED_FIELDS: [&str; 16] = [
    "id",
    "name",
    "type",
    "version",
    "description",
    "enabled",
    "systemPromptGuidance",
    "gates",
    "methodologyGates",
    "frameworkGates",
    "toolDescriptions",
    "processingSteps",
    "phases",
    "executionSteps",
    "qualityIndicators",
    "$schema",
];

fn extra_fields(node: &YamlNode) -> Map<String, Value> {
    node.entries()
        .iter()
        .filter(|(key, _)| !MODELED_FIELDS.contains(&key.name.as_str()))
        .map(|(key, value)| (key.name.clone(), value.to_json()))
        .collect()
}

fn read_phases(
    source_file: &mut LibrarySourceFile<'_>,
    named: Option<&str>,
    phases: &mut PhasesFile,
    rest: &mut Map<String, Value>,
) {
    let file = named.unwrap_or("phases.yaml");
    let Some(source) = named_or_default_file(source_file, named, "phasesFile", file) else {
        return;
    };
    let Some(node) = source_file.parse(file, &source) else {
        return;
    };
    check_patterns(source_file, file, &node);
    rest.extend(extra_fields(&node));
    if let Some(phases_file) = source_file.deserialize_node::<PhasesFile>(file, &node) {
        if !phases_file.processing_steps.is_empty() {
            phases.processing_steps = phases_file.processing_steps;
        }
        if !phases_file.execution_steps.is_empty() {
            phases.execution_steps = phases_file.execution_steps;
        }
        if !phases_file.quality_indicators.is_null() {
            phases.quality_indicators = phases_file.quality_indicators;
        }
    }
}

/// Reads the file that a field names, which must exist, or else the default file.
fn named_or_default_file(
    file: &mut LibrarySourceFile<'_>,
    named: Option<&str>,
    field: &str,
    usual: &str,
) -> Option<String> {
    match named {
        Some(name) => file.read_sibling_or_report(name, field, ProblemSeverity::Error),
        None if file.has_file(usual) => {
            file.read_sibling_or_report(usual, field, ProblemSeverity::Error)
        }
        None => None,
    }
}

/// Checks the patterns of guards and of quality indicators.
fn check_patterns(source_file: &mut LibrarySourceFile<'_>, file: &str, node: &YamlNode) {
    for list in ["processingSteps", "phases"] {
        for phase in node.get(list).map(YamlNode::items).unwrap_or_default() {
            if let Some(pattern) = phase.get("guards").and_then(|it| it.get("matches_pattern"))
                && let Some(text) = pattern.text()
            {
                source_file.check_pattern(ProblemSeverity::Error, file, text, pattern.position);
            }
        }
    }
    let shows = node.get("qualityIndicators").map(YamlNode::entries);
    for (_, indicator) in shows.unwrap_or_default() {
        for pattern in indicator
            .get("patterns")
            .map(YamlNode::items)
            .unwrap_or_default()
        {
            if let Some(text) = pattern.text() {
                source_file.check_pattern(ProblemSeverity::Warning, file, text, pattern.position);
            }
        }
    }
}

fn collect_references(source_file: &LibrarySourceFile<'_>) -> Vec<NameReference> {
    source_file
        .node
        .get("gates")
        .and_then(|gates| gates.get("include"))
        .map(YamlNode::items)
        .unwrap_or_default()
        .iter()
        .filter_map(|gate| {
            Some(NameReference {
                kind: NameReferenceKind::Gate,
                name: gate.text()?.to_owned(),
                file: source_file.display_path(&source_file.file),
                position: Some(gate.position),
            })
        })
        .collect()
}
