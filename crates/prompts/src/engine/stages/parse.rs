//! Reads the command.

use deliberate_language::{Limits, parse};
use deliberate_toolkit::ToolError;
use futures::future::BoxFuture;

use super::Stage;
use crate::engine::{Context, Flow, failure::in_command};

pub(super) struct Parse;

impl Stage for Parse {
    fn name(&self) -> &'static str {
        "parse"
    }

    fn run<'a>(&'a self, context: &'a mut Context<'_>) -> BoxFuture<'a, Result<Flow, ToolError>> {
        Box::pin(async move {
            if context.begun_before {
                return Ok(Flow::Next);
            }
            let text = context.request.command.clone().unwrap_or_default();
            let limits = Limits {
                repetitions: context.engine.options.limits.repetitions,
                steps: context.engine.options.limits.steps,
            };
            let parsed = parse(&text, &limits);
            if !parsed.is_sound() {
                let found = &parsed.diagnostics;
                return Err(in_command("InvalidCommand", &parsed.source, found));
            }
            let stages = parsed
                .command
                .expanded(&limits)
                .map_err(|found| in_command("InvalidCommand", &parsed.source, &[*found]))?;
            let mut command = parsed.command;
            command.stages = stages;
            context.source = parsed.source;
            context.command = Some(command);
            Ok(Flow::Next)
        })
    }
}
