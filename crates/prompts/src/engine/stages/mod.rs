//! The stages, in their order. To add one: a file, and a line in [`STAGES`].

mod advance;
mod begin;
mod bind;
mod capture;
mod create;
mod finish;
mod judge;
mod load;
mod normalize;
mod parse;
mod plan;
mod render;
mod resolve;
mod settings;
mod tell;
mod think;
mod words;

use deliberate_toolkit::ToolError;
use futures::future::BoxFuture;

use super::{EngineContext, StageOutcome};

/// One stage of a call.
pub(crate) trait EngineStage: Send + Sync {
    /// Its name, for traces.
    fn name(&self) -> &'static str;

    /// Does its job.
    fn run<'a>(
        &'a self,
        context: &'a mut EngineContext<'_>,
    ) -> BoxFuture<'a, Result<StageOutcome, ToolError>>;
}

/// Those that find out what a command would do.
pub(super) const OUTLINE_STAGES: &[&dyn EngineStage] = &[
    &parse::ParseCommand,
    &resolve::ResolveNames,
    &plan::MakePlan,
];

/// All of them, in the order in which a call goes through them.
pub(super) const STAGES: &[&dyn EngineStage] = &[
    &normalize::NormalizeRequest,
    &words::BuiltinCommands,
    &settings::ReadSettings,
    &load::LoadRun,
    &parse::ParseCommand,
    &resolve::ResolveNames,
    &bind::BindArguments,
    &judge::PreviewGuidance,
    &create::CreateResource,
    &plan::MakePlan,
    &begin::BeginRun,
    &capture::AcceptInput,
    &advance::AdvanceRun,
    &finish::SummarizeRun,
    &render::RenderSteps,
    &think::AnswerWithModel,
    &tell::ComposeReply,
];
