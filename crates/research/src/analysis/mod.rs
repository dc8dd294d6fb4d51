//! Looking at papers side by side: what they share, who cites whom and where, what they say about
//! the same thing. All of it is found in texts and sources; nothing is made up by a model.

mod contexts;
mod cues;
mod gathered;
mod markers;
mod named;
mod network;
mod numbers;
mod sentences;

pub(crate) use contexts::CitedWorkMatcher;
pub use contexts::{CitationContext, CitationContexts, find_citation_contexts};
pub(crate) use cues::clear_locations;
pub use cues::{ArticleInsight, InsightKind, extract_insights};
pub use gathered::{TopicArticle, find_topic_articles};
pub(crate) use network::lookup_id;
pub use network::{CitationNetwork, NetworkEdge, NetworkNode, build_citation_network};

use deliberate_toolkit::ToolError;

/// Looks at texts away from the threads that answer calls: they may be long.
pub(crate) async fn analyze_blocking<T: Send + 'static>(
    looking: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    let looked = tokio::task::spawn_blocking(looking).await;
    looked.map_err(|_| ToolError::Internal)
}
