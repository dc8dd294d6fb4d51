//! Parses the command.

use deliberate_command_language::{CommandLimits, parse};
use deliberate_toolkit::{ErrorCode, ToolError};
use futures::future::BoxFuture;

use crate::engine::{EngineContext, StageOutcome, errors::command_error, stages::EngineStage};

pub(crate) struct ParseCommand;

impl EngineStage for ParseCommand {
    fn name(&self) -> &'static str {
        "parse"
    }

    fn run<'a>(
        &'a self,
        context: &'a mut EngineContext<'_>,
    ) -> BoxFuture<'a, Result<StageOutcome, ToolError>> {
        Box::pin(async move {
            if context.resumed {
                return Ok(StageOutcome::Next);
            }
            let text = context.request.command.clone().unwrap_or_default();
            let limits = CommandLimits {
                repetitions: context.engine.options.limits.repetitions,
                steps: context.engine.options.limits.steps,
            };
            let parsed = parse(&text, &limits);
            if !parsed.is_valid() {
                let found = &parsed.diagnostics;
                return Err(command_error(
                    ErrorCode::InvalidCommand,
                    &parsed.source,
                    found,
                ));
            }
            let stages = parsed.command.expand_repeats(&limits).map_err(|found| {
                command_error(ErrorCode::InvalidCommand, &parsed.source, &[*found])
            })?;
            let mut command = parsed.command;
            command.stages = stages;
            context.source = parsed.source;
            context.command = Some(command);
            Ok(StageOutcome::Next)
        })
    }
}
