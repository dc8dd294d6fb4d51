#![doc = include_str!("../README.md")]

mod bit_set;
pub mod chunk;
mod document;
mod embed;
mod error;
mod index;
mod limits;
mod maintenance;
mod options;
pub mod search;
mod snapshot;
pub mod testing;
pub(crate) mod text;
mod vectors;
mod writer;
mod writer_lock;

pub use document::{Facets, IndexFilter, IndexedDocument, Passage};
#[cfg(feature = "http")]
pub use embed::{CohereReranker, OpenAiEmbedder, ServiceSettings};
pub use embed::{EmbedError, Embedder, EmbeddingPurpose, Reranker, StaticEmbedder};
pub use error::IndexError;
pub use index::Index;
pub use options::{AnalyzerOptions, IndexOptions, MaintenanceReport, Stats};
pub use search::{
    query::{Fusion, PassageHit, PassageHits, Query, SearchMode, SearchTimings},
    rank_fusion::{FusedItem, Ranking, ScoredRanking, fuse, fuse_adaptive},
};
