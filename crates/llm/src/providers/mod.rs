//! Who can be asked, one file each.

mod client_driven;
mod sampling;

#[cfg(feature = "http")]
mod anthropic;
#[cfg(feature = "http")]
mod chat_json;
#[cfg(feature = "http")]
mod chat_tool_calls;
#[cfg(feature = "http")]
mod langbase;
#[cfg(feature = "http")]
mod openai;
#[cfg(feature = "http")]
mod tool_support;

pub use client_driven::ClientDriven;
pub use sampling::{Sampling, SamplingPeer, SamplingReply, SamplingRequest};

#[cfg(feature = "http")]
pub use anthropic::{Anthropic, AnthropicSettings};
#[cfg(feature = "http")]
pub use chat_json::TokenPrices;
#[cfg(feature = "http")]
pub use langbase::{Langbase, LangbaseSettings};
#[cfg(feature = "http")]
pub use openai::{OpenAi, OpenAiSettings};

use std::borrow::Cow;

use serde_json::Value;

use super::tool_use::tools_as_prompt;
use crate::ModelRequest;

/// The ask without functions, calls and results, for who takes none: what there is of them stands
/// in words.
fn without_native_tools(ask: &ModelRequest) -> Cow<'_, ModelRequest> {
    let spoken =
        |message: &crate::ChatMessage| message.calls.is_empty() && message.results.is_empty();
    if ask.functions.is_empty() && ask.messages.iter().all(spoken) {
        Cow::Borrowed(ask)
    } else {
        Cow::Owned(tools_as_prompt(ask))
    }
}

/// The standing instructions with the schema written out, for providers that take no schema, or
/// may not heed one.
pub fn system_with_schema(system: &str, schema: &Value) -> String {
    if schema.is_null() {
        return system.to_owned();
    }
    format!(
        "{}\n\nAnswer with one JSON object that fits this JSON Schema: {schema}\n\
         Write nothing before it and nothing after it.",
        system.trim_end(),
    )
}

/// The standing instructions for one who may call functions before the answer.
#[cfg(feature = "http")]
fn system_with_tools(ask: &ModelRequest) -> String {
    if ask.answer_now || ask.schema.is_null() {
        return system_with_schema(&ask.system, &ask.schema);
    }
    format!(
        "{}\n\nWhen you need to call nothing more, answer with one JSON object that fits this JSON \
         Schema: {}\nWrite nothing before it and nothing after it.",
        ask.system.trim_end(),
        ask.schema
    )
}
