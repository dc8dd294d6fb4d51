//! Stages that render the open steps, let the server's model answer them, and compose the reply.

mod answer_with_model;
mod compose_reply;
mod render_steps;

pub(super) use answer_with_model::AnswerWithModel;
pub(super) use compose_reply::ComposeReply;
pub(super) use compose_reply::add_notes;
pub(super) use render_steps::RenderSteps;
