//! Where a step stands when guidance is decided: the levels that may speak, and the moment they
//! are asked. Used by the stage that renders and by whoever explains what it does, so that both
//! say the same.

use deliberate_core::Timestamp;
use deliberate_toolkit::{Call, ToolError};

use super::{Context, Engine, Input, Settings, stages};
use crate::{
    chain::{Does, Node, Plan, State, StepState},
    gate::Decision,
    inject::{GateStatus, LevelSources, Levels, Modifier, Moment, Override, Previous, StepType},
    library::Library,
};

/// A step of a run, and what its guidance is decided by.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) node: &'a Node,
    pub(crate) plan: &'a Plan,
    pub(crate) state: &'a State,
    pub(crate) library: &'a Library,
    pub(crate) overrides: &'a [Override],
    /// The id of the run; empty if there is none.
    pub(crate) run: &'a str,
    pub(crate) now: Timestamp,
}

impl<'a> At<'a> {
    /// What the levels have.
    pub(crate) fn levels(&self) -> Levels<'a> {
        let node = self.node;
        let category = self.library.categories.get(&node.category);
        Levels::new(LevelSources {
            modifier: node.modifier.as_deref().and_then(modifier),
            overrides: self.overrides,
            step: Some(&node.rules),
            chain: Some(&node.chain_rules),
            chain_id: &node.chain,
            category: category.map(|it| &it.injection),
            category_id: &node.category,
            config: Some(&self.library.injection),
        })
    }

    /// When and where they are asked.
    pub(crate) fn moment(&self) -> Moment<'a> {
        let node = self.node;
        let held = self.state.step(node.number).is_some_and(StepState::is_held);
        // What a decision ruled out is not what came before.
        let before = self.plan.nodes.iter().filter(|it| it.stage < node.stage);
        let previous = before
            .filter_map(|it| self.state.step(it.number))
            .rfind(|step| !step.ruled_out);
        Moment {
            step: node.number,
            steps: self.plan.len(),
            step_name: &node.name,
            // What a caller calls a session of chains is a run.
            session: self.run,
            chain: &node.chain,
            run: self.run,
            in_review: held,
            gate_status: if held {
                Some(GateStatus::Pending)
            } else {
                previous.and_then(gate_status)
            },
            step_type: match node.does {
                Does::Prompt(_) => StepType::Prompt,
                Does::Tool { .. } => StepType::Tool,
            },
            previous: previous.map_or(Previous::None, |step| {
                if step.skipped || step.waved_through {
                    Previous::Failure
                } else {
                    Previous::Success
                }
            }),
            now: self.now,
        }
    }
}

/// How the review of a step came out.
fn gate_status(step: &StepState) -> Option<GateStatus> {
    let held = step.review.as_ref()?;
    let passed = !step.waved_through && matches!(held.review.decision, Decision::Pass);
    Some(if passed {
        GateStatus::Pass
    } else {
        GateStatus::Fail
    })
}

fn modifier(name: &str) -> Option<Modifier> {
    Some(match name {
        "clean" => Modifier::Clean,
        "lean" => Modifier::Lean,
        "framework" => Modifier::Framework,
        "judge" => Modifier::Judge,
        _ => return None,
    })
}

impl Engine {
    /// What a command would do, without doing any of it. Its arguments are not looked at.
    pub(crate) async fn outline<'c>(
        &'c self,
        call: &'c Call,
        command: String,
    ) -> Result<Context<'c>, ToolError> {
        let library = self.shelf.library().await;
        let request = Input {
            command: Some(command),
            ..Input::default()
        };
        let mut context = Context::new(self, call, library, request);
        context.outlined = true;
        context.settings = Settings::read(call, &self.options).await?;
        for stage in stages::OUTLINE {
            stage.run(&mut context).await?;
        }
        Ok(context)
    }
}
