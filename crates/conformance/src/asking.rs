//! Tools that ask the client in the middle of a call, as the handshake revisions do it: its model,
//! and the person in front of it.

#![expect(deprecated, reason = "the suite tests sampling until it is removed")]

use rmcp::{
    ErrorData,
    model::{
        ClientCapabilities, CreateMessageRequestParams, ElicitRequestParams, SamplingMessage, Tool,
    },
};
use serde_json::{Value, json};

use crate::tools::{Answer, Call, fails, says, tool};

/// Tokens the client's model may use.
const TOKENS: u32 = 100;

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        tool(
            "test_sampling",
            "Asks the client's model",
            &json!({ "prompt": { "type": "string" } }),
        ),
        tool(
            "test_missing_capability",
            "Needs a client with a model",
            &json!({}),
        ),
        tool(
            "test_elicitation",
            "Asks for a name and an address",
            &json!({ "message": { "type": "string" } }),
        ),
        tool(
            "test_elicitation_sep1034_defaults",
            "Asks with a default for everything",
            &json!({}),
        ),
        tool(
            "test_elicitation_sep1330_enums",
            "Asks with every kind of choice",
            &json!({}),
        ),
    ]
}

pub(crate) fn has(name: &str) -> bool {
    name.starts_with("test_elicitation")
}

pub(crate) async fn sample(call: &Call<'_>) -> Answer {
    let messages = vec![SamplingMessage::user_text(call.text("prompt"))];
    let asked = CreateMessageRequestParams::new(messages, TOKENS);
    match call.context.peer.create_message(asked).await {
        Ok(reply) => {
            let first = reply.message.content.first();
            let text = first.and_then(|content| content.as_text());
            says(format!(
                "LLM response: {}",
                text.map_or("no text", |text| text.text.as_str())
            ))
        }
        Err(error) => fails(format!("The client's model can't be asked: {error}")),
    }
}

pub(crate) fn needs_sampling(call: &Call<'_>) -> Answer {
    let declared = call.context.client_capabilities().unwrap_or_default();
    if declared.sampling.is_none() {
        let needed = ClientCapabilities::builder().enable_sampling().build();
        return Err(ErrorData::missing_required_client_capability(needed));
    }
    says("The client has a model.")
}

pub(crate) async fn elicit(call: &Call<'_>, name: &str) -> Answer {
    let (message, schema) = match name {
        "test_elicitation_sep1034_defaults" => ("Change what is not right", defaults()),
        "test_elicitation_sep1330_enums" => ("Choose", choices()),
        _ => (call.text("message"), person()),
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
            says(format!(
                "Elicitation completed: action={}, content={content}",
                serde_json::to_value(&reply.action)
                    .ok()
                    .as_ref()
                    .and_then(Value::as_str)
                    .unwrap_or("unknown"),
            ))
        }
        Err(error) => fails(format!("The client can't be asked: {error}")),
    }
}

fn person() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    })
}

fn defaults() -> Value {
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

fn choices() -> Value {
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
