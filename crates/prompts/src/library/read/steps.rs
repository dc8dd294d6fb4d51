//! Reads the steps of a chain.

use std::collections::BTreeMap;

use serde_json::Value;

use super::source_file::{ID_GRAMMAR, LibrarySourceFile, truncate};
use crate::{
    library::{
        id_grammar,
        part::{NameReference, NameReferenceKind},
        yaml::{SourcePosition, YamlNode, YamlValue},
    },
    model::{ChainStep, Delegation, InjectionRules, StepKind},
};

/// The maximum nesting of steps.
const MAX_DEPTH: usize = 8;

/// The fields of a step.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StepFile {
    prompt_id: Option<String>,
    step_name: Option<String>,
    input_mapping: BTreeMap<String, String>,
    output_mapping: BTreeMap<String, Value>,
    retries: Option<u32>,
    subagent_model: Option<String>,
    agent_type: Option<String>,
    tool: Option<String>,
    arguments: Value,
    parallel: Vec<Self>,
    when: Option<String>,
    otherwise: Option<Box<Self>>,
    gates: Vec<String>,
    injection: InjectionRules,
}

/// Converts the fields to steps, and collects their references.
pub(super) fn build_steps(
    file: &mut LibrarySourceFile<'_>,
    files: Vec<StepFile>,
    nodes: &[YamlNode],
    mentions: &mut Vec<NameReference>,
) -> Vec<ChainStep> {
    if files.len() > file.context.limits.steps {
        let most = file.context.limits.steps;
        file.error(
            None,
            format!("The chain has {} steps; {most} are allowed.", files.len()),
            Some("Split it, or raise the limit.".to_owned()),
        );
        return Vec::new();
    }
    files
        .into_iter()
        .enumerate()
        .filter_map(|(index, step_file)| {
            build_step(file, step_file, nodes.get(index), mentions, MAX_DEPTH)
        })
        .collect()
}

fn build_step(
    file: &mut LibrarySourceFile<'_>,
    step_file: StepFile,
    node: Option<&YamlNode>,
    mentions: &mut Vec<NameReference>,
    depth: usize,
) -> Option<ChainStep> {
    let at = node.map(|node| node.position);
    let Some(depth) = depth.checked_sub(1) else {
        let message = format!("Steps are nested more than {MAX_DEPTH} levels deep.");
        file.error(at, message, None);
        return None;
    };
    let name = step_file
        .step_name
        .or_else(|| step_file.prompt_id.clone())
        .or_else(|| step_file.tool.clone());
    let parallel = !step_file.parallel.is_empty();
    let kind = match (step_file.prompt_id, step_file.tool, parallel) {
        (Some(id), None, false) => collect_prompt(file, id, node, mentions)?,
        (None, Some(name), false) => {
            if let Some(node) = node.and_then(|node| node.get("arguments")) {
                collect_argument_texts(file, node, mentions);
            }
            StepKind::Tool {
                name,
                arguments: step_file.arguments,
            }
        }
        (None, None, true) => {
            let nodes = node
                .and_then(|node| node.get("parallel"))
                .map(YamlNode::items);
            StepKind::Parallel(
                step_file
                    .parallel
                    .into_iter()
                    .enumerate()
                    .filter_map(|(index, inner)| {
                        let node = nodes.and_then(|nodes| nodes.get(index));
                        build_step(file, inner, node, mentions, depth)
                    })
                    .collect(),
            )
        }
        _ => {
            file.error(
                at,
                "A step must have exactly one of `promptId`, `tool` and `parallel`.".to_owned(),
                None,
            );
            return None;
        }
    };
    let otherwise = step_file.otherwise.and_then(|inner| {
        let node = node.and_then(|node| node.get("otherwise"));
        build_step(file, *inner, node, mentions, depth).map(Box::new)
    });
    if otherwise.is_some() && step_file.when.is_none() {
        file.error(
            at,
            "`otherwise` needs a `when`.".to_owned(),
            Some("Add `when: …` to the step.".to_owned()),
        );
    }
    Some(ChainStep {
        name: name.unwrap_or_else(|| "parallel".to_owned()),
        kind,
        when: step_file.when,
        otherwise,
        input: step_file.input_mapping,
        output: parse_outputs(step_file.output_mapping),
        retries: step_file.retries,
        gates: step_file.gates,
        injection: step_file.injection,
        delegation: Delegation {
            model: step_file.subagent_model,
            agent: step_file.agent_type,
        },
    })
}

fn collect_prompt(
    source_file: &mut LibrarySourceFile<'_>,
    id: String,
    node: Option<&YamlNode>,
    mentions: &mut Vec<NameReference>,
) -> Option<StepKind> {
    let at: Option<SourcePosition> = node
        .and_then(|node| node.get("promptId"))
        .or(node)
        .map(|node| node.position);
    if !id_grammar::is_id(&id) {
        let message = format!("`{}` is not a valid prompt id.", truncate(&id));
        source_file.error(at, message, Some(ID_GRAMMAR.to_owned()));
        return None;
    }
    mentions.push(NameReference {
        kind: NameReferenceKind::Step,
        name: id.clone(),
        file: source_file.display_path(&source_file.file),
        position: at,
    });
    Some(StepKind::Prompt { id })
}

/// Collects the text arguments of a tool that may be templates.
fn collect_argument_texts(
    source_file: &LibrarySourceFile<'_>,
    node: &YamlNode,
    mentions: &mut Vec<NameReference>,
) {
    match &node.value {
        YamlValue::Text(text) if text.contains('{') => mentions.push(NameReference {
            kind: NameReferenceKind::ArgumentText,
            name: text.clone(),
            file: source_file.display_path(&source_file.file),
            position: Some(SourcePosition {
                line: node.text_line(&source_file.source),
                column: 1,
            }),
        }),
        YamlValue::List(items) => items
            .iter()
            .for_each(|item| collect_argument_texts(source_file, item, mentions)),
        YamlValue::Map(entries) => entries
            .iter()
            .for_each(|(_, node)| collect_argument_texts(source_file, node, mentions)),
        _ => {}
    }
}

/// Converts the output mapping. In the legacy format the value may be anything and means the whole
/// output.
fn parse_outputs(said: BTreeMap<String, Value>) -> BTreeMap<String, String> {
    said.into_iter()
        .map(|(name, part)| match part {
            Value::String(part) => (name, part),
            _ => (name, "output".to_owned()),
        })
        .collect()
}
