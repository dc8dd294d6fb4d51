//! Chain runs as JSON. A named principal reads its own runs; the operator reads all.

use deliberate_core::{ChainRun, ChainState, RunId, truncate_chars};
use deliberate_store::{ChainRunFilter, Pagination};
use deliberate_toolkit::{ResourceContext, ToolError};
use serde_json::{Value, json};

use super::uri::LibraryResourceKind;
use crate::chain::{ChainPlan, ChainProgress, ChainRunEvent, PlannedStep};

/// The maximum number of runs in the list.
const MAX_RUNS: u32 = 100;

/// The maximum number of characters shown of a result.
const MAX_RESULT_CHARS: usize = 4_000;

/// Returns the filter for the runs that the principal may see.
pub(super) fn visible_runs(desk: ResourceContext<'_>) -> ChainRunFilter {
    let name = desk.caller.principal.name.as_deref();
    ChainRunFilter {
        owner: name.map(|name| Some(name.to_owned())),
        ..ChainRunFilter::default()
    }
}

/// Lists the newest runs.
pub(super) async fn list_runs(desk: ResourceContext<'_>) -> Result<Value, ToolError> {
    let store = desk.registry.store();
    let runs = store
        .runs(&visible_runs(desk), Pagination::limit(MAX_RUNS))
        .await?;
    Ok(runs.iter().map(run_summary).collect())
}

fn run_summary(run: &ChainRun) -> Value {
    json!({
        "chain_id": run.id,
        "uri": LibraryResourceKind::Run.uri(run.id.as_str()),
        "state": run.state,
        "progress": progress(run),
        "command": truncate_chars(&run.command, 200),
        "updated_at": run.updated_at,
    })
}

fn progress(run: &ChainRun) -> Value {
    let over = match run.state {
        ChainState::Done => run.steps,
        _ => run.at_step.saturating_sub(1).min(run.steps),
    };
    let percent = (u64::from(over) * 100)
        .checked_div(u64::from(run.steps))
        .unwrap_or(0);
    json!({ "step": run.at_step, "steps": run.steps, "percent": percent })
}

/// Loads the run with that id, or the newest with that base id; `None` if no such run is visible.
pub(super) async fn load_run(
    id: &str,
    context: ResourceContext<'_>,
) -> Result<Option<Value>, ToolError> {
    let store = context.registry.store();
    let reader = context.caller.principal.name.as_deref();
    let id = match id.strip_prefix("chain-").filter(|_| !id.contains('#')) {
        Some(base) => store.newest_run(base, reader).await?,
        None => Some(RunId::from(id.to_owned())),
    };
    let Some(id) = id else { return Ok(None) };
    let Some((mut run, events)) = store.run_with_events(&id).await? else {
        return Ok(None);
    };
    if reader.is_some() && reader != run.owner.as_deref() {
        return Ok(None);
    }
    let Ok(plan) = serde_json::from_value::<ChainPlan>(run.plan.take()) else {
        return Ok(Some(run_summary(&run)));
    };
    let times: Vec<Value> = events
        .iter()
        .map(|it| json!({ "kind": it.kind, "step": it.step, "at": it.created_at }))
        .collect();
    let state = ChainProgress::replay(
        &plan,
        events.into_iter().filter_map(ChainRunEvent::from_row),
    );
    let steps: Vec<Value> = plan
        .nodes
        .iter()
        .map(|node| step_json(&state, node))
        .collect();
    let pending: Vec<Value> = plan
        .nodes
        .iter()
        .filter_map(|node| pending_review(&state, node))
        .collect();
    let mut whole = run_summary(&run);
    if let Some(fields) = whole.as_object_mut() {
        fields.insert("command".to_owned(), json!(run.command));
        fields.insert("created_at".to_owned(), json!(run.created_at));
        fields.insert("arguments".to_owned(), json!(plan.arguments));
        fields.insert("steps".to_owned(), json!(steps));
        fields.insert("pending_review".to_owned(), json!(pending));
        fields.insert("events".to_owned(), json!(times));
    }
    Ok(Some(whole))
}

fn step_json(state: &ChainProgress, node: &PlannedStep) -> Value {
    let step = state.step(node.number).cloned().unwrap_or_default();
    json!({
        "step": node.number,
        "name": node.name,
        "prompt": node.prompt(),
        "status": step.status(),
        "attempts": step.attempts,
        "result": step.text().map(|text| truncate_chars(&text, MAX_RESULT_CHARS)),
    })
}

/// Returns the answer under review and the results of its gates.
fn pending_review(state: &ChainProgress, node: &PlannedStep) -> Option<Value> {
    let step = state.step(node.number).filter(|step| step.is_held())?;
    let review = step.review.as_ref()?;
    Some(json!({
        "step": node.number,
        "attempts": review.review.attempts,
        "hints": review.review.hints,
        "gates": review.results,
    }))
}
