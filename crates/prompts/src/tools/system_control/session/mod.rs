//! The `session` action: chain runs. A named caller sees its own runs; the operator sees all.

mod inspect;

use deliberate_core::{ChainEvent, ChainRun, ChainState, Change, RunId, truncate_chars};
use deliberate_store::{ChainRunFilter, Pagination};
use deliberate_toolkit::{ErrorCode, ToolError};
use serde_json::{Value, json};

use super::{
    ControlContext, ControlOperation, OperationResult,
    operation_result::{TextLines, pluralize},
};
use crate::{
    chain::{ChainPlan, ChainProgress, ChainRunEvent},
    engine::engine_error,
};

/// The scope that deleting needs besides the tool's.
const DELETE_SCOPE: &str = "system_control/delete";

pub(super) const OPERATIONS: &[ControlOperation] = &[
    ControlOperation {
        name: "list",
        accepted_fields: &["limit", "search_query"],
        run: |desk| Box::pin(list(desk)),
    },
    ControlOperation {
        name: "inspect",
        accepted_fields: &["session_id", "limit"],
        run: |desk| Box::pin(inspect::inspect_run(desk)),
    },
    ControlOperation {
        name: "clear",
        accepted_fields: &["session_id", "confirm"],
        run: |desk| Box::pin(clear_runs(desk)),
    },
];

/// Returns the filter for the runs that the caller may see.
pub(super) fn visible_runs(desk: &ControlContext<'_>, state: Option<ChainState>) -> ChainRunFilter {
    ChainRunFilter {
        state,
        owner: desk.call.owner().map(Some),
        ..ChainRunFilter::default()
    }
}

async fn list(context: &ControlContext<'_>) -> Result<OperationResult, ToolError> {
    let limit = context.limit(20, 1_000);
    let wanted = context
        .input
        .search_query
        .as_deref()
        .unwrap_or_default()
        .to_lowercase();
    let filter = visible_runs(context, None);
    let mut runs = context
        .call
        .store()
        .runs(&filter, Pagination::limit(Pagination::MAX))
        .await?;
    runs.retain(|run| {
        wanted.is_empty()
            || run.command.to_lowercase().contains(&wanted)
            || run.id.as_str().to_lowercase().contains(&wanted)
    });
    let mut lines = TextLines::default();
    if runs.is_empty() {
        lines.add("There are no runs.");
    }
    let entries: Vec<Value> = runs
        .iter()
        .take(limit)
        .map(|run| {
            let command = truncate_chars(&run.command, 100).replace(['\n', '\r'], " ");
            lines.add(format!(
                "{} {}, step {} of {}, {}: {command}",
                run.id,
                run.state.as_str(),
                run.at_step,
                run.steps,
                run.updated_at
            ));
            json!({
                "chain_id": run.id,
                "state": run.state,
                "step": run.at_step,
                "steps": run.steps,
                "command": command,
                "created_at": run.created_at,
                "updated_at": run.updated_at,
            })
        })
        .collect();
    if runs.len() > limit {
        lines.add(format!("… and {} more; raise limit", runs.len() - limit));
    }
    Ok(OperationResult::new(
        lines.into_text(),
        json!({ "runs": entries, "total": runs.len() }),
    ))
}

/// Finds a run by its id, or the newest run of a chain by `chain-<base>`. Returns `None` if there
/// is none.
pub(super) async fn find_run(
    context: &ControlContext<'_>,
    given: &str,
) -> Result<Option<RunId>, ToolError> {
    let store = context.call.store();
    if given.len() > 300 {
        return Ok(None);
    }
    let id = if given.contains('#') {
        Some(RunId::from(given.to_owned()))
    } else if let Some(base) = given.strip_prefix("chain-") {
        let owner = context.call.owner();
        store.newest_run(base, owner.as_deref()).await?
    } else {
        None
    };
    let Some(id) = id else {
        return Ok(None);
    };
    let run = store.run(&id).await?;
    Ok(run.filter(|run| is_visible(context, run)).map(|run| run.id))
}

