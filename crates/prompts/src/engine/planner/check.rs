//! Plans that could never be carried out are refused before the work.

use deliberate_toolkit::ToolError;

use super::{Place, Planner};
use crate::{
    chain::known_names,
    engine::failure::failure,
    model::{ChainStep, Prompt},
};

impl Planner<'_, '_> {
    /// A condition that nobody could ever decide is told before the work.
    pub(super) fn check_questions(&self) -> Result<(), ToolError> {
        let known = known_names(&self.plan);
        for question in &self.plan.questions {
            let renderer = &self.context.engine.renderer;
            let read = renderer.condition(&question.text, &known);
            read.map_err(|error| failure("BadCondition", error.to_string(), None))?;
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
                return Err(failure(
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
        place: &Place<'_>,
    ) -> Result<(), ToolError> {
        if place.several {
            let id = &prompt.id;
            return Err(failure(
                "InvalidChain",
                format!("chain {id:?} can't be one of several that are done side by side"),
                "Put it in a stage of its own, with -->.",
            ));
        }
        let deepest = self.context.engine.options.limits.depth;
        if place.within.contains(&prompt.id.as_str()) || place.within.len() >= deepest {
            let way = place.within.join(" → ");
            return Err(failure(
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
        Err(failure(
            "UnknownTool",
            format!(
                "step {step:?} wants tool {name:?}, which there is not, or which you may not use"
            ),
            "Mend the chain, or ask whoever runs the server.",
        ))
    }
}
