//! Stages that turn a command into a plan: parsing, name resolution, arguments, guidance, planning.

mod bind_arguments;
mod create_resource;
mod make_plan;
mod parse_command;
mod preview_guidance;
mod resolve_names;
mod used_names;

pub(super) use bind_arguments::BindArguments;
pub(super) use create_resource::CreateResource;
pub(super) use make_plan::MakePlan;
pub(super) use parse_command::ParseCommand;
pub(super) use preview_guidance::PreviewGuidance;
pub(super) use resolve_names::ResolveNames;
