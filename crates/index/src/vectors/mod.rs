//! Vector search: rows in one file per embedder, identified by passage keys. Knows nothing of
//! passages but their keys, nor of who writes when.

mod files;
mod format;
mod mmap;
mod nearest;
pub(crate) mod passage_join;
mod quantization;
mod segments;
mod store;

pub(crate) use files::is_vectors;
pub(crate) use format::EmbedderIdentity;
pub(crate) use nearest::{ScanStrategy, nearest};
pub(crate) use quantization::{QuantizedVector, quantize};
pub(crate) use segments::VectorSet;
pub(crate) use store::{NO_ROW, VectorSnapshot, VectorStore};

#[cfg(test)]
mod tests;
