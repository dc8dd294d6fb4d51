//! Reading back what was thought: one thing by its id, a search over everything, the sessions.

mod get;
mod load;
mod markdown;
mod mermaid;
mod sanitize;
mod search;
mod sessions;
mod size_budget;

pub use get::ReasoningGet;
pub use search::SearchThoughts;
pub use sessions::ReasoningSessions;
