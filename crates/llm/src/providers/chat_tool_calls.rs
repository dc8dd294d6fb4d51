//! Tool calls in the chat completions format: writes tools, calls and results, parses calls, and
//! assembles a stream of chunks to the completion it stands for.

use serde_json::{Map, Value, json};

use super::{chat_json, system_with_tools};
use crate::{ChatMessage, ChatRole, ModelRequest, ToolCall};

/// Maximum number of calls taken from one completion; a completion with more is not a sensible
/// turn.
const MAX_CALLS: usize = 64;

pub(super) fn tools_json(ask: &ModelRequest) -> Value {
    let tools = ask.functions.iter().map(|function| {
        json!({
            "type": "function",
            "function": {
                "name": function.name,
                "description": function.description,
                "parameters": chat_json::tool_parameters(function),
            },
        })
    });
    Value::Array(tools.collect())
}

/// Returns the conversation with its calls and results, after the system prompt.
pub(super) fn messages_json(ask: &ModelRequest) -> Vec<Value> {
    let mut all = Vec::new();
    let system = system_with_tools(ask);
    if !system.is_empty() {
        all.push(json!({ "role": "system", "content": system }));
    }
    for message in &ask.messages {
        push_message(message, &mut all);
    }
    all
}

fn push_message(message: &ChatMessage, all: &mut Vec<Value>) {
    for result in &message.results {
        all.push(json!({
            "role": "tool",
            "tool_call_id": result.id,
            "content": chat_json::result_text(result),
        }));
    }
    // A tool's message has text only, so pictures follow in a message of their own.
    let images = message.results.iter().flat_map(|result| &result.images);
    let images: Vec<Value> = images
        .map(|image| {
            let url = format!("data:{};base64,{}", image.mime, image.data);
            json!({ "type": "image_url", "image_url": { "url": url } })
        })
        .collect();
    if !images.is_empty() {
        let text = json!({ "type": "text", "text": "The pictures of these results:" });
        let content: Vec<Value> = std::iter::once(text).chain(images).collect();
        all.push(json!({ "role": "user", "content": content }));
    }
    if message.role == ChatRole::Assistant && !message.calls.is_empty() {
        let content = match message.text.as_str() {
            "" => Value::Null,
            text => json!(text),
        };
        let calls: Vec<Value> = message.calls.iter().map(call_json).collect();
        all.push(json!({ "role": "assistant", "content": content, "tool_calls": calls }));
    } else if message.results.is_empty() || !message.text.is_empty() {
        let role = match message.role {
            ChatRole::User => "user",
            ChatRole::Assistant => "assistant",
        };
        all.push(json!({ "role": role, "content": message.text }));
    }
}

fn call_json(call: &ToolCall) -> Value {
    let arguments = match &call.arguments {
        Value::String(text) => text.clone(),
        arguments => arguments.to_string(),
    };
    let mut written = json!({
        "id": call.id,
        "type": "function",
        "function": { "name": call.name, "arguments": arguments },
    });
    if let (Some(extra), Some(fields)) = (&call.extra, written.as_object_mut()) {
        fields.insert("extra_content".to_owned(), extra.clone());
    }
    written
}

pub(super) fn parse_tool_calls(message: Option<&Value>) -> Vec<ToolCall> {
    let calls = message
        .and_then(|message| message.get("tool_calls"))
        .and_then(Value::as_array);
    let calls = calls.into_iter().flatten().take(MAX_CALLS);
    calls.filter_map(parse_tool_call).collect()
}

fn parse_tool_call(call: &Value) -> Option<ToolCall> {
    let function = call.get("function")?;
    let arguments = match function.get("arguments") {
        Some(Value::String(text)) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
        }
        other => other.cloned().unwrap_or_default(),
    };
    Some(ToolCall {
        id: chat_json::string_field(call, "id").unwrap_or_default(),
        name: chat_json::string_field(function, "name")?,
        arguments,
        extra: call
            .get("extra_content")
            .filter(|extra| extra.is_object())
            .cloned(),
    })
}

/// Assembles the chunks of a stream to a completion.
#[derive(Debug, Default)]
pub(super) struct ChunkAssembler {
    text: String,
    reasoning: String,
    refusal: String,
    calls: Vec<PartialToolCall>,
    finish: Option<Value>,
    model: Option<Value>,
    usage: Option<Value>,
    error: Option<Value>,
    ended: bool,
}

