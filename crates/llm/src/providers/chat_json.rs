//! JSON that the chat formats have in common.

use deliberate_core::approximate_tokens;
use serde_json::{Value, json};

use crate::{ChatRole, FinishReason, ModelRequest, TokenUsage, ToolDefinition};

/// Token prices in US dollars per million.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenPrices {
    /// Price of a million input tokens.
    pub input_per_mtok: f64,
    /// Price of a million output tokens.
    pub output_per_mtok: f64,
}

impl TokenPrices {
    /// Fills in the cost unless the provider reported one.
    pub(super) fn apply(prices: Option<Self>, mut usage: TokenUsage) -> TokenUsage {
        if let (None, Some(prices)) = (usage.cost_usd, prices) {
            let sent = usage.prompt_tokens as f64 * prices.input_per_mtok;
            let received = usage.completion_tokens as f64 * prices.output_per_mtok;
            usage.cost_usd = Some((sent + received) / 1e6);
        }
        usage
    }
}

/// Returns the conversation without the system prompt.
pub(super) fn messages_json(ask: &ModelRequest) -> Vec<Value> {
    ask.messages
        .iter()
        .map(|message| {
            let role = match message.role {
                ChatRole::User => "user",
                ChatRole::Assistant => "assistant",
            };
            json!({"role": role, "content": message.text})
        })
        .collect()
}

/// Returns the conversation after the system prompt.
pub(super) fn messages_with_system(ask: &ModelRequest) -> Vec<Value> {
    let mut all = Vec::new();
    let system = super::system_with_schema(&ask.system, &ask.schema);
    if !system.is_empty() {
        all.push(json!({"role": "system", "content": system}));
    }
    all.extend(messages_json(ask));
    all
}

/// Parses the usage of a chat completion; accepts both names of each token count.
pub(super) fn parse_usage(usage: Option<&Value>) -> TokenUsage {
    let tokens = |names: [&str; 2]| {
        names
            .iter()
            .find_map(|name| usage?.get(name)?.as_u64())
            .unwrap_or_default()
    };
    TokenUsage {
        prompt_tokens: tokens(["prompt_tokens", "input_tokens"]),
        completion_tokens: tokens(["completion_tokens", "output_tokens"]),
        cost_usd: usage.and_then(|usage| usage.get("cost")?.as_f64()),
    }
}

pub(super) fn parse_finish_reason(reason: Option<&Value>) -> FinishReason {
    match reason.and_then(Value::as_str) {
        Some("length" | "max_tokens" | "model_context_window_exceeded") => FinishReason::Length,
        Some("content_filter" | "refusal") => FinishReason::Refusal,
        _ => FinishReason::Stop,
    }
}

/// Returns the text of a message: a string, or the text parts of a list.
pub(super) fn content_text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter(|part| {
                part.get("type")
                    .and_then(Value::as_str)
                    .is_none_or(|kind| kind == "text" || kind == "output_text")
            })
            .filter_map(|part| part.get("text")?.as_str())
            .collect(),
        _ => String::new(),
    }
}

/// Returns what a model thought before its text: a field of the message beside the text, whose name
/// depends on the server, or the thinking blocks of its content.
pub(super) fn reasoning_text(message: &Value) -> String {
    let field = ["reasoning_content", "reasoning"]
        .iter()
        .find_map(|name| string_field(message, name).filter(|text| !text.trim().is_empty()));
    if let Some(text) = field {
        return text;
    }
    let blocks = message.get("content").and_then(Value::as_array);
    let thinking = blocks.into_iter().flatten().filter_map(|block| {
        let thinking = block.get("thinking")?;
        Some(content_text(Some(thinking)))
    });
    thinking.collect::<Vec<String>>().join("\n\n")
}

/// Returns how many output tokens went into the reasoning. Servers that do not count them return its
/// text.
pub(super) fn reasoning_tokens(usage: Option<&Value>, reasoning: &str) -> u64 {
    let names = [
        "/completion_tokens_details/reasoning_tokens",
        "/output_tokens_details/reasoning_tokens",
        "/reasoning_tokens",
    ];
    let reported = names
        .iter()
        .find_map(|name| usage?.pointer(name)?.as_u64())
        .filter(|count| *count > 0);
    reported.unwrap_or_else(|| approximate_tokens(reasoning) as u64)
}

pub(super) fn string_field(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

/// Returns the schema of a tool's arguments; all providers require an object.
pub(super) fn tool_parameters(function: &ToolDefinition) -> Value {
    let mut parameters = match &function.parameters {
        Value::Object(members) => members.clone(),
        _ => serde_json::Map::new(),
    };
    parameters.entry("type").or_insert_with(|| json!("object"));
    parameters.entry("properties").or_insert_with(|| json!({}));
    Value::Object(parameters)
}

/// Returns the text of a result for a format that has no error flag.
pub(super) fn result_text(result: &crate::ToolCallOutput) -> String {
    let told = result.text.get(..5);
    let says_so = told.is_some_and(|start| start.eq_ignore_ascii_case("error"));
    if result.is_error && !says_so {
        format!("Error: {}", result.text)
    } else {
        result.text.clone()
    }
}

/// Emits a piece of text unless it is empty.
pub(super) fn emit_text(on: crate::OnStreamEvent<'_>, text: String) {
    if !text.is_empty() {
        on(crate::StreamEvent::Text(text));
    }
}
