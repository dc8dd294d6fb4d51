//! Tool calls in the Anthropic messages format: writes tools, calls and results, parses calls, and
//! assembles a stream of events to the message it stands for.

use serde_json::{Map, Value, json};

use crate::{ChatMessage, ChatRole, ModelRequest, ToolCall, ToolCallOutput, providers::chat_json};

/// Maximum number of blocks taken from one message; a message with more is not a sensible turn.
const MAX_BLOCKS: usize = 256;

pub(crate) fn tools_json(ask: &ModelRequest) -> Value {
    let tools = ask.functions.iter().map(|function| {
        json!({
            "name": function.name,
            "description": function.description,
            "input_schema": chat_json::tool_parameters(function),
        })
    });
    Value::Array(tools.collect())
}

/// Returns the conversation with its calls and results. Consecutive messages of one role are
/// merged: the results of several calls must be in one message.
pub(crate) fn messages_json(ask: &ModelRequest) -> Vec<Value> {
    let mut all: Vec<(ChatRole, Vec<Value>)> = Vec::new();
    for message in &ask.messages {
        let blocks = content_blocks(message);
        match all.last_mut() {
            Some((role, before)) if *role == message.role => before.extend(blocks),
            _ => all.push((message.role, blocks)),
        }
    }
    all.into_iter()
        .filter(|(_, blocks)| !blocks.is_empty())
        .map(|(role, mut blocks)| {
            let role = match role {
                ChatRole::User => "user",
                ChatRole::Assistant => "assistant",
            };
            // Results come first, before any text between them.
            blocks.sort_by_key(|block| block.get("tool_use_id").is_none());
            json!({ "role": role, "content": blocks })
        })
        .collect()
}

fn content_blocks(message: &ChatMessage) -> Vec<Value> {
    let results = message.results.iter().map(|result| {
        let mut block = json!({
            "type": "tool_result",
            "tool_use_id": result.id,
            "content": result_content(result),
        });
        if let (true, Some(fields)) = (result.is_error, block.as_object_mut()) {
            fields.insert("is_error".to_owned(), json!(true));
        }
        block
    });
    // Text blocks must not be empty.
    let text = Some(&message.text)
        .filter(|text| !text.trim().is_empty())
        .map(|text| json!({ "type": "text", "text": text }));
    let calls = message.calls.iter().map(|call| {
        let input = match &call.arguments {
            Value::Object(_) => call.arguments.clone(),
            _ => json!({}),
        };
        json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input })
    });
    results.chain(text).chain(calls).collect()
}

/// Returns the text of a result, with its pictures.
fn result_content(result: &ToolCallOutput) -> Value {
    if result.images.is_empty() {
        return json!(result.text);
    }
    let text = Some(&result.text)
        .filter(|text| !text.trim().is_empty())
        .map(|text| json!({ "type": "text", "text": text }));
    let images = result.images.iter().map(|image| {
        json!({ "type": "image",
                "source": { "type": "base64", "media_type": image.mime, "data": image.data } })
    });
    text.into_iter().chain(images).collect()
}

pub(crate) fn parse_tool_calls(message: &Value) -> Vec<ToolCall> {
    let blocks = message.get("content").and_then(Value::as_array);
    let blocks = blocks.into_iter().flatten().take(MAX_BLOCKS);
    blocks
        .filter(|block| block.get("type").and_then(Value::as_str) == Some("tool_use"))
        .filter_map(|block| {
            Some(ToolCall {
                id: chat_json::string_field(block, "id").unwrap_or_default(),
                name: chat_json::string_field(block, "name")?,
                arguments: block.get("input").cloned().unwrap_or_default(),
                extra: None,
            })
        })
        .collect()
}

/// Assembles the events of a stream to a message.
#[derive(Debug, Default)]
pub(crate) struct MessageAssembler {
    message: Map<String, Value>,
    blocks: Vec<PartialBlock>,
    usage: Map<String, Value>,
    error: Option<Value>,
    ended: bool,
}

/// A block that is still incomplete.
#[derive(Debug, Default)]
struct PartialBlock {
    index: u64,
    start: Map<String, Value>,
    text: String,
    thinking: String,
    input: String,
}

