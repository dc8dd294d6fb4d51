//! Edits single steps of a chain: adds, removes, replaces or reorders them.

use deliberate_toolkit::ToolError;
use serde_json::{Map, Value};

use crate::resource_manager::{
    edit::{file_draft::FileDraft, input_normalization},
    errors::invalid_input,
    extra_fields,
};

/// Applies the step operation of the call, if there is one.
pub(crate) fn apply_step_operation(
    draft: &mut FileDraft<'_>,
    given: &Map<String, Value>,
) -> Result<(), ToolError> {
    let Some(operation) = given
        .get("chain_step_operation")
        .map(extra_fields::parse_json_text)
    else {
        let stray = ["index", "data", "order"].iter().find(|name| {
            given.contains_key(**name) || given.contains_key(&format!("chain_step_{name}"))
        });
        return match stray {
            Some(name) => Err(invalid_input(
                format!("`{name}` needs a `chain_step_operation`."),
                "Use add, remove, reorder or replace.",
            )),
            None => Ok(()),
        };
    };
    let inner = operation.as_object();
    let part = |name: &str| {
        inner
            .and_then(|inner| inner.get(name))
            .or_else(|| given.get(&format!("chain_step_{name}")))
            .or_else(|| given.get(name))
            .map(extra_fields::parse_json_text)
    };
    let word = operation
        .as_str()
        .map(str::to_owned)
        .or_else(|| {
            ["operation", "type", "action"]
                .iter()
                .find_map(|name| inner?.get(*name)?.as_str().map(str::to_owned))
        })
        .unwrap_or_default();
    let mut steps = match draft.get("chainSteps") {
        Some(Value::Array(steps)) => steps.clone(),
        _ => Vec::new(),
    };
    let count = steps.len();
    let index = part("index").map(|it| parse_index(&it)).transpose()?;
    match word.as_str() {
        "add" => {
            let at = index.unwrap_or(count);
            check_index(at, count + 1)?;
            steps.insert(
                at,
                input_normalization::normalize_step(required_step_data(part("data"))?),
            );
        }
        "remove" => {
            let at = index.ok_or_else(index_required)?;
            check_index(at, count)?;
            steps.remove(at);
        }
        "replace" | "update" => {
            let at = index.ok_or_else(index_required)?;
            check_index(at, count)?;
            if let Some(place) = steps.get_mut(at) {
                *place = input_normalization::normalize_step(required_step_data(part("data"))?);
            }
        }
        "reorder" => steps = reorder_steps(&steps, part("order"))?,
        other => {
            return Err(invalid_input(
                format!("`{other}` is not a step operation."),
                "Set chain_step_operation to add, remove, reorder or replace.",
            ));
        }
    }
    draft.set("chainSteps", Value::Array(steps))
}

fn reorder_steps(steps: &[Value], order: Option<Value>) -> Result<Vec<Value>, ToolError> {
    let order: Vec<usize> = match order {
        Some(Value::Array(order)) => order.iter().map(parse_index).collect::<Result<_, _>>()?,
        _ => Vec::new(),
    };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..steps.len()) {
        return Err(invalid_input(
            format!(
                "`order` must contain the index of each of the {} steps once, from 0.",
                steps.len()
            ),
            "For example [2, 0, 1].",
        ));
    }
    Ok(order
        .iter()
        .filter_map(|at| steps.get(*at))
        .cloned()
        .collect())
}

fn parse_index(value: &Value) -> Result<usize, ToolError> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_u64(),
    };
    number
        .and_then(|number| usize::try_from(number).ok())
        .ok_or_else(index_required)
}

fn index_required() -> ToolError {
    invalid_input(
        "The index of a step must be a whole number from 0.",
        "Give chain_step_index; inspect shows the steps in their order.",
    )
}

fn check_index(at: usize, count: usize) -> Result<(), ToolError> {
    if at < count {
        return Ok(());
    }
    Err(invalid_input(
        format!(
            "There is no step {at}: indexes go from 0 to {}.",
            count.saturating_sub(1)
        ),
        "Inspect shows the steps in their order.",
    ))
}

fn required_step_data(given: Option<Value>) -> Result<Value, ToolError> {
    given.ok_or_else(|| invalid_input("The step itself is missing.", "Give it as chain_step_data."))
}
