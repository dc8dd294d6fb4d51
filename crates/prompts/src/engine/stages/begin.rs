//! Begins a run, if the command needs one: a chain does, and whatever has gates.

use deliberate_core::{Change, Run, RunId, RunState, cut_to_chars};
use deliberate_toolkit::ToolError;
use futures::future::BoxFuture;

use super::Stage;
use crate::{
    chain::Does,
    engine::{Context, Flow},
};

/// What a run keeps of its command.
const COMMAND_CHARS: usize = 2_000;

pub(super) struct Begin;

impl Stage for Begin {
    fn name(&self) -> &'static str {
        "begin"
    }

    fn run<'a>(&'a self, context: &'a mut Context<'_>) -> BoxFuture<'a, Result<Flow, ToolError>> {
        Box::pin(async move {
            let nodes = &context.plan.nodes;
            let needed = nodes.len() > 1
                || context.runs_itself()
                || nodes
                    .iter()
                    .any(|node| !node.gates.is_empty() || matches!(node.does, Does::Tool { .. }));
            if context.begun_before || !needed {
                return Ok(Flow::Next);
            }
            let base = base(context);
            let last = context.call.store().last_run_number(&base).await?;
            let number = context.engine.numbers.next(&base, last);
            let now = context.call.now();
            let mut run = Run {
                id: RunId::from(format!("chain-{base}#{number}")),
                base: base.clone(),
                number,
                command: cut_to_chars(&context.source, COMMAND_CHARS),
                plan: serde_json::to_value(context.plan.as_ref()).unwrap_or_default(),
                owner: context.call.owner(),
                state: RunState::Open,
                steps: context.plan.len(),
                at_step: 1,
                events: 0,
                created_at: now,
                updated_at: now,
            };
            context.changes.push(Change::BeginRun(run.clone()));
            let keep = context.engine.options.limits.runs_kept.max(1);
            let days = context.engine.options.limits.run_idle_days;
            let idle_since = now.plus_micros(-i64::from(days) * 86_400_000_000);
            context.changes.push(Change::ForgetRuns {
                base,
                keep,
                idle_since,
            });
            run.plan = serde_json::Value::Null;
            context.run = Some(run);
            Ok(Flow::Next)
        })
    }
}

/// What a run is named after, in letters that its id can have.
fn base(context: &Context<'_>) -> String {
    let plain = |character: char| match character {
        it if it.is_ascii_alphanumeric() || it == '_' => it,
        _ => '-',
    };
    context.plan.base.chars().map(plain).take(80).collect()
}
