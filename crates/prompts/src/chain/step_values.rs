//! The values that a step sees: its arguments, the arguments of its chain, and the results of
//! earlier steps.

use std::collections::{BTreeMap, BTreeSet};

use deliberate_core::RunId;
use serde_json::{Map, Value, json};

use super::{ChainPlan, ChainProgress, PlannedStep};
use crate::template::{TemplateValues, lookup};

/// The names that have values only within a chain step. Elsewhere they are null rather than
/// undefined, because a prompt that is a step can also be used on its own.
pub const RUN_VALUE_NAMES: [&str; 10] = [
    "chain_args",
    "chain_id",
    "chain_run_id",
    "chain_metadata",
    "current_step",
    "total_steps",
    "execution_order",
    "step_results",
    "previous_step_output",
    "previous_step_result",
];

/// Returns the names that a condition of a plan may use, whatever steps are finished by then.
pub fn condition_names(plan: &ChainPlan) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = RUN_VALUE_NAMES
        .iter()
        .map(|name| (*name).to_owned())
        .collect();
    names.extend(["steps".to_owned(), "input".to_owned()]);
    names.extend(plan.arguments.keys().cloned());
    for node in &plan.nodes {
        names.extend(node.arguments.keys().cloned());
        names.extend(node.declared.iter().cloned());
        names.extend(node.output.keys().cloned());
        names.extend(node.input.iter().flat_map(|it| it.keys().cloned()));
        let steps = node.path.iter().map(|it| format!("step{}_result", it.step));
        names.extend(steps);
    }
    let arguments = plan.prompts.values().flat_map(|it| &it.arguments);
    names.extend(arguments.map(|it| it.name.clone()));
    names
}

/// Returns the values of a prompt that is used on its own.
pub fn single_prompt_values(given: Map<String, Value>) -> TemplateValues {
    let absent = RUN_VALUE_NAMES
        .iter()
        .map(|name| ((*name).to_owned(), Value::Null));
    let mut values: TemplateValues = absent.collect();
    values.insert("input".to_owned(), Value::Object(given.clone()));
    values.extend(given);
    values
}

/// Returns the values of a step, for its template and its conditions.
pub fn step_values(
    plan: &ChainPlan,
    state: &ChainProgress,
    node: &PlannedStep,
    run: &RunId,
) -> TemplateValues {
    let mut values = step_results(plan, state, node);
    let names = node.chain_position().map(|it| plan.step_names(it.chain));
    let names = names.unwrap_or_default();
    values.insert("chain_id".to_owned(), json!(run.as_str()));
    values.insert("chain_run_id".to_owned(), json!(run.as_str()));
    let at = node.chain_position().map_or(node.number, |it| it.step);
    values.insert("current_step".to_owned(), json!(at));
    values.insert("total_steps".to_owned(), json!(names.len()));
    values.insert("execution_order".to_owned(), json!(names));
    let metadata = json!({ "name": plan.title, "chain": node.chain, "step": node.name });
    values.insert("chain_metadata".to_owned(), metadata);
    let mut given = argument_values(plan, node);
    if let Some(takes) = &node.takes
        && let Some(text) = previous_result(plan, state, takes.before)
    {
        given.entry(takes.name.clone()).or_insert(json!(text));
    }
    // Declared arguments without a value are null rather than undefined.
    for prompt in plan.prompts.values() {
        for argument in &prompt.arguments {
            values.entry(argument.name.clone()).or_default();
        }
    }
    for name in &node.declared {
        values.entry(name.clone()).or_default();
    }
    if !given.contains_key("input") {
        values.insert("input".to_owned(), Value::Object(given.clone()));
    }
    for (name, value) in &given {
        // The result of a step takes precedence over a chain argument of the same name.
        let slot = values.entry(name.clone()).or_default();
        if slot.is_null() {
            slot.clone_from(value);
        }
    }
    let (own, outer) = match node.input.split_last() {
        Some((own, outer)) if node.maps_own_input => (Some(own), outer),
        _ => (None, node.input.as_slice()),
    };
    for mapping in outer {
        let found = map_inputs(mapping, &values);
        given.extend(found.clone());
        values.extend(found);
    }
    values.insert("chain_args".to_owned(), Value::Object(given));
    if let Some(own) = own {
        let found = map_inputs(own, &values);
        values.extend(found);
    }
    values
}

