//! The inputs of an injection decision for a step: the levels and the context. The stage that
//! renders and the operation that explains both use it, so that they agree.

use deliberate_core::Timestamp;
use deliberate_toolkit::{ToolContext, ToolError};

use super::{Engine, EngineContext, Input, RuntimeSettings, stages};
use crate::{
    chain::{ChainPlan, ChainProgress, PlannedStep, StepAction, StepProgress},
    gate::GateDecision,
    injection::{
        GateStatus, InjectionContext, InjectionLevels, InjectionModifier, InjectionOverride,
        InjectionSources, PreviousStepResult, StepType,
    },
    library::PromptLibrary,
};

/// A step of a run with everything that its injection decisions depend on.
#[derive(Clone, Copy)]
pub(crate) struct InjectionInputs<'a> {
    pub(crate) step: &'a PlannedStep,
    pub(crate) plan: &'a ChainPlan,
    pub(crate) state: &'a ChainProgress,
    pub(crate) library: &'a PromptLibrary,
    pub(crate) overrides: &'a [InjectionOverride],
    /// The id of the run; empty if there is none.
    pub(crate) run_id: &'a str,
    pub(crate) now: Timestamp,
}

impl<'a> InjectionInputs<'a> {
    /// Returns the injection levels of the step.
    pub(crate) fn levels(&self) -> InjectionLevels<'a> {
        let node = self.step;
        let category = self.library.categories.get(&node.category);
        InjectionLevels::new(InjectionSources {
            modifier: node.modifier.as_deref().and_then(parse_modifier),
            overrides: self.overrides,
            step: Some(&node.rules),
            chain: Some(&node.chain_rules),
            chain_id: &node.chain,
            category: category.map(|it| &it.injection),
            category_id: &node.category,
            config: Some(&self.library.injection),
        })
    }

    /// Returns the injection context of the step.
    pub(crate) fn context(&self) -> InjectionContext<'a> {
        let node = self.step;
        let held = self
            .state
            .step(node.number)
            .is_some_and(StepProgress::is_held);
        // Steps that a decision ruled out do not count as the previous step.
        let before = self.plan.nodes.iter().filter(|it| it.stage < node.stage);
        let previous = before
            .filter_map(|it| self.state.step(it.number))
            .rfind(|step| !step.ruled_out);
        InjectionContext {
            step: node.number,
            total_steps: self.plan.len(),
            step_name: &node.name,
            // For a caller, a session of a chain is a run.
            session: self.run_id,
            chain: &node.chain,
            run: self.run_id,
            in_review: held,
            gate_status: if held {
                Some(GateStatus::Pending)
            } else {
                previous.and_then(gate_status)
            },
            step_type: match node.does {
                StepAction::Prompt(_) => StepType::Prompt,
                StepAction::Tool { .. } => StepType::Tool,
            },
            previous_result: previous.map_or(PreviousStepResult::None, |step| {
                if step.skipped || step.accepted_by_override {
                    PreviousStepResult::Failure
                } else {
                    PreviousStepResult::Success
                }
            }),
            now: self.now,
        }
    }
}

/// Returns the gate status of a step.
fn gate_status(step: &StepProgress) -> Option<GateStatus> {
    let review = step.review.as_ref()?;
    let passed = !step.accepted_by_override && matches!(review.review.decision, GateDecision::Pass);
    Some(if passed {
        GateStatus::Pass
    } else {
        GateStatus::Fail
    })
}

fn parse_modifier(name: &str) -> Option<InjectionModifier> {
    Some(match name {
        "clean" => InjectionModifier::Clean,
        "lean" => InjectionModifier::Lean,
        "framework" => InjectionModifier::Framework,
        "judge" => InjectionModifier::Judge,
        _ => return None,
    })
}

impl Engine {
    /// Returns the plan of a command without running it. Arguments are not checked.
    pub(crate) async fn outline<'c>(
        &'c self,
        call: &'c ToolContext,
        command: String,
    ) -> Result<EngineContext<'c>, ToolError> {
        let library = self.live_library.library().await;
        let request = Input {
            command: Some(command),
            ..Input::default()
        };
        let mut context = EngineContext::new(self, call, library, request);
        context.outline_only = true;
        context.settings = RuntimeSettings::read(call, &self.options).await?;
        for stage in stages::OUTLINE_STAGES {
            stage.run(&mut context).await?;
        }
        Ok(context)
    }
}
