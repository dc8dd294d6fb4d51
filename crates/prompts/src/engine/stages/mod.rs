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

use super::{Context, Flow};

/// One stage of a call.
pub(crate) trait Stage: Send + Sync {
    /// Its name, for traces.
    fn name(&self) -> &'static str;

    /// Does its job.
    fn run<'a>(&'a self, context: &'a mut Context<'_>) -> BoxFuture<'a, Result<Flow, ToolError>>;
}

/// Those that find out what a command would do.
pub(super) const OUTLINE: &[&dyn Stage] = &[&parse::Parse, &resolve::Resolve, &plan::MakePlan];

/// All of them, in the order in which a call goes through them.
pub(super) const STAGES: &[&dyn Stage] = &[
    &normalize::Normalize,
    &words::Words,
    &settings::ReadSettings,
    &load::Load,
    &parse::Parse,
    &resolve::Resolve,
    &bind::Bind,
    &judge::Judge,
    &create::Create,
    &plan::MakePlan,
    &begin::Begin,
    &capture::Capture,
    &advance::Advance,
    &finish::Finish,
    &render::Render,
    &think::Think,
    &tell::Tell,
];
