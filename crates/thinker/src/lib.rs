//! How a model is asked.
//!
//! [`Thinker`] is the one trait: an [`Ask`] goes in, a [`Reply`] comes out. [`ask_for`] puts a
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

pub use answer::{Answer, Failed, ask_for};
pub use ask::{
    Ask, Finish, Listening, Message, Piece, PlainText, Purpose, Reply, Role, Thinker, Usage,
};
pub use error::ThinkError;
pub use fit::fit;
pub use function::{Function, FunctionCall, FunctionResult};
pub use lenient::{NoJson, read_json};
pub use providers::{
    ClientDriven, Sampling, SamplingPeer, SamplingReply, SamplingRequest, system_with_schema,
};

pub use turn::{MOST_CALLS, Turn, ask_turn, ask_turn_streaming};

#[cfg(feature = "http")]
pub use discover::{Found, Probe, find_local};
#[cfg(feature = "http")]
pub use http::{HttpSettings, install_crypto, is_on_this_machine};
#[cfg(feature = "http")]
pub use providers::{
    Anthropic, AnthropicSettings, Langbase, LangbaseSettings, OpenAi, OpenAiSettings, Prices,
};
#[cfg(feature = "http")]
pub use vendors::{JsonMode, TokenLimit, Vendor, find_vendor, vendors};
