//! `methodologies/<id>/` (or `frameworks/<id>/`): the main file, its phases, what a judge is
//! told, what the model is told.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value};

use super::first_of;
use crate::{
    library::{
        Weight,
        sheet::{Desk, Sheet},
        unit::{Item, Mention, Mentioned, Unit},
        yaml::Node,
    },
    model::{BringsGates, Kind, Methodology, MethodologyGate, Phase, PhaseStep},
};

/// What the main file may say. `phases.yaml` may say the last four.
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
    gates: BringsGates,
    #[serde(alias = "frameworkGates")]
    methodology_gates: Vec<MethodologyGate>,
    tool_descriptions: BTreeMap<String, Value>,
    #[serde(alias = "phases")]
    processing_steps: Vec<Phase>,
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

/// What `phases.yaml` may say.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PhasesFile {
    #[serde(alias = "phases")]
    processing_steps: Vec<Phase>,
    execution_steps: Vec<PhaseStep>,
    quality_indicators: Value,
    #[serde(rename = "executionTypeEnhancements")]
    _type_enhancements: Value,
    #[serde(rename = "templateEnhancements")]
    _template_enhancements: Value,
    #[serde(rename = "executionFlow")]
    _flow: Value,
}

const MAIN: [&str; 4] = [
    "methodology.yaml",
    "methodology.yml",
    "framework.yaml",
    "framework.yml",
];

pub(super) fn read(desk: Desk<'_>, folder: &str, unit: &mut Unit) {
    let Some(file) = first_of(desk, folder, &MAIN) else {
        return;
    };
    let mut sheet = Sheet::open(desk, Kind::Methodology, folder, folder, file);
    let item = sheet
        .is_good()
        .then(|| sheet.typed::<MethodologyFile>())
        .flatten()
        .and_then(|said| methodology(&mut sheet, said));
    unit.take(sheet, item);
}

fn methodology(sheet: &mut Sheet<'_>, said: MethodologyFile) -> Option<Item> {
    let folder = sheet.folder.clone();
    let id = sheet.same_id(&said.id, &folder)?;
    sheet.needs("name", &said.name);
    let mut phases = PhasesFile {
        processing_steps: said.processing_steps,
        execution_steps: said.execution_steps,
        quality_indicators: said.quality_indicators,
        ..PhasesFile::default()
    };
    let main = sheet.node.clone();
    let main_file = sheet.file.clone();
    patterns(sheet, &main_file, &main);
    let mut rest = rest_of(&main);
    read_phases(sheet, said.phases_file.as_deref(), &mut phases, &mut rest);
    let judge_prompt = named_or_usual(
        sheet,
        said.judge_prompt_file.as_deref(),
        "judgePromptFile",
        "judge-prompt.md",
    );
    let guidance = named_or_usual(
        sheet,
        said.system_prompt_file.as_deref(),
        "systemPromptFile",
        "system-prompt.md",
    )
    .unwrap_or(said.system_prompt_guidance);
    if sheet.is_good() {
        sheet.needs("systemPromptGuidance", &guidance);
    }
    phases
        .processing_steps
        .sort_by(|a, b| a.order.total_cmp(&b.order));
    let mentions = mentions(sheet);
    sheet.is_good().then(|| {
        let made = Methodology {
            id,
            kind: said.kind,
            name: said.name,
            version: said.version,
            description: said.description,
            enabled: said.enabled.unwrap_or(true),
            system_prompt_guidance: guidance,
            gates: said.gates,
            methodology_gates: said.methodology_gates,
            phases: phases.processing_steps,
            execution_steps: phases.execution_steps,
            quality_indicators: phases.quality_indicators,
            judge_prompt,
            tool_descriptions: said.tool_descriptions,
            rest,
            origin: sheet.origin(),
        };
        Item::Methodology(Arc::new(made), mentions)
    })
}

/// The names that the model has a place for; all others are kept as they are.
const MODELLED: [&str; 16] = [
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

fn rest_of(node: &Node) -> Map<String, Value> {
    node.entries()
        .iter()
        .filter(|(key, _)| !MODELLED.contains(&key.name.as_str()))
        .map(|(key, value)| (key.name.clone(), value.json()))
        .collect()
}

fn read_phases(
    sheet: &mut Sheet<'_>,
    named: Option<&str>,
    phases: &mut PhasesFile,
    rest: &mut Map<String, Value>,
) {
    let file = named.unwrap_or("phases.yaml");
    let Some(source) = named_or_usual(sheet, named, "phasesFile", file) else {
        return;
    };
    let Some(node) = sheet.parse(file, &source) else {
        return;
    };
    patterns(sheet, file, &node);
    rest.extend(rest_of(&node));
    if let Some(said) = sheet.typed_part::<PhasesFile>(file, &node) {
        if !said.processing_steps.is_empty() {
            phases.processing_steps = said.processing_steps;
        }
        if !said.execution_steps.is_empty() {
            phases.execution_steps = said.execution_steps;
        }
        if !said.quality_indicators.is_null() {
            phases.quality_indicators = said.quality_indicators;
        }
    }
}

/// A file that a field names, which must be there, or the one that is usually there.
fn named_or_usual(
    sheet: &mut Sheet<'_>,
    named: Option<&str>,
    field: &str,
    usual: &str,
) -> Option<String> {
    match named {
        Some(name) => sheet.beside_or_problem(name, field, Weight::Error),
        None if sheet.has_file(usual) => sheet.beside_or_problem(usual, field, Weight::Error),
        None => None,
    }
}

/// Checks the patterns of guards and of what shows a phase.
fn patterns(sheet: &mut Sheet<'_>, file: &str, node: &Node) {
    for list in ["processingSteps", "phases"] {
        for phase in node.get(list).map(Node::items).unwrap_or_default() {
            if let Some(pattern) = phase.get("guards").and_then(|it| it.get("matches_pattern"))
                && let Some(text) = pattern.text()
            {
                sheet.pattern(Weight::Error, file, text, pattern.at);
            }
        }
    }
    let shows = node.get("qualityIndicators").map(Node::entries);
    for (_, indicator) in shows.unwrap_or_default() {
        for pattern in indicator
            .get("patterns")
            .map(Node::items)
            .unwrap_or_default()
        {
            if let Some(text) = pattern.text() {
                sheet.pattern(Weight::Warning, file, text, pattern.at);
            }
        }
    }
}

fn mentions(sheet: &Sheet<'_>) -> Vec<Mention> {
    sheet
        .node
        .get("gates")
        .and_then(|gates| gates.get("include"))
        .map(Node::items)
        .unwrap_or_default()
        .iter()
        .filter_map(|gate| {
            Some(Mention {
                what: Mentioned::Gate,
                name: gate.text()?.to_owned(),
                file: sheet.shown(&sheet.file),
                at: Some(gate.at),
            })
        })
        .collect()
}
