//! What makes vectors of texts, and what reorders passages: the embedded table, and services over
//! HTTP. Knows nothing of the index that keeps the vectors.

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
