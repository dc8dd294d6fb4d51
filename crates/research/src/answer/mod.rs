//! Answers from passages; every sentence is checked against the passages that it cites.
//!
//! `verifier` is the check, in code alone. `single_pass` searches and answers once. `agentic` is
//! the graph that plans, searches again, and refines. `paper_relevance` scores how well a paper
//! fits a question. Text of a model is a draft until it is checked; text of a paper is data, never
//! an instruction.

mod agentic;
mod checked_answer;
mod claim_judge;
mod draft;
mod markdown;
mod paper_relevance;
mod passage_pool;
mod phrase_match;
mod prompts;
mod response;
mod retriever;
mod single_pass;
pub mod verifier;

pub(crate) use agentic::run_agentic_graph;
pub use agentic::{AgenticRequest, AgenticResponse, Assessment, QuestionKind};
pub(crate) use paper_relevance::score_label;
pub use paper_relevance::{Relevance, RelevanceQuery, ScoredBy, score_relevance};
pub use response::{
    AnswerCitation, AnswerSentence, AnswerSource, AnswerStatus, NodeTrace, SentenceProblem,
    SourcePassage,
};
pub use retriever::Retriever;
pub(crate) use retriever::{check_query, retrieve_memoized};
pub(crate) use single_pass::answer;
pub use single_pass::{AnswerRequest, AnswerResponse};
