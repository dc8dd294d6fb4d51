//! The options of an index, and its statistics.

use std::path::PathBuf;
use std::sync::Arc;

use crate::Embedder;

/// The default memory budget of the writer.
const WRITER_BYTES: usize = 64 * 1024 * 1024;

#[derive(Clone)]
pub struct IndexOptions {
    /// The folder of its files; `None` is an index in memory.
    pub folder: Option<PathBuf>,
    /// The memory budget of the writer before it flushes a segment (at least 15 MB).
    pub writer_bytes: usize,
    /// `None` for full-text search only.
    pub embedder: Option<Arc<dyn Embedder>>,
    pub analyzer: AnalyzerOptions,
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self {
            folder: None,
            writer_bytes: WRITER_BYTES,
            embedder: None,
            analyzer: AnalyzerOptions::default(),
        }
    }
}

/// How texts are analyzed and compared.
#[derive(Debug, Clone, PartialEq)]
pub struct AnalyzerOptions {
    /// The boost of a query word in the title, as a multiple of its BM25 score there. The title is part
    /// of each passage's searched text anyway, so 0 is plain BM25 over title, headings and text.
    pub title_boost: f32,
    /// Whether title and headings are part of the embedded text.
    pub embed_headings: bool,
    /// The number of distinct query words that are searched.
    pub query_words: usize,
    /// Up to this number of vectors each one is compared in full. Above it, signs are compared first
    /// and only the best rows in full: faster, with almost no loss of recall.
    pub exact_up_to: u64,
}

impl Default for AnalyzerOptions {
    fn default() -> Self {
        Self {
            title_boost: 0.0,
            embed_headings: true,
            query_words: 64,
            exact_up_to: 200_000,
        }
    }
}

/// Statistics of an index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Documents with at least one passage.
    pub documents: u64,
    pub passages: u64,
    /// Passages with a vector of the current embedder.
    pub vectors: u64,
    /// Passages without one; 0 without an embedder.
    pub missing_vectors: u64,
    /// The id of the current embedder.
    pub embedder: Option<String>,
    /// The dimensions of its vectors, once there is one.
    pub dimensions: Option<usize>,
    /// The size of the files on disk, or of the vectors in memory.
    pub bytes: u64,
}

/// The result of one batch of maintenance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MaintenanceReport {
    /// Vectors made in this batch.
    pub embedded: u64,
    /// Vectors still missing. If `embedded` is 0 and this is not, wait before trying again.
    pub remaining: u64,
}
