//! Begins a run if the command needs one: a chain does, and every prompt with gates.

use deliberate_core::{ChainRun, ChainState, Change, RunId, truncate_chars};
use deliberate_toolkit::ToolError;
use futures::future::BoxFuture;

use crate::{
    chain::StepAction,
    engine::{EngineContext, StageOutcome, stages::EngineStage},
};

/// The most characters of the command that a run stores.
const MAX_COMMAND_CHARS: usize = 2_000;

pub(crate) struct BeginRun;

impl EngineStage for BeginRun {
    fn name(&self) -> &'static str {
        "begin"
    }

    fn run<'a>(
        &'a self,
        context: &'a mut EngineContext<'_>,
    ) -> BoxFuture<'a, Result<StageOutcome, ToolError>> {
        Box::pin(async move {
            let nodes = &context.plan.nodes;
            let needed = nodes.len() > 1
                || context.uses_server_model()
                || nodes.iter().any(|node| {
                    !node.gates.is_empty() || matches!(node.does, StepAction::Tool { .. })
                });
            if context.resumed || !needed {
                return Ok(StageOutcome::Next);
            }
            let base = run_base_name(context);
            let last = context.call.store().last_run_number(&base).await?;
            let number = context.engine.run_numbers.next(&base, last);
            let now = context.call.now();
            let mut run = ChainRun {
                id: RunId::from(format!("chain-{base}#{number}")),
                base: base.clone(),
                number,
                command: truncate_chars(&context.source, MAX_COMMAND_CHARS),
                plan: serde_json::to_value(context.plan.as_ref()).unwrap_or_default(),
                owner: context.call.owner(),
                state: ChainState::Open,
                steps: context.plan.len(),
                at_step: 1,
                events: 0,
                created_at: now,
                updated_at: now,
            };
            context.changes.push(Change::StartRun(run.clone()));
            let keep = context.engine.options.limits.max_runs.max(1);
            let days = context.engine.options.limits.run_idle_days;
            let idle_since = now.plus_micros(-i64::from(days) * 86_400_000_000);
            context.changes.push(Change::PruneRuns {
                base,
                keep,
                idle_since,
            });
            run.plan = serde_json::Value::Null;
            context.run = Some(run);
            Ok(StageOutcome::Next)
        })
    }
}

/// Returns the name that the run id is derived from, in characters that an id may contain.
fn run_base_name(context: &EngineContext<'_>) -> String {
    let plain = |character: char| match character {
        it if it.is_ascii_alphanumeric() || it == '_' => it,
        _ => '-',
    };
    context.plan.base.chars().map(plain).take(80).collect()
}
