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

pub(crate) use agentic::{Asked as AgenticAsked, research};
pub use agentic::{Assessment, Kind as QueryKind};
pub(crate) use plain::{Answered, Asked, answer};
pub(crate) use relevance::band;
pub use relevance::{By, QuestionLike, Relevance, relevance};
pub use shelf::Retrieves;
pub(crate) use shelf::{look, looked_for};
pub use shown::{
    Citation, PassageShown, ProblemShown, SentenceShown, SourceShown, Status, TracedNode,
};
