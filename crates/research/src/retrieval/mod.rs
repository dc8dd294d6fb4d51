//! Search in the articles: queries, filters, ranking, and the passages of the hits.

pub(crate) mod hit_resolution;
pub(crate) mod index_filter;
pub(crate) mod llm_reranker;
pub(crate) mod query;
pub(crate) mod retriever;
pub(crate) mod sorting;
