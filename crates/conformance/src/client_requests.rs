//! Tools that send a request to the client during a call, as in the handshake revisions: for its
//! model and its user.

#![expect(deprecated, reason = "the suite tests sampling until it is removed")]

use rmcp::{
    ErrorData,
    model::{
        ClientCapabilities, CreateMessageRequestParams, ElicitRequestParams, SamplingMessage, Tool,
    },
};
use serde_json::{Value, json};

use crate::tools::{FixtureCall, FixtureResult, build_tool, error_result, text_result};

/// The maximum number of tokens of the client's model.
const MAX_TOKENS: u32 = 100;

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        build_tool(
            "test_sampling",
            "Asks the client's model",
            &json!({ "prompt": { "type": "string" } }),
        ),
        build_tool(
            "test_missing_capability",
            "Needs a client with a model",
            &json!({}),
        ),
        build_tool(
            "test_elicitation",
            "Asks for a name and an email address",
            &json!({ "message": { "type": "string" } }),
        ),
        build_tool(
            "test_elicitation_sep1034_defaults",
            "Asks with a default for everything",
            &json!({}),
        ),
        build_tool(
            "test_elicitation_sep1330_enums",
            "Asks with every kind of enum",
            &json!({}),
        ),
    ]
}

pub(crate) fn has_tool(name: &str) -> bool {
    name.starts_with("test_elicitation")
}

pub(crate) async fn sample(call: &FixtureCall<'_>) -> FixtureResult {
    let messages = vec![SamplingMessage::user_text(call.text_argument("prompt"))];
    let asked = CreateMessageRequestParams::new(messages, MAX_TOKENS);
    match call.context.peer.create_message(asked).await {
        Ok(reply) => {
            let first = reply.message.content.first();
            let text = first.and_then(|content| content.as_text());
            text_result(format!(
                "LLM response: {}",
                text.map_or("no text", |text| text.text.as_str())
            ))
        }
        Err(error) => error_result(format!("The client's model cannot be asked: {error}")),
    }
}

pub(crate) fn require_sampling(call: &FixtureCall<'_>) -> FixtureResult {
    let declared = call.context.client_capabilities().unwrap_or_default();
    if declared.sampling.is_none() {
        let needed = ClientCapabilities::builder().enable_sampling().build();
        return Err(ErrorData::missing_required_client_capability(needed));
    }
    text_result("The client has a model.")
}

pub(crate) async fn elicit(call: &FixtureCall<'_>, name: &str) -> FixtureResult {
    let (message, schema) = match name {
        "test_elicitation_sep1034_defaults" => ("Change what is not right", defaults_schema()),
        "test_elicitation_sep1330_enums" => ("Choose", choices_schema()),
        _ => (call.text_argument("message"), person_schema()),
    };
    let schema = serde_json::from_value(schema)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let asked = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.to_owned(),
        requested_schema: schema,
    };
    match call.context.peer.create_elicitation(asked).await {
        Ok(reply) => {
            let content = serde_json::to_string(&reply.content).unwrap_or_default();
            text_result(format!(
                "Elicitation completed: action={}, content={content}",
                serde_json::to_value(&reply.action)
                    .ok()
                    .as_ref()
                    .and_then(Value::as_str)
                    .unwrap_or("unknown"),
            ))
        }
        Err(error) => error_result(format!("The client cannot be asked: {error}")),
    }
}

fn person_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    })
}

fn defaults_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": {
                "type": "string",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": { "type": "boolean", "default": true },
        },
    })
}

fn choices_schema() -> Value {
    let plain = json!(["option1", "option2", "option3"]);
    let titled = |word: &str| {
        json!([
            { "const": "value1", "title": format!("First {word}") },
            { "const": "value2", "title": format!("Second {word}") },
            { "const": "value3", "title": format!("Third {word}") },
        ])
    };
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": plain },
            "titledSingle": { "type": "string", "oneOf": titled("Option") },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {
                "type": "array",
                "items": { "type": "string", "enum": plain },
            },
            "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
        },
    })
}
