//! Writing: putting and removing documents, and committing.

use std::sync::Arc;
use std::time::Duration;

use tantivy::IndexWriter;

use tokio::time::Instant;

use super::text::schema::{embedding_text, keys};
use crate::embed::EmbeddingPurpose;
use crate::index::{Index, IndexInner};
use crate::limits::check_document;
use crate::vectors::{QuantizedVector, quantize};
use crate::{EmbedError, Embedder, IndexError, IndexedDocument};

/// Vectors ready to be stored, and their dimensions.
#[derive(Default)]
pub(crate) struct NewVectors {
    pub rows: Vec<(u64, QuantizedVector)>,
    pub dimensions: usize,
}

/// Documents that are validated and about to be written.
struct PreparedDocuments {
    documents: Vec<IndexedDocument>,
    keys: Vec<Vec<u64>>,
    /// Keys and texts of the passages that need a vector.
    to_embed: Vec<(u64, String)>,
}

impl Index {
    /// Puts documents, each replacing the one with its id. They are visible after [`Self::commit`].
    /// Vectors of unchanged passages are reused; if the embedder fails, passages are written without
    /// and [`Self::run_maintenance`] makes the vectors later.
    pub async fn put(&self, documents: Vec<IndexedDocument>) -> Result<(), IndexError> {
        let ready = self.blocking(move |inner| inner.prepare(documents)).await?;
        self.inner.release_later();
        let PreparedDocuments {
            documents,
            keys,
            to_embed: wanted,
        } = ready;
        let vectors = match &self.inner.options.embedder {
            Some(embedder) => embed_passages(embedder, &wanted).await,
            None => NewVectors::default(),
        };
        drop(wanted);
        self.blocking(move |inner| {
            inner.with_writer(|writer, dirty| {
                *dirty = true;
                for (document, keys) in documents.iter().zip(&keys) {
                    writer.delete_term(inner.schema.document_term(&document.id));
                    for row in inner.schema.rows(document, keys) {
                        writer.add_document(row?)?;
                    }
                }
                inner.store_vectors(&vectors)
            })
        })
        .await
    }

    /// Removes documents; visible after [`Self::commit`].
    pub async fn remove(&self, ids: &[String]) -> Result<(), IndexError> {
        let ids = ids.to_vec();
        self.blocking(move |inner| {
            inner.with_writer(|writer, dirty| {
                *dirty = true;
                for id in &ids {
                    writer.delete_term(inner.schema.document_term(id));
                }
                Ok(())
            })
        })
        .await
    }

    /// Makes all writes durable and visible, and stores the caller's mark atomically with them.
    pub async fn commit(&self, mark: u64) -> Result<(), IndexError> {
        self.blocking(move |inner| {
            if inner.discard_lost() {
                return Err(IndexError::failed(
                    "what was put since the last commit was lost: put it again",
                ));
            }
            inner.with_writer(|writer, dirty| {
                inner.commit(writer, mark)?;
                *dirty = false;
                Ok(())
            })?;
            inner.fresh_snapshot().map(|_| ())
        })
        .await?;
        self.inner.release_later();
        Ok(())
    }

    /// Releases the writer at once for other processes; it is released anyway a moment after each
    /// commit. Uncommitted writes keep it.
    pub async fn release(&self) -> Result<(), IndexError> {
        self.blocking(|inner| {
            inner.release(None);
            Ok(())
        })
        .await
    }

    /// Removes everything at once; the mark is 0 again.
    pub async fn clear(&self) -> Result<(), IndexError> {
        self.blocking(move |inner| {
            inner.discard_lost();
            inner.with_writer(|writer, dirty| {
                *dirty = true;
                writer.delete_all_documents()?;
                inner.commit(writer, 0)?;
                *dirty = false;
                match &inner.vectors {
                    Some(vectors) => vectors.clear(),
                    None => Ok(()),
                }
            })?;
            inner.fresh_snapshot().map(|_| ())
        })
        .await?;
        self.inner.release_later();
        Ok(())
    }
}

