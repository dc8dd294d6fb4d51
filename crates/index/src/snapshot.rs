//! Snapshots of the index: every search uses one, and a newer one is loaded when it is due.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tantivy::{Directory, Searcher};

use super::vectors::passage_join::PassageVectors;
use crate::IndexError;
use crate::index::IndexInner;

/// The age after which the files are checked again.
const REFRESH_INTERVAL: Duration = Duration::from_millis(200);
const META: &str = "meta.json";

/// The index at one moment.
pub(crate) struct IndexSnapshot {
    pub searcher: Searcher,
    /// Tantivy's metadata at that moment.
    meta: Vec<u8>,
    vectors: (u32, u32),
    rows: OnceLock<Result<Arc<PassageVectors>, IndexError>>,
}

impl IndexSnapshot {
    /// Joins passages and vectors at the first call.
    pub(crate) fn rows(
        &self,
        inner: &IndexInner,
    ) -> Result<Option<Arc<PassageVectors>>, IndexError> {
        let Some(vectors) = &inner.vectors else {
            return Ok(None);
        };
        let rows = self.rows.get_or_init(|| {
            let rows = inner.vector_joiner.join(&self.searcher, vectors)?;
            Ok(Arc::new(rows))
        });
        rows.clone().map(Some)
    }
}

/// The current snapshot and the time of its last check.
pub(crate) struct CachedSnapshot {
    snapshot: Arc<IndexSnapshot>,
    taken_at: Instant,
}

impl IndexInner {
    /// The current snapshot, up to [`REFRESH_INTERVAL`] old.
    pub(crate) fn snapshot(&self) -> Result<Arc<IndexSnapshot>, IndexError> {
        self.load_snapshot(REFRESH_INTERVAL)
    }

    /// A snapshot of the current state.
    pub(crate) fn fresh_snapshot(&self) -> Result<Arc<IndexSnapshot>, IndexError> {
        self.load_snapshot(Duration::ZERO)
    }

    fn load_snapshot(&self, old: Duration) -> Result<Arc<IndexSnapshot>, IndexError> {
        let mut seen = self.cached_snapshot();
        if let Some(seen) = &*seen
            && seen.taken_at.elapsed() < old
        {
            return Ok(Arc::clone(&seen.snapshot));
        }
        let view = self.newest_snapshot(seen.as_ref().map(|seen| &seen.snapshot))?;
        *seen = Some(CachedSnapshot {
            snapshot: Arc::clone(&view),
            taken_at: Instant::now(),
        });
        Ok(view)
    }

    /// The newest snapshot; the last one if nothing changed.
    fn newest_snapshot(
        &self,
        last: Option<&Arc<IndexSnapshot>>,
    ) -> Result<Arc<IndexSnapshot>, IndexError> {
        let read = self.index.directory().atomic_read(Path::new(META));
        let meta = read.map_err(|error| IndexError::corrupt(error.to_string()))?;
        let vectors = match &self.vectors {
            Some(vectors) => vectors.version()?,
            None => (0, 0),
        };
        let same_text = last.is_some_and(|last| last.meta == meta);
        if let Some(last) = last
            && same_text
            && last.vectors == vectors
        {
            return Ok(Arc::clone(last));
        }
        if !same_text {
            self.reader.reload()?;
        }
        Ok(Arc::new(IndexSnapshot {
            searcher: self.reader.searcher(),
            meta,
            vectors,
            rows: OnceLock::new(),
        }))
    }
}
