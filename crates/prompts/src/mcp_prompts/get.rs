//! Renders a prompt that a person picked in a client.

use std::{collections::BTreeMap, sync::Arc};

use deliberate_command_language::quote;
use deliberate_core::PromptFence;
use deliberate_toolkit::{ArgumentIssue, ErrorCode, RenderedPrompt, ResourceContext, ToolError};
use serde_json::{Map, Value, json};

use super::TOOL;
use crate::{
    arguments,
    engine::{Engine, template_error},
    library::PromptLibrary,
    model::Prompt,
};

pub(super) async fn get_prompt(
    engine: &Engine,
    library: &Arc<PromptLibrary>,
    prompt: &Arc<Prompt>,
    given: &Map<String, Value>,
    context: ResourceContext<'_>,
) -> Result<RenderedPrompt, ToolError> {
    // Clients send fields that a person left empty as empty strings.
    let mut given = given.clone();
    given.retain(|_, value| !value.is_null() && *value != "");
    let text = if prompt.is_chain() {
        let fence = context.prompt_fence(&[]);
        render_chain_template(engine, library, prompt, &given, fence).await?
    } else if prompt.creates.is_some() || !prompt.tools.is_empty() {
        // Getting a prompt must change nothing, so a chain or script is only referred to.
        String::new()
    } else {
        render_with_engine(prompt, &given, context).await?
    };
    let text = if text.trim().is_empty() {
        check_arguments(engine, prompt, given.clone(), |_| true).await?;
        call_hint(prompt, &given)
    } else {
        text
    };
    Ok(RenderedPrompt::text(prompt.description.clone(), text))
}

/// Renders the prompt with the engine, without added guidance.
async fn render_with_engine(
    prompt: &Prompt,
    given: &Map<String, Value>,
    context: ResourceContext<'_>,
) -> Result<String, ToolError> {
    let command = format!("%clean >>{}", prompt.id);
    let arguments = json!({ "command": command, "options": given });
    let reply = context
        .call(TOOL, arguments)
        .await
        .map_err(map_argument_error)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut said = reply.get("said").map(text).unwrap_or_default();
    // Notes for the caller of a tool are not part of the prompt.
    let notes = reply.get("notes").and_then(Value::as_array);
    for note in notes.into_iter().flatten().rev() {
        let ending = format!("\n\n(Note: {})", text(note));
        if let Some(rest) = said.strip_suffix(&ending) {
            said.truncate(rest.len());
        }
    }
    Ok(said)
}

/// Renders a chain's own template, if it has one.
async fn render_chain_template(
    engine: &Engine,
    library: &Arc<PromptLibrary>,
    prompt: &Arc<Prompt>,
    given: &Map<String, Value>,
    fence: PromptFence,
) -> Result<String, ToolError> {
    if prompt.template.is_none() {
        return Ok(String::new());
    }
    let values = check_arguments(engine, prompt, given.clone(), |_| true).await?;
    let (library, of) = (library.clone(), prompt.clone());
    let rendered = engine
        .render(
            move |renderer| {
                renderer.render_prompt(&library, &of, &values, &BTreeMap::new(), &fence)
            },
            template_error,
        )
        .await?;
    let parts = rendered.system.into_iter().chain([rendered.user]);
    let parts: Vec<String> = parts.filter(|part| !part.trim().is_empty()).collect();
    Ok(parts.join("\n\n"))
}

/// Returns the arguments if they are valid for the prompt.
async fn check_arguments(
    engine: &Engine,
    prompt: &Prompt,
    given: Map<String, Value>,
    extra: impl Fn(&str) -> bool + Send + 'static,
) -> Result<BTreeMap<String, Value>, ToolError> {
    let most = engine.options.limits.command_bytes;
    let declared = prompt.arguments.clone();
    let checked = arguments::check_async(declared, given, Map::new(), extra, most).await?;
    checked.map(|it| it.values).map_err(|problems| {
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let id = &prompt.id;
        invalid_arguments(format!("prompt {id:?}: {}", told.join(" ")))
    })
}

/// Maps an argument error of the engine to the error that MCP clients expect.
fn map_argument_error(error: ToolError) -> ToolError {
    if error.code() == ErrorCode::InvalidArguments.as_str() {
        invalid_arguments(error.to_string())
    } else {
        error
    }
}

fn invalid_arguments(sentence: String) -> ToolError {
    ToolError::Invalid(vec![ArgumentIssue::new("arguments", sentence)])
}

/// Returns an instruction for the model to call the tool that runs the prompt.
fn call_hint(prompt: &Prompt, given: &Map<String, Value>) -> String {
    let written = given.iter().map(|(name, value)| {
        let value = match value {
            Value::String(text) => quote(text),
            other => quote(&other.to_string()),
        };
        format!(" {name}:{value}")
    });
    let written: String = written.collect();
    let command = format!(">>{}{written}", prompt.id);
    let what = match prompt.steps.len() {
        0 => "prompt".to_owned(),
        1 => "chain of 1 step".to_owned(),
        steps => format!("chain of {steps} steps"),
    };
    let about = prompt.description.trim();
    let about = if about.is_empty() {
        String::new()
    } else {
        format!(": {about}")
    };
    let call = json!({ "command": command });
    format!(
        "Use the {what} `{}`{about}\n\nCall {TOOL} with {call}, do what its answer says, and send \
         each result back with the chain_id it names, until it says that the run is done.",
        prompt.id
    )
}
