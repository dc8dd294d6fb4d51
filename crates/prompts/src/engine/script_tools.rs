//! Runs the script tools of a prompt that are due, if the operator allows them. Their output
//! becomes a template value (`tool_<id>`); a script that is configured for it may have a resource
//! created or updated.

use deliberate_core::Change;
use deliberate_toolkit::ToolError;
use serde_json::{Map, Value, json};

use super::EngineContext;
use crate::{
    chain::{PlannedStep, argument_values},
    model::{Prompt, ScriptTool, ScriptTrigger},
};

/// The results of the script tools of a step.
#[derive(Default)]
pub(super) struct ScriptResults {
    /// The outputs, by their template names.
    pub(super) values: Vec<(String, Value)>,
    /// The changes to commit.
    pub(super) changes: Vec<Change>,
    /// Notes for the caller.
    pub(super) notes: Vec<String>,
}

/// Runs the script tools of a step that are due.
pub(super) async fn run_scripts(
    context: &EngineContext<'_>,
    node: &PlannedStep,
    prompt: &Prompt,
) -> Result<ScriptResults, ToolError> {
    let mut scripted = ScriptResults::default();
    let mut given = argument_values(&context.plan, node);
    let wanted = given.remove("tool");
    for id in &prompt.tools {
        let Some(tool) = context.library.script(&prompt.id, id) else {
            let note = format!("The prompt names a script tool {id:?}, which does not exist.");
            scripted.notes.push(note);
            continue;
        };
        if !tool.enabled || !is_due(tool, &given, wanted.as_ref()) {
            continue;
        }
        let input = Value::Object(given.clone());
        match context
            .engine
            .runner
            .run_script(tool, &input, &prompt.id)
            .await
        {
            Ok(output) => {
                auto_execute(context, tool, &output.value, &mut scripted).await;
                scripted.values.push((format!("tool_{id}"), output.value));
            }
            Err(error) => {
                let note = format!("Script tool {id:?} was not used: {error}.");
                scripted.notes.push(note);
            }
        }
    }
    Ok(scripted)
}

/// Returns whether a script is due.
fn is_due(tool: &ScriptTool, arguments: &Map<String, Value>, wanted: Option<&Value>) -> bool {
    let asked = wanted.and_then(Value::as_str) == Some(tool.id.as_str());
    let given = |name: &str| {
        let value = arguments.get(name);
        value.is_some_and(|value| !value.is_null() && value != "")
    };
    match tool.execution.trigger {
        ScriptTrigger::Always => true,
        ScriptTrigger::Explicit => asked,
        ScriptTrigger::Never => false,
        ScriptTrigger::SchemaMatch => {
            let schema = tool.schema.as_ref();
            let required = schema
                .and_then(|schema| schema.get("required"))
                .and_then(Value::as_array);
            let mut names = required.into_iter().flatten().filter_map(Value::as_str);
            asked
                || if tool.execution.strict {
                    required.is_some_and(|it| !it.is_empty()) && names.all(given)
                } else {
                    names.any(given)
                }
        }
    }
}

/// Creates or updates the resource that a script with valid input asks for. Only `resource_manager`
/// does this, and only for a caller who may use that tool.
async fn auto_execute(
    context: &EngineContext<'_>,
    tool: &ScriptTool,
    output: &Value,
    scripted: &mut ScriptResults,
) {
    let valid = output.get("valid") == Some(&Value::Bool(true));
    let Some(wanted) = output.get("auto_execute").filter(|_| valid) else {
        return;
    };
    let id = &tool.id;
    let named = wanted.get("tool").and_then(Value::as_str);
    let arguments = wanted.get("params").cloned().unwrap_or_default();
    let action = arguments.get("action").and_then(Value::as_str);
    if named != Some("resource_manager") || !matches!(action, Some("create" | "update")) {
        let note = format!(
            "Script tool {id:?} requested an action that scripts may not request: only create and \
             update of resource_manager are allowed."
        );
        scripted.notes.push(note);
        return;
    }
    let key = format!("auto-{id}");
    let ran = context.call.run_tool(&key, "resource_manager", arguments);
    let told = match ran.await {
        Ok(outcome) => {
            let text = outcome.output.get("said").cloned().unwrap_or_default();
            let said = text.as_str().unwrap_or("it is done");
            scripted.notes.push(format!("Script tool {id:?}: {said}"));
            scripted.changes.extend(outcome.changes);
            json!({ "isError": false, "text": text, "content": outcome.output })
        }
        Err(error) => {
            scripted.notes.push(format!("Script tool {id:?}: {error}."));
            json!({ "isError": true, "text": error.to_string() })
        }
    };
    scripted.values.push((format!("tool_{id}_result"), told));
}
