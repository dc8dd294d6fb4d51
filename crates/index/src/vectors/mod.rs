//! The vectors' side of the index: rows in one file per embedder, found again by the passages'
//! keys. Knows nothing of passages beyond their keys, nor of who writes when.

mod files;
mod format;
mod map;
mod quantise;
mod scan;
mod set;
mod store;

pub(crate) use files::is_vectors;
pub(crate) use format::EmbedderIdentity;
pub(crate) use quantise::{QuantizedVector, quantize};
pub(crate) use scan::{ScanStrategy, nearest};
pub(crate) use set::VectorSet;
pub(crate) use store::{NO_ROW, VectorSnapshot, VectorStore};

#[cfg(test)]
mod tests;
