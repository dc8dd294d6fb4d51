//! Full-text search: the tantivy schema, the analyzer, BM25.

pub(crate) mod analyzer;
pub(crate) mod bm25;
pub(crate) mod schema;
pub(crate) mod tokenizer;
