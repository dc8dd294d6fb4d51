//! What an index is opened with, and what it says of itself.

use std::path::PathBuf;
use std::sync::Arc;

use crate::Embedder;

/// What the writer may keep in memory unless told otherwise.
const WRITER_BYTES: usize = 64 * 1024 * 1024;

/// How an index is opened.
#[derive(Clone)]
pub struct IndexOptions {
    /// Where its files are; `None` keeps it all in memory.
    pub folder: Option<PathBuf>,
    /// What the writer may keep in memory before it writes a piece out (at least 15 MB).
    pub writer_bytes: usize,
    /// Who makes the vectors; `None` for text alone.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// How text is looked at.
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

/// How text is looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct AnalyzerOptions {
    /// What a question's word found in the title adds, as a multiple of its BM25 score there. The
    /// title is part of each passage's searched text anyway, so 0 is plain BM25 over title,
    /// headings and text.
    pub title_boost: f32,
    /// Whether title and headings are put before the text a vector is made of.
    pub embed_headings: bool,
    /// How many distinct words of a question are looked for.
    pub query_words: usize,
    /// Up to how many vectors each one is compared in full. With more, their signs are compared
    /// first and only the best of these in full: quicker, and next to nothing is missed.
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

/// What an index holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Documents with at least one passage.
    pub documents: u64,
    /// Passages.
    pub passages: u64,
    /// Passages that have a vector of the present embedder.
    pub vectors: u64,
    /// Passages still without one; 0 when there is no embedder.
    pub missing_vectors: u64,
    /// The present embedder.
    pub embedder: Option<String>,
    /// How many numbers its vectors have, once there is one.
    pub dimensions: Option<usize>,
    /// What the files take on disk, or the vectors in memory.
    pub bytes: u64,
}

/// How far the background work has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MaintenanceReport {
    /// Vectors made just now.
    pub embedded: u64,
    /// Vectors still missing. When `made` is 0 and this is not, wait before trying again.
    pub remaining: u64,
}
