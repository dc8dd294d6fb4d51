//! Analysis across papers: citations and their contexts, insights, and topics. Everything comes
//! from texts and sources; no model is involved.

mod citation_contexts;
mod citation_markers;
mod citation_network;
mod insights;
mod topic_articles;

pub(crate) use citation_contexts::CitedWorkMatcher;
pub use citation_contexts::{CitationContext, CitationContexts, find_citation_contexts};
pub(crate) use citation_network::lookup_id;
pub use citation_network::{CitationNetwork, NetworkEdge, NetworkNode, build_citation_network};
pub(crate) use insights::clear_locations;
pub use insights::{ArticleInsight, InsightKind, extract_insights};
pub use topic_articles::{TopicArticle, find_topic_articles};
