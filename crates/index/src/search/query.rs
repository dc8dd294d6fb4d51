//! What is asked of an index, and what it answers.

use std::sync::Arc;
use std::time::Duration;

use crate::{IndexFilter, Passage, Reranker};

/// Which side of the index answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SearchMode {
    /// Words and vectors, fused.
    #[default]
    Hybrid,
    /// Words alone (BM25).
    Text,
    /// Vectors alone (cosine).
    Vector,
}

/// How the two sides are fused.
#[derive(Debug, Clone, PartialEq)]
pub struct Fusion {
    /// What is added to each rank: the larger, the less the first places count.
    pub rank_constant: f32,
    /// The weight of the vectors' ranks, or the most it can be.
    pub vector_weight: f32,
    /// The weight of the words' ranks, or the most it can be.
    pub text_weight: f32,
    /// Whether a side that has little to say on this question counts less than its weight.
    ///
    /// If so, a place counts weight × (score ÷ its side's best score)² ÷ (constant + rank), and the
    /// vectors' weight is first multiplied by (1 − covered)². Covered is the BM25 score of the
    /// words' best passage as a share of the most that the question's words could score, words
    /// that are nowhere included: 0 when hardly a word is found, towards 1 when one passage is
    /// full of them all. If not, a place counts weight ÷ (constant + rank) whatever it scored.
    pub adaptive: bool,
    /// How many candidates each side gives, as a multiple of `k`.
    pub candidates: usize,
    /// How many candidates each side gives at the least.
    pub min_candidates: usize,
}

impl Default for Fusion {
    /// For the embedded embedder, whose vectors are weaker than the words on most collections.
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
    /// For the vectors of a real model, such as a service's: they count more than the words.
    pub fn for_services() -> Self {
        Self {
            vector_weight: 0.7,
            text_weight: 0.3,
            ..Self::default()
        }
    }
}

/// A question.
#[derive(Clone)]
pub struct Query {
    /// The question, as plain text: nothing in it is syntax.
    pub text: String,
    /// How many passages to answer with.
    pub k: usize,
    /// Which side answers.
    pub mode: SearchMode,
    /// Which documents may be found.
    pub filter: IndexFilter,
    /// How the sides are fused.
    pub fusion: Fusion,
    /// Who has a second look at the best.
    pub reranker: Option<Arc<dyn Reranker>>,
    /// How many it looks at.
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

/// The answer to a question, best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PassageHits {
    /// The passages.
    pub hits: Vec<PassageHit>,
    /// Which side really answered.
    pub mode: SearchMode,
    /// What the asker should know, such as vectors still being made.
    pub notes: Vec<String>,
    /// How long the parts took.
    pub timings: SearchTimings,
}

/// A passage that was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PassageHit {
    /// The id of its document.
    pub document: String,
    /// The passage.
    pub passage: Passage,
    /// What it was ranked by: the fused score, or that of the one side that answered.
    pub score: f32,
    /// Its BM25 score, if the words found it.
    pub text_score: Option<f32>,
    /// Its place among what the words found, from 1.
    pub text_rank: Option<u32>,
    /// Its cosine similarity, if the vectors found it.
    pub similarity: Option<f32>,
    /// Its place among what the vectors found, from 1.
    pub vector_rank: Option<u32>,
    /// What the reranker gave it.
    pub rerank_score: Option<f32>,
}

/// How long the parts of a search took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SearchTimings {
    /// Making the question's vector.
    pub embed: Duration,
    /// Finding by words.
    pub text: Duration,
    /// Finding by vector.
    pub vector: Duration,
    /// Reranking.
    pub rerank: Duration,
    /// All of it.
    pub total: Duration,
}
