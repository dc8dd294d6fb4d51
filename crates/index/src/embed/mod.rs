//! Embedders and rerankers: the built-in table, and services over HTTP. Knows nothing of the index
//! that stores the vectors.

pub(crate) mod cooldown;
mod pre_tokenizer;
mod static_embedder;
mod traits;
mod wordpiece;

#[cfg(feature = "http")]
mod http;

#[cfg(feature = "http")]
pub use http::{CohereReranker, OpenAiEmbedder, ServiceSettings};
pub use static_embedder::StaticEmbedder;
pub use traits::{EmbedError, Embedder, EmbeddingPurpose, Reranker};
