//! Reads the run-time settings. A command that begins with `%clean` needs none of them.

use deliberate_toolkit::ToolError;
use futures::future::BoxFuture;

use crate::engine::{EngineContext, RuntimeSettings, StageOutcome, stages::EngineStage};

pub(crate) struct ReadSettings;

impl EngineStage for ReadSettings {
    fn name(&self) -> &'static str {
        "settings"
    }

    fn run<'a>(
        &'a self,
        context: &'a mut EngineContext<'_>,
    ) -> BoxFuture<'a, Result<StageOutcome, ToolError>> {
        Box::pin(async move {
            let command = context.request.command.as_deref().unwrap_or_default();
            let clean = command.trim_start().starts_with("%clean");
            if context.request.chain_id.is_some() || !clean {
                context.settings =
                    RuntimeSettings::read(context.call, &context.engine.options).await?;
            }
            Ok(StageOutcome::Next)
        })
    }
}
