//! Makes the plan of a new command.

use std::sync::Arc;

use deliberate_toolkit::ToolError;
use futures::future::BoxFuture;

use crate::{
    chain::ChainProgress,
    engine::{EngineContext, StageOutcome, planner::Planner, stages::EngineStage},
};

pub(crate) struct MakePlan;

impl EngineStage for MakePlan {
    fn name(&self) -> &'static str {
        "plan"
    }

    fn run<'a>(
        &'a self,
        context: &'a mut EngineContext<'_>,
    ) -> BoxFuture<'a, Result<StageOutcome, ToolError>> {
        Box::pin(async move {
            if context.resumed {
                return Ok(StageOutcome::Next);
            }
            let stages = std::mem::take(&mut context.stages);
            let (plan, notes) = Planner::new(context).plan(&stages).await?;
            for note in notes {
                context.add_note(note);
            }
            context.state = ChainProgress::new(&plan);
            context.plan = Arc::new(plan);
            Ok(StageOutcome::Next)
        })
    }
}
