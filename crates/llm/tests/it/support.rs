//! Requests and answers.

use std::time::Duration;

use deliberate_llm::{
    ChatMessage, ModelRequest, PlainText, Purpose, ToolCall, ToolCallOutput, ToolDefinition,
};
pub(crate) use deliberate_testkit::fixtures::{ScriptedModel, reply};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

/// The answer type of most tests.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct ThoughtAnswer {
    pub(crate) thought: String,
    pub(crate) confidence: u8,
    #[serde(default)]
    pub(crate) tags: Vec<String>,
}

pub(crate) fn thought_answer(thought: &str, confidence: u8) -> ThoughtAnswer {
    ThoughtAnswer {
        thought: thought.to_owned(),
        confidence,
        tags: Vec::new(),
    }
}

pub(crate) fn from_plain(text: String) -> ThoughtAnswer {
    ThoughtAnswer {
        thought: text,
        confidence: 80,
        tags: vec!["plain".to_owned()],
    }
}

pub(crate) fn thought_request() -> ModelRequest {
    ModelRequest {
        key: "step".to_owned(),
        purpose: Purpose::new("linear"),
        system: "Think one step.".to_owned(),
        messages: vec![ChatMessage::user("What is 6 × 7?")],
        schema: json!({
            "type": "object",
            "properties": {
                "thought": {"type": "string", "minLength": 1, "maxLength": 400},
                "confidence": {"type": "integer", "minimum": 0, "maximum": 100},
                "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
            },
            "required": ["thought", "confidence"],
            "additionalProperties": false,
        }),
        plain_text: PlainText::IsRefused,
        max_tokens: 400,
        temperature: 0.5,
        ..ModelRequest::default()
    }
}

pub(crate) fn plain_request() -> ModelRequest {
    ModelRequest {
        plain_text: PlainText::IsTheAnswer,
        ..thought_request()
    }
}

/// Returns a request for free text with two tools.
pub(crate) fn tool_request() -> ModelRequest {
    let function = |name: &str, description: &str| ToolDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({
            "type": "object",
            "properties": { "text": { "type": "string" } },
        }),
    };
    ModelRequest {
        key: "act".to_owned(),
        purpose: Purpose::new("linear"),
        system: "Act.".to_owned(),
        messages: vec![ChatMessage::user("What is the weather?")],
        functions: vec![
            function("look_up", "Looks something up."),
            function("weather__today", "Tells the weather."),
        ],
        max_tokens: 400,
        temperature: 0.5,
        ..ModelRequest::default()
    }
}

pub(crate) fn tool_call(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments,
        extra: None,
    }
}

/// Returns the request after a turn of two calls, with their results.
pub(crate) fn tool_request_with_results() -> ModelRequest {
    let calls = vec![
        tool_call("a1", "look_up", json!({ "text": "x" })),
        tool_call("a2", "weather__today", json!({})),
    ];
    let results = vec![
        ToolCallOutput::success(&calls[0], "found x"),
        ToolCallOutput::error(&calls[1], "no such place"),
    ];
    let mut ask = tool_request();
    ask.messages
        .push(ChatMessage::tool_calls("Let me see.", calls));
    ask.messages.push(ChatMessage::tool_results(results));
    ask
}

/// Returns a deadline that no test is meant to reach.
pub(crate) fn far_deadline() -> Instant {
    Instant::now() + Duration::from_mins(1)
}
