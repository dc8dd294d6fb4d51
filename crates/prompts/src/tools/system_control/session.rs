//! `session`: the runs of chains. Who has a name sees their own; whoever runs the program sees
//! all.

use deliberate_core::{Change, Run, RunEvent, RunId, RunState, cut_to_chars};
use deliberate_store::{Page, RunFilter};
use deliberate_toolkit::ToolError;
use serde_json::{Value, json};

use super::{
    Desk, Done, Operation,
    done::{Lines, count},
    inspect,
};
use crate::{
    chain::{Happened, Plan, State},
    engine::failure,
};

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "list",
        takes: &["limit", "search_query"],
        run: |desk| Box::pin(list(desk)),
    },
    Operation {
        name: "inspect",
        takes: &["session_id", "limit"],
        run: |desk| Box::pin(inspect::inspect(desk)),
    },
    Operation {
        name: "clear",
        takes: &["session_id", "confirm"],
        run: |desk| Box::pin(clear(desk)),
    },
];

/// The runs that whoever calls may see.
pub(super) fn theirs(desk: &Desk<'_>, state: Option<RunState>) -> RunFilter {
    RunFilter {
        state,
        owner: desk.call.owner().map(Some),
        ..RunFilter::default()
    }
}

async fn list(desk: &Desk<'_>) -> Result<Done, ToolError> {
    let limit = desk.limit(20, 1_000);
    let wanted = desk
        .input
        .search_query
        .as_deref()
        .unwrap_or_default()
        .to_lowercase();
    let filter = theirs(desk, None);
    let mut runs = desk
        .call
        .store()
        .runs(&filter, Page::first(Page::MOST))
        .await?;
    runs.retain(|run| {
        wanted.is_empty()
            || run.command.to_lowercase().contains(&wanted)
            || run.id.as_str().to_lowercase().contains(&wanted)
    });
    let mut lines = Lines::default();
    if runs.is_empty() {
        lines.add("There are no runs.");
    }
    let entries: Vec<Value> = runs
        .iter()
        .take(limit)
        .map(|run| {
            let command = cut_to_chars(&run.command, 100).replace(['\n', '\r'], " ");
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
    Ok(Done::new(
        lines.end(),
        json!({ "runs": entries, "total": runs.len() }),
    ))
}

/// The run that is meant: by its id, or the newest of a chain by `chain-<base>` or the base
/// alone. Nothing if there is none.
pub(super) async fn find(desk: &Desk<'_>, given: &str) -> Result<Option<RunId>, ToolError> {
    let store = desk.call.store();
    if given.len() > 300 {
        return Ok(None);
    }
    let id = if given.contains('#') {
        Some(RunId::from(given.to_owned()))
    } else if let Some(base) = given.strip_prefix("chain-") {
        let owner = desk.call.owner();
        store.newest_run(base, owner.as_deref()).await?
    } else {
        None
    };
    let Some(id) = id else {
        return Ok(None);
    };
    let run = store.run(&id).await?;
    Ok(run.filter(|run| is_theirs(desk, run)).map(|run| run.id))
}

/// Whether whoever calls may see it.
fn is_theirs(desk: &Desk<'_>, run: &Run) -> bool {
    let owner = desk.call.owner();
    owner.is_none() || owner == run.owner
}

/// The run that must be there.
async fn must(desk: &Desk<'_>) -> Result<RunId, ToolError> {
    let given = desk.needed("session_id", desk.input.session_id.as_ref())?;
    // The base alone names its newest run, too.
    let found = match find(desk, given).await? {
        Some(id) => Some(id),
        None if given.starts_with("chain-") => None,
        None => find(desk, &format!("chain-{given}")).await?,
    };
    found.ok_or_else(|| {
        failure(
            "RunNotFound",
            format!("there is no run {:?}", cut_to_chars(given, 80)),
            "session list shows those there are.",
        )
    })
}

/// A run, its plan and all that happened in it.
pub(super) struct Read {
    pub(super) run: Run,
    pub(super) plan: Plan,
    pub(super) state: State,
    pub(super) events: Vec<RunEvent>,
}

pub(super) async fn wanted(desk: &Desk<'_>) -> Result<Read, ToolError> {
    let id = must(desk).await?;
    read(desk, &id).await
}

/// Reads a run.
pub(super) async fn read(desk: &Desk<'_>, id: &RunId) -> Result<Read, ToolError> {
    let found = desk.call.store().run_with_events(id).await?;
    let (mut run, events) =
        found.ok_or_else(|| failure("RunNotFound", format!("there is no run {id}"), None))?;
    let plan: Plan = serde_json::from_value(run.plan.take()).map_err(|_| {
        failure(
            "Damaged",
            format!("the plan of {id} can't be read"),
            "Clear it, and begin it anew with its command.",
        )
    })?;
    let happened = events.iter().cloned().filter_map(Happened::of_event);
    let mut state = State::after(&plan, happened);
    state.aborted |= run.state == RunState::Aborted;
    Ok(Read {
        run,
        plan,
        state,
        events,
    })
}

async fn clear(desk: &Desk<'_>) -> Result<Done, ToolError> {
    if desk.input.session_id.is_some() {
        let id = must(desk).await?;
        desk.confirmed(&format!(
            "{id} and all that happened in it would be deleted"
        ))?;
        let fields = json!({ "deleted": [id] });
        return Ok(Done::new(format!("{id} was deleted."), fields).keeping(Change::DeleteRun(id)));
    }
    let ended = ended(desk).await?;
    let what = format!(
        "{} that have ended would be deleted",
        count(ended.len(), "run")
    );
    desk.confirmed(&what)?;
    let said = format!(
        "{} that had ended were deleted; open ones stay.",
        count(ended.len(), "run")
    );
    let mut done = Done::new(said, json!({ "deleted": ended }));
    for id in ended {
        done = done.keeping(Change::DeleteRun(id));
    }
    Ok(done)
}

/// The runs that have ended, as many as one read gives.
async fn ended(desk: &Desk<'_>) -> Result<Vec<RunId>, ToolError> {
    let mut found = Vec::new();
    for state in [RunState::Done, RunState::Aborted] {
        let filter = theirs(desk, Some(state));
        let runs = desk
            .call
            .store()
            .runs(&filter, Page::first(Page::MOST))
            .await?;
        found.extend(runs.into_iter().map(|run| run.id));
    }
    Ok(found)
}
