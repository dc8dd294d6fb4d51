//! Who can be asked, one file each.

mod client_driven;
mod sampling;

#[cfg(feature = "http")]
mod anthropic;
#[cfg(feature = "http")]
mod dialect;
#[cfg(feature = "http")]
mod langbase;
#[cfg(feature = "http")]
mod openai;
#[cfg(feature = "http")]
mod wire;

pub use client_driven::ClientDriven;
pub use sampling::{Sampling, SamplingPeer, SamplingReply, SamplingRequest};

#[cfg(feature = "http")]
pub use anthropic::{Anthropic, AnthropicSettings};
#[cfg(feature = "http")]
pub use langbase::{Langbase, LangbaseSettings};
#[cfg(feature = "http")]
pub use openai::{OpenAi, OpenAiSettings};
#[cfg(feature = "http")]
pub use wire::Prices;

use serde_json::Value;

/// The standing instructions with the schema written out, for providers that take no schema, or
/// may not heed one.
pub fn system_with_schema(system: &str, schema: &Value) -> String {
    format!(
        "{}\n\nAnswer with one JSON object that fits this JSON Schema: {schema}\n\
         Write nothing before it and nothing after it.",
        system.trim_end(),
    )
}
