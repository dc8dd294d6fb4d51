//! Loads the run that a call resumes, and its progress.

use std::sync::Arc;

use deliberate_core::{ChainEvent, ChainRun, ChainState, RunId, truncate_chars};
use deliberate_toolkit::{ErrorCode, ToolError};
use futures::future::BoxFuture;

use crate::{
    chain::{ChainPlan, ChainProgress, ChainRunEvent},
    engine::{
        EngineContext, StageOutcome, cache::plan_cache, errors::engine_error, stages::EngineStage,
    },
};

pub(crate) struct LoadRun;

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
            // A caller with an owner resumes only its own runs.
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

/// A run as it is stored.
struct StoredRun {
    run: ChainRun,
    events: Vec<ChainEvent>,
    plan: Arc<ChainPlan>,
}

/// Reads a run. A cached plan is not read again: it can be long, and every step of the chain needs
/// it.
async fn read_run(context: &EngineContext<'_>, id: &RunId) -> Result<Option<StoredRun>, ToolError> {
    let (store, cache) = (context.call.store(), &context.engine.plan_cache);
    if let Some((begun, plan)) = cache.find(id)
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
            ErrorCode::Damaged,
            format!("the plan of {id} can't be read"),
            "Start a new run with the command.",
        )
    })?;
    let plan = Arc::new(plan);
    cache.insert(id, run.created_at, &plan, bytes);
    Ok(Some(StoredRun { run, events, plan }))
}

/// Returns the id of the run to resume. Without a number it is the newest run of that chain; an
/// unknown number is an error, never another run.
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
        ErrorCode::InvalidChainId,
        format!(
            "{:?} is not a run id; run ids look like chain-plan#4",
            truncate_chars(given, 80)
        ),
        "Copy the chain_id that was shown with the step.",
    )
}

fn unknown_run(given: &str) -> ToolError {
    engine_error(
        ErrorCode::RunNotFound,
        format!("there is no run {:?}", truncate_chars(given, 80)),
        "Check the number; system_control {\"action\":\"session\"} lists the runs. To start a new \
         run, send the command.",
    )
}
