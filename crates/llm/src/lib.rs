#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod coerce;
mod error;
mod fields_block;
mod free_text;
mod free_text_reply;
mod json_repair;
mod providers;
mod request;
mod retry_request;
mod structured_output;
mod tool_call;
mod tool_use;

#[cfg(feature = "http")]
mod http;
#[cfg(feature = "http")]
mod local_discovery;
#[cfg(feature = "http")]
mod vendors;

pub use error::ModelError;
pub use free_text_reply::is_blank;
pub use providers::{
    ClientDriven, Sampling, SamplingError, SamplingPeer, SamplingReply, SamplingRequest,
    system_with_schema,
};

pub use coerce::coerce;
pub use json_repair::{NoJson, read_json};
pub use request::{
    ChatMessage, ChatModel, ChatRole, FinishReason, ModelReply, ModelRequest, OnStreamEvent,
    PlainText, Purpose, ReplyNormalizer, StreamEvent, TokenUsage,
};
pub use structured_output::{StructuredError, StructuredOutput, ask_structured};
pub use tool_call::{ImageData, ToolCall, ToolCallOutput, ToolDefinition};
pub use tool_use::{MAX_TOOL_CALLS, ModelTurn, ask_turn, ask_turn_streaming};

#[cfg(feature = "http")]
pub use http::HttpSettings;
#[cfg(feature = "http")]
pub use local_discovery::{LocalServer, ProbeTarget, find_local};
#[cfg(feature = "http")]
pub use providers::{
    Anthropic, AnthropicSettings, Langbase, LangbaseSettings, OpenAi, OpenAiSettings, PROVIDERS,
    Provider, ProviderModel, ProviderOptions, TokenPrices, find_provider, find_vendor,
};
#[cfg(feature = "http")]
pub use vendors::{JsonMode, TokenLimit, Vendor};
