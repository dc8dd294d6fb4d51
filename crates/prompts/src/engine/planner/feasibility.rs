//! Plans that could never be carried out are refused before the work.

use deliberate_toolkit::ToolError;

use super::{Planner, StepScope};
use crate::{
    chain::condition_names,
    engine::errors::engine_error,
    model::{ChainStep, Prompt},
};

impl Planner<'_, '_> {
    /// A condition that nobody could ever decide is told before the work.
    pub(super) fn check_conditions(&self) -> Result<(), ToolError> {
        let known = condition_names(&self.plan);
        for question in &self.plan.questions {
            let renderer = &self.context.engine.renderer;
            let read = renderer.parse_condition(&question.text, &known);
            read.map_err(|error| engine_error("BadCondition", error.to_string(), None))?;
        }
        Ok(())
    }

    /// So is an argument that nothing will ever give. The first steps were looked at before.
    pub(super) fn check_required(&self) -> Result<(), ToolError> {
        for node in &self.plan.nodes {
            let Some(prompt) = node.prompt().and_then(|id| self.plan.prompts.get(id)) else {
                continue;
            };
            let given = |name: &String| {
                let earlier = self.plan.nodes.iter().filter(|it| it.stage < node.stage);
                node.arguments.contains_key(name)
                    || node.takes.as_ref().is_some_and(|it| it.name == *name)
                    || node.input.iter().any(|it| it.contains_key(name))
                    || earlier.flat_map(|it| it.output.keys()).any(|it| it == name)
                    || name.starts_with("previous_step_")
            };
            let declared = prompt.arguments.iter();
            let mut needed = declared.filter(|it| it.required && it.default_value.is_none());
            if let Some(missing) = needed.find(|it| !given(&it.name)) {
                let (step, missing) = (&node.name, &missing.name);
                return Err(engine_error(
                    "InvalidArguments",
                    format!("step {step:?} needs `{missing}`, which nothing gives it"),
                    "Give it in the command, or map it with inputMapping.",
                ));
            }
        }
        Ok(())
    }

    pub(super) fn check_nesting(
        &self,
        prompt: &Prompt,
        place: &StepScope<'_>,
    ) -> Result<(), ToolError> {
        if place.is_parallel {
            let id = &prompt.id;
            return Err(engine_error(
                "InvalidChain",
                format!("chain {id:?} can't be one of several that are done side by side"),
                "Put it in a stage of its own, with -->.",
            ));
        }
        let deepest = self.context.engine.options.limits.depth;
        if place.chain_ids.contains(&prompt.id.as_str()) || place.chain_ids.len() >= deepest {
            let way = place.chain_ids.join(" → ");
            return Err(engine_error(
                "InvalidChain",
                format!(
                    "the chain goes in a circle or too deep: {way} → {}",
                    prompt.id
                ),
                "Let no chain contain itself.",
            ));
        }
        Ok(())
    }

    pub(super) fn check_tool(&self, name: &str, step: &ChainStep) -> Result<(), ToolError> {
        if self.context.call.can_run(name) {
            return Ok(());
        }
        let step = &step.name;
        Err(engine_error(
            "UnknownTool",
            format!(
                "step {step:?} wants tool {name:?}, which there is not, or which you may not use"
            ),
            "Mend the chain, or ask whoever runs the server.",
        ))
    }
}
