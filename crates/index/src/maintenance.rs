//! Background maintenance: missing vectors, and rows that are no longer used.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::{
    text::schema::{KEY, embedding_text},
    writer::{NewVectors, embed_batch},
};
use crate::index::{Index, IndexInner};
use crate::vectors::VectorStore;
use crate::{IndexError, MaintenanceReport};

/// Passages per batch, and the time limit below.
const MAX_PASSAGES: usize = 2048;
const MAX_TIME: Duration = Duration::from_secs(2);

impl Index {
    /// Does one batch of maintenance: makes vectors that are missing because the embedder changed or
    /// was unavailable, then compacts. Call it again while `remaining` is above 0.
    pub async fn run_maintenance(
        &self,
        stop: &CancellationToken,
    ) -> Result<MaintenanceReport, IndexError> {
        let Some(embedder) = &self.inner.options.embedder else {
            return Ok(MaintenanceReport::default());
        };
        let dimensions = match self.inner.vectors_dimensions() {
            Some(_) => Some(embedder.dimensions().await?),
            None => None,
        };
        let (wanted, missing) = self
            .blocking(move |inner| inner.next_batch(dimensions))
            .await?;
        self.inner.release_later();
        let mut vectors = NewVectors::default();
        let mut failed = None;
        let began = Instant::now();
        for batch in wanted.chunks(embedder.batch().max(1)) {
            let batch = embed_batch(embedder, batch, &mut vectors);
            let done = tokio::select! {
                () = stop.cancelled() => break,
                done = batch => done,
            };
            failed = done.err();
            if failed.is_some() || began.elapsed() > MAX_TIME {
                break;
            }
        }
        let done = vectors.rows.len() as u64;
        if done > 0 {
            self.blocking(move |inner| {
                inner.with_writer(|_, _| {
                    inner.store_vectors(&vectors)?;
                    inner.vectors.as_ref().map_or(Ok(()), VectorStore::flush)
                })?;
                inner.fresh_snapshot().map(|_| ())
            })
            .await?;
            self.inner.release_later();
        }
        match failed {
            Some(error) => Err(error.into()),
            None => Ok(MaintenanceReport {
                embedded: done,
                remaining: missing.saturating_sub(done),
            }),
        }
    }
}

impl IndexInner {
    fn vectors_dimensions(&self) -> Option<usize> {
        self.vectors.as_ref().and_then(VectorStore::dimensions)
    }

    /// Returns keys and texts of some passages without vectors and their total; compacts if there are
    /// none.
    fn next_batch(
        &self,
        dimensions: Option<usize>,
    ) -> Result<(Vec<(u64, String)>, u64), IndexError> {
        let Some(vectors) = &self.vectors else {
            return Ok((Vec::new(), 0));
        };
        self.with_writer(|_, dirty| {
            if dimensions.is_some() && dimensions != vectors.dimensions() {
                vectors.clear()?;
            }
            let view = self.fresh_snapshot()?;
            let Some(rows) = view.rows(self)? else {
                return Ok((Vec::new(), 0));
            };
            let mut wanted = Vec::new();
            for address in rows.missing_vectors(&view.searcher, MAX_PASSAGES) {
                let segment = view.searcher.segment_reader(address.segment_ord);
                let key = segment.fast_fields().u64(KEY)?.first(address.doc_id);
                let kept = self.schema.read(&view.searcher.doc(address)?)?;
                let headings = self.options.analyzer.embed_headings;
                let text = embedding_text(&kept.title, &kept.passage, headings);
                wanted.extend(key.map(|key| (key, text)));
            }
            // Uncommitted passages look deleted in this snapshot.
            if wanted.is_empty() && !*dirty {
                vectors.compact(rows.generation, &rows.live)?;
                vectors.remove_stale_files();
            }
            Ok((wanted, rows.missing))
        })
    }
}
