//! The stages in their order. A new stage is one file in the folder of its topic and
//! one line in [`STAGES`].

mod command;
mod reply;
mod request;
mod run;

use deliberate_toolkit::ToolError;
use futures::future::BoxFuture;

use super::{EngineContext, StageOutcome};

/// One stage of a call.
pub(crate) trait EngineStage: Send + Sync {
    /// Returns the name for traces.
    fn name(&self) -> &'static str;

    fn run<'a>(
        &'a self,
        context: &'a mut EngineContext<'_>,
    ) -> BoxFuture<'a, Result<StageOutcome, ToolError>>;
}

/// The stages that make the plan of a command without running it.
pub(super) const OUTLINE_STAGES: &[&dyn EngineStage] = &[
    &command::ParseCommand,
    &command::ResolveNames,
    &command::MakePlan,
];

/// All stages, in the order in which a call passes them.
pub(super) const STAGES: &[&dyn EngineStage] = &[
    &request::NormalizeRequest,
    &request::BuiltinCommands,
    &request::ReadSettings,
    &run::LoadRun,
    &command::ParseCommand,
    &command::ResolveNames,
    &command::BindArguments,
    &command::PreviewGuidance,
    &command::CreateResource,
    &command::MakePlan,
    &run::BeginRun,
    &run::AcceptInput,
    &run::AdvanceRun,
    &run::SummarizeRun,
    &reply::RenderSteps,
    &reply::AnswerWithModel,
    &reply::ComposeReply,
];
