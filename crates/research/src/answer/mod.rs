//! Answers from passages, each sentence of which is checked against what it cites.
//!
//! `verify` is the check, in code alone; `plain` is one look and one answer; `agentic` is the graph
//! that plans, looks again and tightens; `relevance` says how well a paper fits a question. What a
//! model says is a draft until it is checked; what a paper says is data.

mod agentic;
mod asks;
mod draft;
mod judged;
mod plain;
mod pool;
mod relevance;
mod rerank;
mod said;
mod shelf;
mod shown;
pub mod verify;
mod words;

pub(crate) use agentic::{AgenticRequest as AgenticAsked, run_agentic_graph};
pub use agentic::{Assessment, QuestionKind as QueryKind};
pub(crate) use plain::{AnswerRequest, AnswerResponse, answer};
pub(crate) use relevance::score_label;
pub use relevance::{Relevance, RelevanceQuery, ScoredBy, score_relevance};
pub use shelf::Retriever;
pub(crate) use shelf::{check_query, retrieve_memoized};
pub use shown::{
    AnswerCitation, AnswerSentence, AnswerSource, AnswerStatus, NodeTrace, SentenceProblem,
    SourcePassage,
};
