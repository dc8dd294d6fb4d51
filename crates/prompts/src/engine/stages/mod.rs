//! The stages, in their order. To add one: a file, and a line in [`STAGES`].

mod accept_input;
mod advance_run;
mod answer_with_model;
mod begin_run;
mod bind_arguments;
mod builtin_commands;
mod compose_reply;
mod create_resource;
mod load_run;
mod make_plan;
mod normalize_request;
mod parse_command;
mod preview_guidance;
mod read_settings;
mod render_steps;
mod resolve_names;
mod summarize_run;

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
    &parse_command::ParseCommand,
    &resolve_names::ResolveNames,
    &make_plan::MakePlan,
];

/// All of them, in the order in which a call goes through them.
pub(super) const STAGES: &[&dyn EngineStage] = &[
    &normalize_request::NormalizeRequest,
    &builtin_commands::BuiltinCommands,
    &read_settings::ReadSettings,
    &load_run::LoadRun,
    &parse_command::ParseCommand,
    &resolve_names::ResolveNames,
    &bind_arguments::BindArguments,
    &preview_guidance::PreviewGuidance,
    &create_resource::CreateResource,
    &make_plan::MakePlan,
    &begin_run::BeginRun,
    &accept_input::AcceptInput,
    &advance_run::AdvanceRun,
    &summarize_run::SummarizeRun,
    &render_steps::RenderSteps,
    &answer_with_model::AnswerWithModel,
    &compose_reply::ComposeReply,
];
