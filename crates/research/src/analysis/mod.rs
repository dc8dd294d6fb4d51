//! Looking at papers side by side: what they share, who cites whom and where, what they say about
//! the same thing. All of it is found in texts and sources; nothing is made up by a model.

mod citation_contexts;
mod citation_markers;
mod citation_network;
mod insights;
mod sentence_splitter;
mod topic_articles;

pub(crate) use citation_contexts::CitedWorkMatcher;
pub use citation_contexts::{CitationContext, CitationContexts, find_citation_contexts};
pub(crate) use citation_network::lookup_id;
pub use citation_network::{CitationNetwork, NetworkEdge, NetworkNode, build_citation_network};
pub(crate) use insights::clear_locations;
pub use insights::{ArticleInsight, InsightKind, extract_insights};
pub use topic_articles::{TopicArticle, find_topic_articles};

use deliberate_toolkit::ToolError;

/// Looks at texts away from the threads that answer calls: they may be long.
pub(crate) async fn analyze_blocking<T: Send + 'static>(
    looking: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    let looked = tokio::task::spawn_blocking(looking).await;
    looked.map_err(|_| ToolError::Internal)
}