/// Returns whether the caller may see the run.
fn is_visible(context: &ControlContext<'_>, run: &ChainRun) -> bool {
    let owner = context.call.owner();
    owner.is_none() || owner == run.owner
}

/// Returns the id of the requested run, or an error if it does not exist.
async fn require_run_id(context: &ControlContext<'_>) -> Result<RunId, ToolError> {
    let given = context.require_text("session_id", context.input.session_id.as_ref())?;
    // The base alone also names its newest run.
    let found = match find_run(context, given).await? {
        Some(id) => Some(id),
        None if given.starts_with("chain-") => None,
        None => find_run(context, &format!("chain-{given}")).await?,
    };
    found.ok_or_else(|| {
        engine_error(
            ErrorCode::RunNotFound,
            format!("there is no run {:?}", truncate_chars(given, 80)),
            "session list shows the existing runs.",
        )
    })
}

/// A run with its plan, progress and events.
pub(super) struct LoadedRun {
    pub(super) run: ChainRun,
    pub(super) plan: ChainPlan,
    pub(super) state: ChainProgress,
    pub(super) events: Vec<ChainEvent>,
}

pub(super) async fn load_requested_run(desk: &ControlContext<'_>) -> Result<LoadedRun, ToolError> {
    let id = require_run_id(desk).await?;
    load_run(desk, &id).await
}

/// Loads a run.
pub(super) async fn load_run(
    context: &ControlContext<'_>,
    id: &RunId,
) -> Result<LoadedRun, ToolError> {
    let found = context.call.store().run_with_events(id).await?;
    let (mut run, events) = found.ok_or_else(|| {
        engine_error(
            ErrorCode::RunNotFound,
            format!("there is no run {id}"),
            None,
        )
    })?;
    let plan: ChainPlan = serde_json::from_value(run.plan.take()).map_err(|_| {
        engine_error(
            ErrorCode::Damaged,
            format!("the plan of {id} can't be read"),
            "Clear it, and start a new run with the command.",
        )
    })?;
    let happened = events.iter().cloned().filter_map(ChainRunEvent::from_row);
    let mut state = ChainProgress::replay(&plan, happened);
    state.aborted |= run.state == ChainState::Aborted;
    Ok(LoadedRun {
        run,
        plan,
        state,
        events,
    })
}

/// Deletes a run, or all that have ended. The deletion removes the texts of the log records that are
/// written before it, so those that wait are written first.
async fn clear_runs(context: &ControlContext<'_>) -> Result<OperationResult, ToolError> {
    context.call.check_action_allowed(DELETE_SCOPE)?;
    if context.input.session_id.is_some() {
        let id = require_run_id(context).await?;
        context.require_confirmation(&format!("{id} and all its events would be deleted"))?;
        context.call.flush_log().await;
        let fields = json!({ "deleted": [id] });
        return Ok(OperationResult::new(format!("{id} was deleted."), fields)
            .with_change(Change::DeleteRun(id)));
    }
    let ended = finished_runs(context).await?;
    let what = format!(
        "{} that have ended would be deleted",
        pluralize(ended.len(), "run")
    );
    context.require_confirmation(&what)?;
    context.call.flush_log().await;
    let text = format!(
        "{} that had ended were deleted; open runs stay.",
        pluralize(ended.len(), "run")
    );
    let mut done = OperationResult::new(text, json!({ "deleted": ended }));
    for id in ended {
        done = done.with_change(Change::DeleteRun(id));
    }
    Ok(done)
}

/// Returns the runs that have ended, as many as one read returns.
async fn finished_runs(context: &ControlContext<'_>) -> Result<Vec<RunId>, ToolError> {
    let mut found = Vec::new();
    for state in [ChainState::Done, ChainState::Aborted] {
        let filter = visible_runs(context, Some(state));
        let runs = context
            .call
            .store()
            .runs(&filter, Pagination::limit(Pagination::MAX))
            .await?;
        found.extend(runs.into_iter().map(|run| run.id));
    }
    Ok(found)
}