impl IndexInner {
    /// Validates documents and finds the passages that need a vector. Acquires the writer first, so
    /// that [`IndexError::Busy`] comes before the work and not after it.
    fn prepare(&self, documents: Vec<IndexedDocument>) -> Result<PreparedDocuments, IndexError> {
        for document in &documents {
            check_document(document)?;
        }
        self.with_writer(|_, _| Ok(()))?;
        let keys: Vec<Vec<u64>> = documents.iter().map(keys).collect();
        let mut wanted = Vec::new();
        if let Some(vectors) = &self.vectors {
            let headings = self.options.analyzer.embed_headings;
            let flat: Vec<u64> = keys.iter().flatten().copied().collect();
            let mut unknown = vectors.missing_keys(&flat)?.into_iter();
            for (document, keys) in documents.iter().zip(&keys) {
                let passages = document.passages.iter().zip(keys).zip(unknown.by_ref());
                let needed = passages.filter(|(_, unknown)| *unknown);
                wanted.extend(needed.map(|((passage, key), _)| {
                    (*key, embedding_text(&document.title, passage, headings))
                }));
            }
        }
        Ok(PreparedDocuments {
            documents,
            keys,
            to_embed: wanted,
        })
    }

    pub(crate) fn store_vectors(&self, made: &NewVectors) -> Result<(), IndexError> {
        match &self.vectors {
            Some(vectors) if !made.rows.is_empty() => vectors.add(&made.rows, made.dimensions),
            _ => Ok(()),
        }
    }

    /// Commits vectors first: rows without a passage do no harm, and the mark then covers both.
    fn commit(&self, writer: &mut IndexWriter, mark: u64) -> Result<(), IndexError> {
        if let Some(vectors) = &self.vectors {
            vectors.flush()?;
        }
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(&mark.to_string());
        commit.commit()?;
        Ok(())
    }
}

/// Makes as many vectors as the embedder returns in time.
async fn embed_passages(embedder: &Arc<dyn Embedder>, wanted: &[(u64, String)]) -> NewVectors {
    let mut new_vectors = NewVectors::default();
    let until = Instant::now() + EMBED_TIMEOUT;
    for batch in wanted.chunks(embedder.batch().max(1)) {
        let one = embed_batch(embedder, batch, &mut new_vectors);
        let Ok(one) = tokio::time::timeout_at(until, one).await else {
            // Full-text search works by now; the rest is done by maintenance.
            break;
        };
        if let Err(error) = one {
            let left = wanted.len() - new_vectors.rows.len();
            tracing::warn!(%error, left, "passages are indexed without vectors for now");
            break;
        }
    }
    new_vectors
}

/// The time that writing waits for vectors.
const EMBED_TIMEOUT: Duration = Duration::from_secs(5);

/// Makes the vectors of one batch, all or none.
pub(crate) async fn embed_batch(
    embedder: &Arc<dyn Embedder>,
    batch: &[(u64, String)],
    new_vectors: &mut NewVectors,
) -> Result<(), EmbedError> {
    let texts: Vec<String> = batch.iter().map(|(_, text)| text.clone()).collect();
    let vectors = embedder.embed(&texts, EmbeddingPurpose::Passage).await?;
    let dimensions = check_vectors(&vectors, texts.len())?;
    if new_vectors.dimensions != 0 && new_vectors.dimensions != dimensions {
        return Err(EmbedError::Malformed {
            reason: format!(
                "vectors of {} and of {dimensions} numbers",
                new_vectors.dimensions
            ),
        });
    }
    new_vectors.dimensions = dimensions;
    for ((key, _), vector) in batch.iter().zip(vectors) {
        // A text without direction (no known word) is near to nothing, but has a row: otherwise it would
        // be embedded again and again.
        let row = quantize(&vector).unwrap_or_else(|| QuantizedVector {
            scale: 0.0,
            values: vec![0; dimensions],
        });
        new_vectors.rows.push((*key, row));
    }
    Ok(())
}

/// Returns the dimensions if the vectors are usable.
pub(crate) fn check_vectors(vectors: &[Vec<f32>], wanted: usize) -> Result<usize, EmbedError> {
    let malformed = |reason: String| Err(EmbedError::Malformed { reason });
    if vectors.len() != wanted {
        return malformed(format!("{} vectors for {wanted} texts", vectors.len()));
    }
    let dimensions = vectors.first().map_or(0, Vec::len);
    if dimensions == 0 || vectors.iter().any(|vector| vector.len() != dimensions) {
        return malformed("vectors of differing lengths, or empty ones".to_owned());
    }
    if vectors.iter().flatten().any(|value| !value.is_finite()) {
        return malformed("a vector with something that is not a number".to_owned());
    }
    Ok(dimensions)
}