/// A call that is still incomplete.
#[derive(Debug, Default)]
struct PartialToolCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    extra: Option<Value>,
}

impl ChunkAssembler {
    /// Adds a chunk and returns its text.
    pub(super) fn push_chunk(&mut self, chunk: &Value) -> String {
        let some = |name: &str| chunk.get(name).filter(|it| !it.is_null()).cloned();
        self.error = some("error").or_else(|| self.error.take());
        self.model = some("model").or_else(|| self.model.take());
        self.usage = some("usage").or_else(|| self.usage.take());
        let Some(choice) = chunk.pointer("/choices/0") else {
            return String::new();
        };
        let finish = choice.get("finish_reason").filter(|it| !it.is_null());
        self.finish = finish.cloned().or_else(|| self.finish.take());
        // Some endpoints send the last chunk as a whole message.
        let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) else {
            return String::new();
        };
        if let Some(refusal) = delta.get("refusal").and_then(Value::as_str) {
            self.refusal.push_str(refusal);
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            self.push_call_delta(call);
        }
        self.reasoning.push_str(&chat_json::reasoning_text(delta));
        let text = chat_json::content_text(delta.get("content"));
        self.text.push_str(&text);
        text
    }

    /// Marks the end of the stream.
    pub(super) fn finish(&mut self) {
        self.ended = true;
    }

    /// Returns whether the endpoint reported an error.
    pub(super) fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Returns the completion if it is complete.
    pub(super) fn into_completion(self) -> Option<Value> {
        if let Some(error) = self.error {
            return Some(json!({ "error": error }));
        }
        if !self.ended && self.finish.is_none() {
            return None;
        }
        let calls: Vec<Value> = self
            .calls
            .into_iter()
            .map(PartialToolCall::into_json)
            .collect();
        Some(json!({
            "model": self.model,
            "choices": [{
                "message": {
                    "content": self.text,
                    "reasoning_content": self.reasoning,
                    "refusal": self.refusal,
                    "tool_calls": calls,
                },
                "finish_reason": self.finish,
            }],
            "usage": self.usage,
        }))
    }

    fn push_call_delta(&mut self, piece: &Value) {
        let function = piece.get("function");
        let part = |of: Option<&Value>, name: &str| match of.and_then(|it| it.get(name)) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        let (id, name) = (part(Some(piece), "id"), part(function, "name"));
        let index = piece.get("index").and_then(Value::as_u64);
        let known = match index {
            // Some endpoints give all calls the same index and distinguish them by id.
            Some(_) => self.calls.iter().rposition(|call| {
                call.index == index && (id.is_empty() || call.id.is_empty() || call.id == id)
            }),
            None if name.is_empty() => self.calls.len().checked_sub(1),
            None => None,
        };
        if known.is_none() && self.calls.len() < MAX_CALLS {
            self.calls.push(PartialToolCall {
                index,
                ..PartialToolCall::default()
            });
        }
        let place = known.or_else(|| self.calls.len().checked_sub(1));
        let Some(call) = place.and_then(|place| self.calls.get_mut(place)) else {
            return;
        };
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        call.arguments.push_str(&part(function, "arguments"));
        if let Some(extra) = piece.get("extra_content") {
            call.extra = Some(extra.clone());
        }
    }
}

impl PartialToolCall {
    fn into_json(self) -> Value {
        let mut fields = Map::new();
        fields.insert("id".to_owned(), json!(self.id));
        fields.insert(
            "function".to_owned(),
            json!({ "name": self.name, "arguments": self.arguments }),
        );
        if let Some(extra) = self.extra {
            fields.insert("extra_content".to_owned(), extra);
        }
        Value::Object(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ImageData, ToolCallOutput};

    #[test]
    fn pictures_of_results_are_shown() {
        let result = ToolCallOutput {
            id: "1".to_owned(),
            text: "a chart".to_owned(),
            images: vec![ImageData {
                mime: "image/png".to_owned(),
                data: "QUJD".to_owned(),
            }],
            ..ToolCallOutput::default()
        };
        let ask = ModelRequest {
            messages: vec![ChatMessage::tool_results(vec![result])],
            ..ModelRequest::default()
        };
        let messages = messages_json(&ask);
        assert_eq!(messages[0]["role"], "tool");
        assert_eq!(messages[0]["content"], "a chart");
        assert_eq!(messages[1]["role"], "user");
        let url = &messages[1]["content"][1]["image_url"]["url"];
        assert_eq!(*url, "data:image/png;base64,QUJD");
    }
}
