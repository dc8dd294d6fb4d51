//! Queries and their results.

use std::sync::Arc;
use std::time::Duration;

use crate::{IndexFilter, Passage, Reranker};

/// Which side of the index answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SearchMode {
    /// Full-text and vector search, fused.
    #[default]
    Hybrid,
    /// Full-text search (BM25).
    Text,
    /// Vector search (cosine).
    Vector,
}

/// The parameters of rank fusion.
#[derive(Debug, Clone, PartialEq)]
pub struct Fusion {
    /// Added to each rank: the larger, the less the first ranks count.
    pub rank_constant: f32,
    /// The weight of the vector ranks, or its maximum if adaptive.
    pub vector_weight: f32,
    /// The weight of the text ranks, or its maximum if adaptive.
    pub text_weight: f32,
    /// Whether a side with little evidence for this query counts less than its weight.
    ///
    /// If so, a rank counts weight × (score ÷ best score of its side)² ÷ (constant + rank), and the
    /// vector weight is first multiplied by (1 − coverage)². Coverage is the BM25 score of the best
    /// passage as a share of the maximum that the query words could score, words that occur nowhere
    /// included: 0 if hardly a word is found, near 1 if one passage has them all. If not, a rank counts
    /// weight ÷ (constant + rank) whatever its score.
    pub adaptive: bool,
    /// The candidates of each side, as a multiple of `k`.
    pub candidates: usize,
    /// The minimum of candidates of each side.
    pub min_candidates: usize,
}

impl Default for Fusion {
    /// For the built-in embedder, whose vectors are weaker than full-text search on most collections.
    fn default() -> Self {
        Self {
            rank_constant: 60.0,
            vector_weight: 0.3,
            text_weight: 0.7,
            adaptive: true,
            candidates: 5,
            min_candidates: 50,
        }
    }
}

impl Fusion {
    /// For vectors of a full model, such as a service's, which count more than full-text search.
    pub fn for_services() -> Self {
        Self {
            vector_weight: 0.7,
            text_weight: 0.3,
            ..Self::default()
        }
    }
}

#[derive(Clone)]
pub struct Query {
    /// Plain text without syntax.
    pub text: String,
    /// The number of passages to return.
    pub k: usize,
    pub mode: SearchMode,
    pub filter: IndexFilter,
    pub fusion: Fusion,
    /// Reranks the best hits.
    pub reranker: Option<Arc<dyn Reranker>>,
    /// The hits that are reranked.
    pub rerank_candidates: usize,
}

impl Default for Query {
    fn default() -> Self {
        Self {
            text: String::new(),
            k: 10,
            mode: SearchMode::Hybrid,
            filter: IndexFilter::All,
            fusion: Fusion::default(),
            reranker: None,
            rerank_candidates: 30,
        }
    }
}

/// The result of a query, best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PassageHits {
    pub hits: Vec<PassageHit>,
    /// The side that answered.
    pub mode: SearchMode,
    /// Notes for the caller, such as vectors still being made.
    pub notes: Vec<String>,
    pub timings: SearchTimings,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct PassageHit {
    /// The document id.
    pub document: String,
    pub passage: Passage,
    /// The fused score, or that of the side that answered.
    pub score: f32,
    /// The BM25 score, if full-text search found it.
    pub text_score: Option<f32>,
    /// The rank in full-text search, from 1.
    pub text_rank: Option<u32>,
    /// The cosine similarity, if vector search found it.
    pub similarity: Option<f32>,
    /// The rank in vector search, from 1.
    pub vector_rank: Option<u32>,
    pub rerank_score: Option<f32>,
}

/// The duration of the parts of a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SearchTimings {
    /// Embedding the query.
    pub embed: Duration,
    /// Full-text search.
    pub text: Duration,
    /// Vector search.
    pub vector: Duration,
    pub rerank: Duration,
    pub total: Duration,
}
