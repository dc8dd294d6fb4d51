//! How a model is asked.
//!
//! [`ChatModel`] is the one trait: an [`ModelRequest`] goes in, a [`ModelReply`] comes out. [`ask_for`] puts a
//! typed answer on top of it: schema-constrained where the provider can, read leniently where
//! it can't, asked once more when the answer does not fit. [`ask_turn`] is one turn of a
//! conversation in which the model may call functions, in the provider's own form or put in words.
//! Providers live in `providers/`, one file a wire format; vendors of the `OpenAI` kind are data files in `endpoints/`.
//!
//! This crate knows nothing of tools, sessions or storage. Without its `http` feature it is
//! only the trait, the reader and the providers that need no network.

mod answer;
mod ask;
mod error;
mod fit;
mod function;
mod lenient;
mod providers;
mod shorten;
mod turn;

#[cfg(feature = "http")]
mod discover;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "http")]
mod vendors;

pub use answer::{StructuredError, StructuredOutput, ask_structured};
pub use ask::{
    ChatMessage, ChatModel, ChatRole, FinishReason, ModelReply, ModelRequest, OnStreamEvent,
    PlainText, Purpose, StreamEvent, TokenUsage,
};
pub use error::ModelError;
pub use fit::coerce;
pub use function::{ToolCall, ToolCallOutput, ToolDefinition};
pub use lenient::{NoJson, read_json};
pub use providers::{
    ClientDriven, Sampling, SamplingPeer, SamplingReply, SamplingRequest, system_with_schema,
};

pub use turn::{MAX_TOOL_CALLS, ModelTurn, ask_turn, ask_turn_streaming};

#[cfg(feature = "http")]
pub use discover::{LocalServer, ProbeTarget, find_local};
#[cfg(feature = "http")]
pub use http::{HttpSettings, install_crypto, is_local_url};
#[cfg(feature = "http")]
pub use providers::{
    Anthropic, AnthropicSettings, Langbase, LangbaseSettings, OpenAi, OpenAiSettings, TokenPrices,
};
#[cfg(feature = "http")]
pub use vendors::{JsonMode, TokenLimit, Vendor, find_vendor, vendors};
