//! Reading back what was thought: one thing by its id, a search over everything, the sessions.

mod gather;
mod get;
mod markdown;
mod mermaid;
mod plain;
mod room;
mod search;
mod sessions;

pub use get::ReasoningGet;
pub use search::SearchThoughts;
pub use sessions::ReasoningSessions;
