//! What makes vectors of texts, and what reorders passages: the embedded table, and services over
//! HTTP. Knows nothing of the index that keeps the vectors.

mod pieces;
mod table;
mod traits;
mod words;

#[cfg(feature = "http")]
mod http;

#[cfg(feature = "http")]
pub use http::{CohereReranker, OpenAiEmbedder, ServiceSettings};
pub use table::StaticEmbedder;
pub use traits::{EmbedError, Embedder, EmbeddingPurpose, Reranker};
