//! Makes the plan of a new command.

use std::sync::Arc;

use deliberate_toolkit::ToolError;
use futures::future::BoxFuture;

use super::Stage;
use crate::{
    chain::State,
    engine::{Context, Flow, planner::Planner},
};

pub(super) struct MakePlan;

impl Stage for MakePlan {
    fn name(&self) -> &'static str {
        "plan"
    }

    fn run<'a>(&'a self, context: &'a mut Context<'_>) -> BoxFuture<'a, Result<Flow, ToolError>> {
        Box::pin(async move {
            if context.begun_before {
                return Ok(Flow::Next);
            }
            let stages = std::mem::take(&mut context.stages);
            let (plan, notes) = Planner::new(context).plan(&stages)?;
            for note in notes {
                context.note(note);
            }
            context.state = State::of(&plan);
            context.plan = Arc::new(plan);
            Ok(Flow::Next)
        })
    }
}
