//! Functions in the messages format of Anthropic: how they, their calls and their results are
//! written, how calls are read, and how a stream of events becomes the message it would have been.

use serde_json::{Map, Value, json};

use super::wire;
use crate::{Ask, FunctionCall, Message, Role};

/// The most blocks that are taken from a message; more is no turn but a flood.
const MAX_BLOCKS: usize = 256;

/// The functions of an ask.
pub(super) fn tools(ask: &Ask) -> Value {
    let tools = ask.functions.iter().map(|function| {
        json!({
            "name": function.name,
            "description": function.description,
            "input_schema": wire::parameters(function),
        })
    });
    Value::Array(tools.collect())
}

/// The conversation with its calls and results. What the same one says in a row is one message:
/// the results of several calls must be.
pub(super) fn conversation(ask: &Ask) -> Vec<Value> {
    let mut all: Vec<(Role, Vec<Value>)> = Vec::new();
    for message in &ask.messages {
        let blocks = blocks(message);
        match all.last_mut() {
            Some((role, before)) if *role == message.role => before.extend(blocks),
            _ => all.push((message.role, blocks)),
        }
    }
    all.into_iter()
        .filter(|(_, blocks)| !blocks.is_empty())
        .map(|(role, mut blocks)| {
            let role = match role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            // Results come first, whatever was said between them.
            blocks.sort_by_key(|block| block.get("tool_use_id").is_none());
            json!({ "role": role, "content": blocks })
        })
        .collect()
}

fn blocks(message: &Message) -> Vec<Value> {
    let results = message.results.iter().map(|result| {
        let mut block = json!({
            "type": "tool_result",
            "tool_use_id": result.id,
            "content": result.text,
        });
        if let (true, Some(fields)) = (result.is_error, block.as_object_mut()) {
            fields.insert("is_error".to_owned(), json!(true));
        }
        block
    });
    // Blocks of text must say something.
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

/// What a message calls.
pub(super) fn calls(message: &Value) -> Vec<FunctionCall> {
    let blocks = message.get("content").and_then(Value::as_array);
    let blocks = blocks.into_iter().flatten().take(MAX_BLOCKS);
    blocks
        .filter(|block| block.get("type").and_then(Value::as_str) == Some("tool_use"))
        .filter_map(|block| {
            Some(FunctionCall {
                id: wire::text(block, "id").unwrap_or_default(),
                name: wire::text(block, "name")?,
                arguments: block.get("input").cloned().unwrap_or_default(),
                extra: None,
            })
        })
        .collect()
}

/// The events of a message, put together.
#[derive(Debug, Default)]
pub(super) struct Events {
    message: Map<String, Value>,
    blocks: Vec<Block>,
    usage: Map<String, Value>,
    error: Option<Value>,
    ended: bool,
}

/// A block of which pieces came.
#[derive(Debug, Default)]
struct Block {
    index: u64,
    begun: Map<String, Value>,
    text: String,
    input: String,
}

impl Events {
    /// Takes an event, and gives the text in it.
    pub(super) fn take(&mut self, event: &Value) -> String {
        match event.get("type").and_then(Value::as_str) {
            Some("message_start") => {
                if let Some(Value::Object(message)) = event.get("message") {
                    self.message.clone_from(message);
                }
                self.take_usage(event.pointer("/message/usage"));
            }
            Some("content_block_start") => return self.begin(event),
            Some("content_block_delta") => return self.go_on(event),
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

    /// Whether nothing more is to come.
    pub(super) fn is_over(&self) -> bool {
        self.ended || self.error.is_some()
    }

    /// The error that came instead of the end.
    pub(super) fn error(&self) -> Option<&Value> {
        self.error.as_ref()
    }

    /// The message, if it came to its end.
    pub(super) fn whole(mut self) -> Option<Value> {
        let reason = self.message.get("stop_reason");
        if !self.ended && !reason.is_some_and(Value::is_string) {
            return None;
        }
        let content = self.blocks.into_iter().map(Block::whole).collect();
        self.message
            .insert("content".to_owned(), Value::Array(content));
        self.message
            .insert("usage".to_owned(), Value::Object(self.usage));
        Some(Value::Object(self.message))
    }

    /// Later counts are of the whole, not of what came since.
    fn take_usage(&mut self, usage: Option<&Value>) {
        if let Some(Value::Object(counts)) = usage {
            let known = counts.iter().filter(|(_, count)| !count.is_null());
            self.usage
                .extend(known.map(|(name, count)| (name.clone(), count.clone())));
        }
    }

    fn begin(&mut self, event: &Value) -> String {
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
        self.blocks.push(Block {
            index: index(event),
            begun: begun.clone(),
            text: text.to_owned(),
            input: String::new(),
        });
        if is_text {
            text.to_owned()
        } else {
            String::new()
        }
    }

    fn go_on(&mut self, event: &Value) -> String {
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
            Some("input_json_delta") => {
                block.input.push_str(piece("partial_json"));
                String::new()
            }
            _ => String::new(),
        }
    }
}

impl Block {
    fn whole(mut self) -> Value {
        if self.begun.contains_key("text") {
            self.begun.insert("text".to_owned(), json!(self.text));
        }
        // What can't be read stays as it is, to be mended or told.
        if !self.input.is_empty() {
            let input = serde_json::from_str(&self.input);
            self.begun.insert(
                "input".to_owned(),
                input.unwrap_or(Value::String(self.input)),
            );
        }
        Value::Object(self.begun)
    }
}

fn index(event: &Value) -> u64 {
    event
        .get("index")
        .and_then(Value::as_u64)
        .unwrap_or_default()
}
