//! Work for quiet times: vectors still missing, and rows nobody needs any more.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::index::{Index, Inner};
use crate::layout::{KEY, embedded};
use crate::put::{Made, embed_batch};
use crate::vectors::Vectors;
use crate::{IndexError, Worked};

/// How many passages one piece of work takes on at the most, and for how long.
const PASSAGES: usize = 2048;
const TIME: Duration = Duration::from_secs(2);

impl Index {
    /// Does a piece of the work that is left: makes vectors that are missing, because the embedder
    /// changed or was not there, then tidies up. Call it again while `left` is above 0.
    pub async fn work(&self, stop: &CancellationToken) -> Result<Worked, IndexError> {
        let Some(embedder) = &self.inner.options.embedder else {
            return Ok(Worked::default());
        };
        let dimensions = match self.inner.vectors_dimensions() {
            Some(_) => Some(embedder.dimensions().await?),
            None => None,
        };
        let (wanted, missing) = self
            .blocking(move |inner| inner.next_piece(dimensions))
            .await?;
        self.inner.release_later();
        let mut made = Made::default();
        let mut failed = None;
        let began = Instant::now();
        for batch in wanted.chunks(embedder.batch().max(1)) {
            let batch = embed_batch(embedder, batch, &mut made);
            let done = tokio::select! {
                () = stop.cancelled() => break,
                done = batch => done,
            };
            failed = done.err();
            if failed.is_some() || began.elapsed() > TIME {
                break;
            }
        }
        let done = made.rows.len() as u64;
        if done > 0 {
            self.blocking(move |inner| {
                inner.with_writer(|_, _| {
                    inner.keep(&made)?;
                    inner.vectors.as_ref().map_or(Ok(()), Vectors::flush)
                })?;
                inner.view_now().map(|_| ())
            })
            .await?;
            self.inner.release_later();
        }
        match failed {
            Some(error) => Err(error.into()),
            None => Ok(Worked {
                made: done,
                left: missing.saturating_sub(done),
            }),
        }
    }
}

impl Inner {
    fn vectors_dimensions(&self) -> Option<usize> {
        self.vectors.as_ref().and_then(Vectors::dimensions)
    }

    /// Keys and texts of some passages without vectors, and how many there are in all; when there
    /// are none, tidies up instead.
    fn next_piece(
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
            let view = self.view_now()?;
            let Some(rows) = view.rows(self)? else {
                return Ok((Vec::new(), 0));
            };
            let mut wanted = Vec::new();
            for address in rows.without(&view.searcher, PASSAGES) {
                let segment = view.searcher.segment_reader(address.segment_ord);
                let key = segment.fast_fields().u64(KEY)?.first(address.doc_id);
                let kept = self.layout.read(&view.searcher.doc(address)?)?;
                let headings = self.options.analysis.embed_headings;
                let text = embedded(&kept.title, &kept.passage, headings);
                wanted.extend(key.map(|key| (key, text)));
            }
            // What is put but not committed looks dead from here.
            if wanted.is_empty() && !*dirty {
                vectors.tidy(rows.generation, &rows.live)?;
                vectors.sweep();
            }
            Ok((wanted, rows.missing))
        })
    }
}
