//! Finds the run that a call goes on with, and where it stands.

use std::sync::Arc;

use deliberate_core::{ChainEvent, ChainRun, ChainState, RunId, truncate_chars};
use deliberate_toolkit::ToolError;
use futures::future::BoxFuture;

use super::EngineStage;
use crate::{
    chain::{ChainPlan, ChainProgress, ChainRunEvent},
    engine::{EngineContext, StageOutcome, cache::plan_cache, errors::engine_error},
};

pub(super) struct LoadRun;

impl EngineStage for LoadRun {
    fn name(&self) -> &'static str {
        "load"
    }

    fn run<'a>(
        &'a self,
        context: &'a mut EngineContext<'_>,
    ) -> BoxFuture<'a, Result<StageOutcome, ToolError>> {
        Box::pin(async move {
            let Some(given) = context.request.chain_id.clone() else {
                return Ok(StageOutcome::Next);
            };
            let id = find_run_id(context, &given).await?;
            let found = read_run(context, &id).await?;
            // Who has a name of their own goes on with their own runs.
            let owner = context.call.owner();
            let found = found.filter(|found| owner.is_none() || found.run.owner == owner);
            let StoredRun { run, events, plan } = found.ok_or_else(|| unknown_run(&given))?;
            let happened = events.into_iter().filter_map(ChainRunEvent::from_row);
            context.state = ChainProgress::replay(&plan, happened);
            context.state.aborted |= run.state == ChainState::Aborted;
            context.plan = plan;
            context.run = Some(run);
            context.resumed = true;
            Ok(StageOutcome::Next)
        })
    }
}

/// A run as it was found.
struct StoredRun {
    run: ChainRun,
    events: Vec<ChainEvent>,
    plan: Arc<ChainPlan>,
}

/// Reads a run. A plan that was read before is not read again: it can be long, and every step of
/// the chain needs it.
async fn read_run(context: &EngineContext<'_>, id: &RunId) -> Result<Option<StoredRun>, ToolError> {
    let (store, kept) = (context.call.store(), &context.engine.plan_cache);
    if let Some((begun, plan)) = kept.find(id)
        && let Some((run, events)) = store.run_without_plan(id).await?
        && run.created_at == begun
    {
        return Ok(Some(StoredRun { run, events, plan }));
    }
    let Some((mut run, events)) = store.run_with_events(id).await? else {
        return Ok(None);
    };
    let bytes = plan_cache::estimate_size(&run.plan);
    let plan: ChainPlan = serde_json::from_value(run.plan.take()).map_err(|error| {
        tracing::error!(%error, "the plan of a run can't be read");
        engine_error(
            "Damaged",
            format!("the plan of {id} can't be read"),
            "Begin it anew with its command.",
        )
    })?;
    let plan = Arc::new(plan);
    kept.insert(id, run.created_at, &plan, bytes);
    Ok(Some(StoredRun { run, events, plan }))
}

/// The run that is meant. Without a number it is the newest of that chain; a number that there is
/// not is an error, never another run.
async fn find_run_id(context: &EngineContext<'_>, given: &str) -> Result<RunId, ToolError> {
    let base = given
        .strip_prefix("chain-")
        .ok_or_else(|| malformed_run_id(given))?;
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
                return Err(malformed_run_id(given));
            }
            Ok(RunId::from(given.to_owned()))
        }
        None if named(base) => {
            let owner = context.call.owner();
            let store = context.call.store();
            let newest = store.newest_run(base, owner.as_deref()).await?;
            newest.ok_or_else(|| unknown_run(given))
        }
        None => Err(malformed_run_id(given)),
    }
}

fn malformed_run_id(given: &str) -> ToolError {
    engine_error(
        "InvalidChainId",
        format!(
            "{:?} is not the id of a run; those look like chain-plan#4",
            truncate_chars(given, 80)
        ),
        "Copy the chain_id that the step was shown with.",
    )
}

fn unknown_run(given: &str) -> ToolError {
    engine_error(
        "RunNotFound",
        format!("there is no run {:?}", truncate_chars(given, 80)),
        "Check the number; system_control {\"action\":\"session\"} lists the runs. To begin anew, \
         send the command.",
    )
}
