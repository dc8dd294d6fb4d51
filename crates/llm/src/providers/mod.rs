//! Chat models, one file for each protocol, and the table of providers.

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
pub(crate) mod table;
#[cfg(feature = "http")]
mod tool_support;

pub use client_driven::ClientDriven;
pub use sampling::{Sampling, SamplingError, SamplingPeer, SamplingReply, SamplingRequest};

#[cfg(feature = "http")]
pub use anthropic::{Anthropic, AnthropicSettings};
#[cfg(feature = "http")]
pub use chat_json::TokenPrices;
#[cfg(feature = "http")]
pub use langbase::{Langbase, LangbaseSettings};
#[cfg(feature = "http")]
pub use openai::{OpenAi, OpenAiSettings};
#[cfg(feature = "http")]
pub use table::{PROVIDERS, Provider, ProviderModel, ProviderOptions, find_provider, find_vendor};

use std::borrow::Cow;

use serde_json::Value;

use super::tool_use::tools_as_prompt;
use crate::ModelRequest;

/// Returns the request with tools, calls and results written as text, for providers that do not
/// accept them natively.
fn without_native_tools(ask: &ModelRequest) -> Cow<'_, ModelRequest> {
    let spoken =
        |message: &crate::ChatMessage| message.calls.is_empty() && message.results.is_empty();
    if ask.functions.is_empty() && ask.messages.iter().all(spoken) {
        Cow::Borrowed(ask)
    } else {
        Cow::Owned(tools_as_prompt(ask))
    }
}

/// Returns the system prompt with the schema appended, for providers that accept no schema or may
/// ignore it.
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

/// Returns the system prompt for a model that may call tools before it answers.
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
