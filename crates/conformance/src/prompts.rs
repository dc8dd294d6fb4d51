//! The prompts of the fixtures, and the completion of their arguments.

use rmcp::{
    ErrorData,
    model::{
        CompleteRequestParams, CompleteResult, CompletionInfo, ContentBlock,
        GetPromptRequestParams, GetPromptResponse, GetPromptResult, Prompt, PromptArgument,
        PromptMessage, Reference, ResourceContents, Role,
    },
};
use serde_json::json;

use super::multi_round;
use crate::content::PNG_BASE64;

/// The completions of a prompt's first argument.
const COMPLETION_VALUES: [&str; 4] = ["paris", "park", "party", "test"];

pub(crate) fn all() -> Vec<Prompt> {
    let argument = |name: &str| PromptArgument::new(name).with_required(true);
    let prompt = |name: &str, about: &str, arguments| Prompt::new(name, Some(about), arguments);
    vec![
        prompt("test_simple_prompt", "One text", None),
        prompt(
            "test_prompt_with_arguments",
            "A text made from two arguments",
            Some(vec![argument("arg1"), argument("arg2")]),
        ),
        prompt(
            "test_prompt_with_embedded_resource",
            "A resource and a text",
            Some(vec![argument("resourceUri")]),
        ),
        prompt("test_prompt_with_image", "An image and a text", None),
        prompt(
            "test_input_required_result_prompt",
            "Asks before it answers",
            None,
        ),
    ]
}

/// Returns a prompt of the fixtures, if it is one.
pub(crate) fn get(
    request: &GetPromptRequestParams,
) -> Option<Result<GetPromptResponse, ErrorData>> {
    let argument = |name: &str| {
        let given = request.arguments.as_ref()?.get(name)?;
        given.as_str()
    };
    let messages = match request.name.as_str() {
        "test_simple_prompt" => vec![user_message("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => vec![user_message(&format!(
            "Prompt with arguments: arg1='{}', arg2='{}'",
            argument("arg1").unwrap_or_default(),
            argument("arg2").unwrap_or_default(),
        ))],
        "test_prompt_with_embedded_resource" => {
            let uri = argument("resourceUri").unwrap_or_default();
            let resource = ResourceContents::text("Embedded resource content for testing.", uri);
            vec![
                PromptMessage::new(Role::User, ContentBlock::resource(resource)),
                user_message("Please process the embedded resource above."),
            ]
        }
        "test_prompt_with_image" => vec![
            PromptMessage::new(Role::User, ContentBlock::image(PNG_BASE64, "image/png")),
            user_message("Please analyze the image above."),
        ],
        "test_input_required_result_prompt" => return Some(ask_first(request)),
        _ => return None,
    };
    Some(Ok(GetPromptResult::new(messages).into()))
}

fn ask_first(request: &GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    let given = request.input_responses.clone().unwrap_or_default();
    if let Some(context) = multi_round::accepted_text(&given, "user_context", "context") {
        let text = format!("Use this context: {context}");
        return Ok(GetPromptResult::new(vec![user_message(&text)]).into());
    }
    let question = multi_round::elicitation_request(
        "What context should the prompt use?",
        &json!({ "context": { "type": "string" } }),
        "context",
    )?;
    Ok(multi_round::input_required([("user_context", question)]).into())
}

/// Completes an argument of a fixture's prompt or template, if it is one.
pub(crate) fn complete(request: &CompleteRequestParams) -> Option<CompleteResult> {
    let ours = match &request.r#ref {
        Reference::Prompt(prompt) => all().iter().any(|it| it.name == prompt.name),
        Reference::Resource(template) => template.uri.starts_with("test://"),
        _ => false,
    };
    let fitting = |word: &&str| word.starts_with(&request.argument.value);
    let words = COMPLETION_VALUES
        .into_iter()
        .filter(fitting)
        .map(str::to_owned);
    let values = CompletionInfo::with_all_values(words.collect()).ok()?;
    ours.then(|| CompleteResult::new(values))
}

fn user_message(text: &str) -> PromptMessage {
    PromptMessage::new_text(Role::User, text)
}
