//! Changes single steps of a chain: adds, removes, replaces one, or puts them into another order.

use deliberate_toolkit::ToolError;
use serde_json::{Map, Value};

use super::{draft::Draft, failure::refused, fields, shape};

/// Does what the call asks of the steps, if it asks anything.
pub(super) fn apply(draft: &mut Draft<'_>, given: &Map<String, Value>) -> Result<(), ToolError> {
    let Some(operation) = given.get("chain_step_operation").map(fields::unfolded) else {
        let stray = ["index", "data", "order"].iter().find(|name| {
            given.contains_key(**name) || given.contains_key(&format!("chain_step_{name}"))
        });
        return match stray {
            Some(name) => Err(refused(
                format!("`{name}` needs a `chain_step_operation`."),
                "It is one of add, remove, reorder, replace.",
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
            .map(fields::unfolded)
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
    let index = part("index").map(|it| index(&it)).transpose()?;
    match word.as_str() {
        "add" => {
            let at = index.unwrap_or(count);
            within(at, count + 1)?;
            steps.insert(at, shape::step(data(part("data"))?));
        }
        "remove" => {
            let at = index.ok_or_else(needs_index)?;
            within(at, count)?;
            steps.remove(at);
        }
        "replace" | "update" => {
            let at = index.ok_or_else(needs_index)?;
            within(at, count)?;
            if let Some(place) = steps.get_mut(at) {
                *place = shape::step(data(part("data"))?);
            }
        }
        "reorder" => steps = reordered(&steps, part("order"))?,
        other => {
            return Err(refused(
                format!("`{other}` can't be done to a step."),
                "chain_step_operation is one of add, remove, reorder, replace.",
            ));
        }
    }
    draft.set("chainSteps", Value::Array(steps))
}

fn reordered(steps: &[Value], order: Option<Value>) -> Result<Vec<Value>, ToolError> {
    let order: Vec<usize> = match order {
        Some(Value::Array(order)) => order.iter().map(index).collect::<Result<_, _>>()?,
        _ => Vec::new(),
    };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..steps.len()) {
        return Err(refused(
            format!(
                "`order` must name each of the {} steps once, from 0.",
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

fn index(value: &Value) -> Result<usize, ToolError> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_u64(),
    };
    number
        .and_then(|number| usize::try_from(number).ok())
        .ok_or_else(needs_index)
}

fn needs_index() -> ToolError {
    refused(
        "A step is named by its place, a whole number from 0.",
        "Give chain_step_index; inspect shows the steps in their order.",
    )
}

fn within(at: usize, count: usize) -> Result<(), ToolError> {
    if at < count {
        return Ok(());
    }
    Err(refused(
        format!(
            "There is no place {at}: places go from 0 to {}.",
            count.saturating_sub(1)
        ),
        "Inspect shows the steps in their order.",
    ))
}

fn data(given: Option<Value>) -> Result<Value, ToolError> {
    given.ok_or_else(|| refused("The step itself is missing.", "Give it as chain_step_data."))
}
