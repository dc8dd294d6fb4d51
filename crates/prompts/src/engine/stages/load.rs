//! Finds the run that a call goes on with, and where it stands.

use std::sync::Arc;

use deliberate_core::{Run, RunEvent, RunId, RunState, cut_to_chars};
use deliberate_toolkit::ToolError;
use futures::future::BoxFuture;

use super::Stage;
use crate::{
    chain::{Happened, Plan, State},
    engine::{Context, Flow, failure::failure, plans},
};

pub(super) struct Load;

impl Stage for Load {
    fn name(&self) -> &'static str {
        "load"
    }

    fn run<'a>(&'a self, context: &'a mut Context<'_>) -> BoxFuture<'a, Result<Flow, ToolError>> {
        Box::pin(async move {
            let Some(given) = context.request.chain_id.clone() else {
                return Ok(Flow::Next);
            };
            let id = find(context, &given).await?;
            let found = read(context, &id).await?;
            // Who has a name of their own goes on with their own runs.
            let owner = context.call.owner();
            let found = found.filter(|found| owner.is_none() || found.run.owner == owner);
            let Found { run, events, plan } = found.ok_or_else(|| unknown(&given))?;
            let happened = events.into_iter().filter_map(Happened::of_event);
            context.state = State::after(&plan, happened);
            context.state.aborted |= run.state == RunState::Aborted;
            context.plan = plan;
            context.run = Some(run);
            context.begun_before = true;
            Ok(Flow::Next)
        })
    }
}

/// A run as it was found.
struct Found {
    run: Run,
    events: Vec<RunEvent>,
    plan: Arc<Plan>,
}

/// Reads a run. A plan that was read before is not read again: it can be long, and every step of
/// the chain needs it.
async fn read(context: &Context<'_>, id: &RunId) -> Result<Option<Found>, ToolError> {
    let (store, kept) = (context.call.store(), &context.engine.plans);
    if let Some((begun, plan)) = kept.find(id)
        && let Some((run, events)) = store.run_without_plan(id).await?
        && run.created_at == begun
    {
        return Ok(Some(Found { run, events, plan }));
    }
    let Some((mut run, events)) = store.run_with_events(id).await? else {
        return Ok(None);
    };
    let bytes = plans::size(&run.plan);
    let plan: Plan = serde_json::from_value(run.plan.take()).map_err(|error| {
        tracing::error!(%error, "the plan of a run can't be read");
        failure(
            "Damaged",
            format!("the plan of {id} can't be read"),
            "Begin it anew with its command.",
        )
    })?;
    let plan = Arc::new(plan);
    kept.keep(id, run.created_at, &plan, bytes);
    Ok(Some(Found { run, events, plan }))
}

/// The run that is meant. Without a number it is the newest of that chain; a number that there is
/// not is an error, never another run.
async fn find(context: &Context<'_>, given: &str) -> Result<RunId, ToolError> {
    let base = given
        .strip_prefix("chain-")
        .ok_or_else(|| malformed(given))?;
    let named = |text: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|it| it.is_ascii_alphanumeric() || matches!(it, '_' | '-'))
    };
    match base.split_once('#') {
        Some((base, number)) => {
            let digits = !number.is_empty() && number.chars().all(|it| it.is_ascii_digit());
            if !named(base) || !digits {
                return Err(malformed(given));
            }
            Ok(RunId::from(given.to_owned()))
        }
        None if named(base) => {
            let owner = context.call.owner();
            let store = context.call.store();
            let newest = store.newest_run(base, owner.as_deref()).await?;
            newest.ok_or_else(|| unknown(given))
        }
        None => Err(malformed(given)),
    }
}

fn malformed(given: &str) -> ToolError {
    failure(
        "InvalidChainId",
        format!(
            "{:?} is not the id of a run; those look like chain-plan#4",
            cut_to_chars(given, 80)
        ),
        "Copy the chain_id that the step was shown with.",
    )
}

fn unknown(given: &str) -> ToolError {
    failure(
        "RunNotFound",
        format!("there is no run {:?}", cut_to_chars(given, 80)),
        "Check the number; system_control {\"action\":\"session\"} lists the runs. To begin anew, \
         send the command.",
    )
}