fn map_inputs(mapping: &BTreeMap<String, String>, values: &TemplateValues) -> Vec<(String, Value)> {
    mapping
        .iter()
        .filter_map(|(new, path)| Some((new.clone(), lookup(path, values)?)))
        .collect()
}

/// Returns the arguments of a step: those of the whole command, overridden by its own.
pub fn argument_values(plan: &ChainPlan, node: &PlannedStep) -> Map<String, Value> {
    let mut values = plan.arguments.clone();
    values.extend(node.arguments.clone());
    values
}

/// Returns the result of the last stage before `stage` that has one. The results of parallel steps
/// are joined under their names.
fn previous_result(plan: &ChainPlan, state: &ChainProgress, stage: u32) -> Option<String> {
    let done = |node: &&PlannedStep| {
        state
            .step(node.number)
            .is_some_and(|it| it.text().is_some())
    };
    let before = plan.nodes.iter().filter(|node| node.stage < stage);
    let last = before.filter(done).map(|node| node.stage).max()?;
    let there = plan.nodes.iter().filter(|node| node.stage == last);
    let texts: Vec<(&str, String)> = there
        .filter_map(|node| Some((node.name.as_str(), state.step(node.number)?.text()?)))
        .collect();
    match texts.as_slice() {
        [(_, only)] => Some(only.clone()),
        several => {
            let parts = several
                .iter()
                .map(|(name, text)| format!("## {name}\n\n{text}"));
            Some(parts.collect::<Vec<_>>().join("\n\n"))
        }
    }
}

/// Collects the results of earlier steps under all their names. Step numbers and names are those of
/// the innermost chain; a nested chain counts as one step, and its result is that of its last step.
fn step_results(plan: &ChainPlan, state: &ChainProgress, node: &PlannedStep) -> TemplateValues {
    let absent = RUN_VALUE_NAMES
        .iter()
        .map(|name| ((*name).to_owned(), Value::Null));
    let mut values: TemplateValues = absent.collect();
    let mut by_number = Map::new();
    let mut by_name: BTreeMap<String, Value> = BTreeMap::new();
    let chain = node.chain_position().map_or(0, |it| it.chain);
    for before in plan.nodes.iter().filter(|it| it.stage < node.stage) {
        // The names of a skipped step are null.
        for name in before.output.keys() {
            values.entry(name.clone()).or_default();
        }
        let here = before.path.iter().find(|it| it.chain == chain);
        if let Some(here) = here {
            values
                .entry(format!("step{}_result", here.step))
                .or_default();
        }
        let Some(step) = state.step(before.number) else {
            continue;
        };
        let Some((text, output)) = step.text().zip(step.value()) else {
            if let Some(here) = here {
                let left_out = json!({ "status": step.status() });
                by_name.entry(here.name.clone()).or_insert(left_out);
            }
            continue;
        };
        for (name, path) in &before.output {
            values.insert(name.clone(), select_output(path, &text, &output));
        }
        if let Some(here) = here {
            values.insert(format!("step{}_result", here.step), json!(text));
            by_number.insert(here.step.to_string(), json!(text));
            let told = json!({ "result": text, "output": output, "status": step.status() });
            by_name.insert(here.name.clone(), told);
        }
    }
    values.insert("step_results".to_owned(), Value::Object(by_number));
    let steps = by_name.into_iter().collect();
    values.insert("steps".to_owned(), Value::Object(steps));
    if let Some(previous) = previous_result(plan, state, node.stage) {
        values.insert("previous_step_output".to_owned(), json!(previous));
        values.insert("previous_step_result".to_owned(), json!(previous));
    }
    values
}

/// Selects the part of an output that a mapping names: `output.field` is a field, anything else is
/// the whole output.
pub fn select_output(path: &str, text: &str, output: &Value) -> Value {
    let field = path
        .strip_prefix("output.")
        .or_else(|| path.strip_prefix("result."));
    match field {
        Some(field) => match output {
            Value::Object(fields) => {
                let fields: TemplateValues = fields.clone().into_iter().collect();
                lookup(field, &fields).unwrap_or(Value::Null)
            }
            _ => Value::Null,
        },
        None if output.is_object() || output.is_array() => output.clone(),
        None => json!(text),
    }
}
