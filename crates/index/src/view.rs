//! The index as it is at one moment: what every search looks at, and when a newer one is due.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tantivy::{Directory, Searcher};

use crate::IndexError;
use crate::index::Inner;
use crate::join::Rows;

/// How old what is seen may be before the files are looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
const META: &str = "meta.json";

/// The index at one moment.
pub(crate) struct View {
    pub searcher: Searcher,
    /// The text index's own account of itself, as it was then.
    meta: Vec<u8>,
    vectors: (u32, u32),
    rows: OnceLock<Result<Arc<Rows>, IndexError>>,
}

impl View {
    /// Passages and vectors, joined the first time somebody asks.
    pub(crate) fn rows(&self, inner: &Inner) -> Result<Option<Arc<Rows>>, IndexError> {
        let Some(vectors) = &inner.vectors else {
            return Ok(None);
        };
        let rows = self.rows.get_or_init(|| {
            let rows = inner.joiner.join(&self.searcher, vectors)?;
            Ok(Arc::new(rows))
        });
        rows.clone().map(Some)
    }
}

/// The view of now and when it was looked for.
pub(crate) struct Seen {
    view: Arc<View>,
    at: Instant,
}

impl Inner {
    /// The index as it is now, or was a moment ago.
    pub(crate) fn view(&self) -> Result<Arc<View>, IndexError> {
        self.look(LOOK_AGAIN)
    }

    /// The index as it is now.
    pub(crate) fn view_now(&self) -> Result<Arc<View>, IndexError> {
        self.look(Duration::ZERO)
    }

    fn look(&self, old: Duration) -> Result<Arc<View>, IndexError> {
        let mut seen = self.seen();
        if let Some(seen) = &*seen
            && seen.at.elapsed() < old
        {
            return Ok(Arc::clone(&seen.view));
        }
        let view = self.newest_view(seen.as_ref().map(|seen| &seen.view))?;
        *seen = Some(Seen {
            view: Arc::clone(&view),
            at: Instant::now(),
        });
        Ok(view)
    }

    /// The newest view: the last one if nothing has changed.
    fn newest_view(&self, last: Option<&Arc<View>>) -> Result<Arc<View>, IndexError> {
        let read = self.index.directory().atomic_read(Path::new(META));
        let meta = read.map_err(|error| IndexError::damaged(error.to_string()))?;
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
        Ok(Arc::new(View {
            searcher: self.reader.searcher(),
            meta,
            vectors,
            rows: OnceLock::new(),
        }))
    }
}
