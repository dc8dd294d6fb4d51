//! Hybrid search over passages: BM25 and vectors, fused by reciprocal rank, with filters.
//!
//! Knows nothing of papers, tools, stores or HTTP: a document is an id, a title, some facets and
//! its passages; who makes the vectors and who reranks is behind the traits [`Embedder`] and
//! [`Reranker`]. All that is kept here is derived: it can be wiped and made again.

mod bits;
pub mod chunk;
mod document;
mod embed;
mod error;
mod filter;
mod fuse;
mod index;
mod join;
mod layout;
mod limits;
mod lock;
mod options;
mod put;
mod query;
mod question;
mod rerank;
mod rest;
mod runs;
mod search;
pub mod testing;
mod text;
mod top;
mod vectors;
mod view;
mod words;
mod work;

pub use document::{Facets, IndexFilter, IndexedDocument, Passage};
#[cfg(feature = "http")]
pub use embed::{CohereReranker, OpenAiEmbedder, ServiceSettings};
pub use embed::{EmbedError, Embedder, EmbeddingPurpose, Reranker, StaticEmbedder};
pub use error::IndexError;
pub use fuse::{FusedItem, Ranking, ScoredRanking, fuse, fuse_adaptive};
pub use index::Index;
pub use options::{AnalyzerOptions, IndexOptions, MaintenanceReport, Stats};
pub use query::{Fusion, PassageHit, PassageHits, Query, SearchMode, SearchTimings};
