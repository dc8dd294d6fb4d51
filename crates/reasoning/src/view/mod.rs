//! Reads stored reasoning: one entity by its id, a search, and the sessions.

mod branch_tree;
mod get;
mod load;
mod markdown;
mod mermaid;
mod sanitize;
mod search;
mod sessions;
mod short_ids;
mod size_budget;
mod usage_summary;

pub(crate) use get::ReasoningGet;
pub(crate) use search::SearchThoughts;
pub use search::{MatchKind, TextEmbedder, ThoughtMatch, ThoughtSearch, ThoughtSearchPage};
pub(crate) use sessions::ReasoningSessions;
