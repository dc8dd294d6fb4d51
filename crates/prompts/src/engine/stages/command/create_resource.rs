//! Prompts that create resources: with all parts given, the resource is created; with fewer, the
//! prompt guides the caller.

use deliberate_toolkit::ToolError;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::{
    engine::{EngineContext, StageOutcome, stages::EngineStage},
    model::LibraryItemKind,
};

pub(crate) struct CreateResource;

impl EngineStage for CreateResource {
    fn name(&self) -> &'static str {
        "create"
    }

    fn run<'a>(
        &'a self,
        context: &'a mut EngineContext<'_>,
    ) -> BoxFuture<'a, Result<StageOutcome, ToolError>> {
        Box::pin(async move {
            let [stage] = context.stages.as_mut_slice() else {
                return Ok(StageOutcome::Next);
            };
            let [step] = stage.then.as_mut_slice() else {
                return Ok(StageOutcome::Next);
            };
            let Some(kind) = step.prompt.creates else {
                return Ok(StageOutcome::Next);
            };
            let given: Map<String, Value> = step
                .arguments
                .iter()
                .filter(|(_, value)| !value.is_null() && **value != "")
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            let missing: Vec<&str> = required_fields(kind)
                .iter()
                .copied()
                .filter(|part| !given.contains_key(*part))
                .filter(|part| !has_substitute(part, &given))
                .collect();
            if !missing.is_empty() {
                let missing = json!(missing);
                step.arguments.insert("missing".to_owned(), missing);
                step.arguments
                    .insert("given".to_owned(), Value::Object(given));
                return Ok(StageOutcome::Next);
            }
            let mut arguments = given;
            arguments.insert("resource_type".to_owned(), json!(kind.as_str()));
            arguments.insert("action".to_owned(), json!("create"));
            let outcome = context
                .call
                .run_tool("create", "resource_manager", Value::Object(arguments))
                .await?;
            let said = outcome.output.get("said").and_then(Value::as_str);
            said.unwrap_or("It was created.")
                .clone_into(&mut context.reply.said);
            context.changes.extend(outcome.changes);
            Ok(StageOutcome::Done)
        })
    }
}

/// Returns the fields that a resource requires.
const fn required_fields(kind: LibraryItemKind) -> &'static [&'static str] {
    match kind {
        LibraryItemKind::Gate => &["id", "name", "description", "guidance"],
        LibraryItemKind::Methodology => &[
            "id",
            "name",
            "system_prompt_guidance",
            "phases",
            "methodology_gates",
        ],
        LibraryItemKind::Prompt | LibraryItemKind::Style | LibraryItemKind::Script => {
            &["id", "name", "description", "user_message_template"]
        }
    }
}

/// Returns whether another field replaces a required one: a chain needs no template of its own.
fn has_substitute(part: &str, given: &Map<String, Value>) -> bool {
    part == "user_message_template"
        && (given.contains_key("chain_steps") || given.contains_key("system_message"))
}