impl MessageAssembler {
    /// Adds an event and returns its text.
    pub(crate) fn push_event(&mut self, event: &Value) -> String {
        match event.get("type").and_then(Value::as_str) {
            Some("message_start") => {
                if let Some(Value::Object(message)) = event.get("message") {
                    self.message.clone_from(message);
                }
                self.take_usage(event.pointer("/message/usage"));
            }
            Some("content_block_start") => return self.start_block(event),
            Some("content_block_delta") => return self.push_delta(event),
            Some("message_delta") => {
                if let Some(reason) = event.pointer("/delta/stop_reason") {
                    self.message
                        .insert("stop_reason".to_owned(), reason.clone());
                }
                self.take_usage(event.get("usage"));
            }
            Some("message_stop") => self.ended = true,
            Some("error") => self.error = Some(event.get("error").unwrap_or(event).clone()),
            _ => {}
        }
        String::new()
    }

    /// Returns whether the stream has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.ended || self.error.is_some()
    }

    /// Returns the error that came instead of the end.
    pub(crate) fn error(&self) -> Option<&Value> {
        self.error.as_ref()
    }

    /// Returns the message if it is complete.
    pub(crate) fn into_message(mut self) -> Option<Value> {
        let reason = self.message.get("stop_reason");
        if !self.ended && !reason.is_some_and(Value::is_string) {
            return None;
        }
        let content = self
            .blocks
            .into_iter()
            .map(PartialBlock::into_json)
            .collect();
        self.message
            .insert("content".to_owned(), Value::Array(content));
        self.message
            .insert("usage".to_owned(), Value::Object(self.usage));
        Some(Value::Object(self.message))
    }

    /// Later counts are totals, not increments.
    fn take_usage(&mut self, usage: Option<&Value>) {
        if let Some(Value::Object(counts)) = usage {
            let known = counts.iter().filter(|(_, count)| !count.is_null());
            self.usage
                .extend(known.map(|(name, count)| (name.clone(), count.clone())));
        }
    }

    fn start_block(&mut self, event: &Value) -> String {
        let Some(Value::Object(begun)) = event.get("content_block") else {
            return String::new();
        };
        if self.blocks.len() >= MAX_BLOCKS {
            return String::new();
        }
        let is_text = begun.get("type").and_then(Value::as_str) == Some("text");
        let text = begun
            .get("text")
            .and_then(Value::as_str)
            .unwrap_or_default();
        self.blocks.push(PartialBlock {
            index: index(event),
            start: begun.clone(),
            text: text.to_owned(),
            ..PartialBlock::default()
        });
        if is_text {
            text.to_owned()
        } else {
            String::new()
        }
    }

    fn push_delta(&mut self, event: &Value) -> String {
        let index = index(event);
        let block = self.blocks.iter_mut().rfind(|block| block.index == index);
        let (Some(block), Some(delta)) = (block, event.get("delta")) else {
            return String::new();
        };
        let piece = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
        match delta.get("type").and_then(Value::as_str) {
            Some("text_delta") => {
                let text = piece("text");
                block.text.push_str(text);
                text.to_owned()
            }
            Some("thinking_delta") => {
                block.thinking.push_str(piece("thinking"));
                String::new()
            }
            Some("input_json_delta") => {
                block.input.push_str(piece("partial_json"));
                String::new()
            }
            _ => String::new(),
        }
    }
}

impl PartialBlock {
    fn into_json(mut self) -> Value {
        if self.start.contains_key("text") {
            self.start.insert("text".to_owned(), json!(self.text));
        }
        if !self.thinking.is_empty() {
            self.start
                .insert("thinking".to_owned(), json!(self.thinking));
        }
        // Input that cannot be parsed stays as text, to be repaired or reported.
        if !self.input.is_empty() {
            let input = serde_json::from_str(&self.input);
            self.start.insert(
                "input".to_owned(),
                input.unwrap_or(Value::String(self.input)),
            );
        }
        Value::Object(self.start)
    }
}

fn index(event: &Value) -> u64 {
    event
        .get("index")
        .and_then(Value::as_u64)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ImageData;

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
        let content = &messages_json(&ask)[0]["content"][0]["content"];
        assert_eq!(content[0], json!({ "type": "text", "text": "a chart" }));
        assert_eq!(content[1]["source"]["media_type"], "image/png");
        assert_eq!(content[1]["source"]["data"], "QUJD");
    }
}
