//! Rejects plans that could never be completed, before any work is done.

use deliberate_toolkit::{ErrorCode, ToolError, is_abandoned};

use super::{Planner, StepScope};
use crate::{
    chain::condition_names,
    engine::errors::engine_error,
    model::{ChainStep, Prompt},
    template::{ExpressionError, TemplateRenderer},
};

impl Planner<'_, '_> {
    /// Rejects a condition that can never be decided.
    pub(super) async fn check_conditions(&self) -> Result<(), ToolError> {
        let questions = &self.plan.questions;
        if questions.is_empty() {
            return Ok(());
        }
        let texts: Vec<String> = questions.iter().map(|it| it.text.clone()).collect();
        let known = condition_names(&self.plan);
        let parse = move |renderer: &TemplateRenderer| {
            for text in texts.iter().take_while(|_| !is_abandoned()) {
                renderer.parse_condition(text, &known)?;
            }
            Ok(())
        };
        let bad_condition = |error: &ExpressionError| {
            engine_error(ErrorCode::BadCondition, error.to_string(), None)
        };
        self.context.engine.render(parse, bad_condition).await
    }

    /// Rejects an argument that nothing will ever provide. The first steps were checked before.
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
                    ErrorCode::InvalidArguments,
                    format!("step {step:?} needs `{missing}`, which nothing provides"),
                    "Give it in the command, or map it with inputMapping.",
                ));
            }
        }
        Ok(())
    }

    pub(super) fn check_nesting(
        &self,
        prompt: &Prompt,
        scope: &StepScope<'_>,
    ) -> Result<(), ToolError> {
        if scope.is_parallel {
            let id = &prompt.id;
            return Err(engine_error(
                ErrorCode::InvalidChain,
                format!("chain {id:?} can't run in parallel with other steps"),
                "Put it in a stage of its own, with -->.",
            ));
        }
        let deepest = self.context.engine.options.limits.depth;
        if scope.chain_ids.contains(&prompt.id.as_str()) || scope.chain_ids.len() >= deepest {
            let way = scope.chain_ids.join(" → ");
            return Err(engine_error(
                ErrorCode::InvalidChain,
                format!(
                    "the chain contains itself or is nested too deeply: {way} → {}",
                    prompt.id
                ),
                "Remove the cycle, or reduce the nesting.",
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
            ErrorCode::UnknownTool,
            format!(
                "step {step:?} uses tool {name:?}, which does not exist or which you may not use"
            ),
            "Correct the chain, or ask the operator of the server.",
        ))
    }
}
