//! The one writer: taken when something is to be written, given back when nobody wrote for a
//! moment, so that other processes have their turn.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tantivy::IndexWriter;

use crate::IndexError;
use crate::index::IndexInner;

/// How long the writer is kept after a commit: the next batch often follows at once.
const IDLE_RELEASE: Duration = Duration::from_millis(300);
/// The least a writer's thread works with.
const THREAD_BYTES: usize = 15_000_000;
const MAX_THREADS: usize = 4;
/// The text index's lock file.
const WRITER_LOCK: &str = ".tantivy-writer.lock";

/// The writer, if this process has it.
#[derive(Default)]
pub(crate) struct WriterSlot {
    writer: Option<IndexWriter>,
    /// Whether something was written that is not committed.
    dirty: bool,
    /// Whether something that was put was lost with a writer that failed.
    lost: bool,
}

impl IndexInner {
    /// Does something with the writer; the flag says whether something is not committed. Blocks;
    /// [`IndexError::Busy`] when another has it.
    pub(crate) fn with_writer<T>(
        &self,
        act: impl FnOnce(&mut IndexWriter, &mut bool) -> Result<T, IndexError>,
    ) -> Result<T, IndexError> {
        let mut slot = self.slot();
        self.writer_uses.fetch_add(1, Ordering::Relaxed);
        let mut writer = match slot.writer.take() {
            Some(writer) => writer,
            None => self.new_writer()?,
        };
        let mut dirty = slot.dirty;
        let done = act(&mut writer, &mut dirty);
        if done.is_err() && (slot.dirty || dirty) {
            // A writer that failed may have lost what it was given: the next commit must not
            // pretend otherwise.
            slot.dirty = false;
            slot.lost = true;
            return done;
        }
        slot.dirty = dirty;
        slot.writer = Some(writer);
        done
    }

    /// Whether something that was put was lost; if so, all that is not committed goes with it, to
    /// be put again.
    pub(crate) fn discard_lost(&self) -> bool {
        let mut slot = self.slot();
        let lost = std::mem::take(&mut slot.lost);
        if lost {
            slot.writer = None;
            slot.dirty = false;
        }
        lost
    }

    fn new_writer(&self) -> Result<IndexWriter, IndexError> {
        let bytes = self.options.writer_bytes.max(THREAD_BYTES);
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = (bytes / THREAD_BYTES).clamp(1, cores.min(MAX_THREADS));
        Ok(self.index.writer_with_num_threads(threads, bytes)?)
    }

    /// Gives the writer back once it has been idle for a moment.
    pub(crate) fn release_later(self: &Arc<Self>) {
        let turn = self.writer_uses.load(Ordering::Relaxed);
        let inner = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(IDLE_RELEASE).await;
            let Some(inner) = inner.upgrade() else {
                return;
            };
            let released = tokio::task::spawn_blocking(move || inner.release(Some(turn))).await;
            if released.is_err() {
                tracing::warn!("the index's writer did not end cleanly");
            }
        });
    }

    /// Gives the writer back, unless it was used since that turn or holds what is not committed.
    pub(crate) fn release(&self, turn: Option<u64>) {
        let mut slot = self.slot();
        let turns = self.writer_uses.load(Ordering::Relaxed);
        if turn.is_some_and(|turn| turn != turns) || slot.dirty {
            return;
        }
        if let Some(writer) = slot.writer.take()
            && let Err(error) = writer.wait_merging_threads()
        {
            tracing::warn!(%error, "tidying up the index failed");
        }
    }
}

/// Whether somebody writes to that folder.
pub(crate) fn is_busy(folder: &Path) -> bool {
    match std::fs::File::open(folder.join(WRITER_LOCK)) {
        Ok(file) => matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)),
        Err(_) => false,
    }
}
