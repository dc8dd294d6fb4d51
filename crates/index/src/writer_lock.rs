//! The single writer: acquired to write, released after a moment without writes, so that other
//! processes can write.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tantivy::IndexWriter;

use crate::IndexError;
use crate::index::IndexInner;

/// How long the writer is kept after a commit, because the next batch often follows at once.
const IDLE_RELEASE: Duration = Duration::from_millis(300);
/// The minimum memory budget of a writer thread.
const THREAD_BYTES: usize = 15_000_000;
const MAX_THREADS: usize = 4;
/// Tantivy's lock file.
const WRITER_LOCK: &str = ".tantivy-writer.lock";

/// The writer, if this process holds it.
#[derive(Default)]
pub(crate) struct WriterSlot {
    writer: Option<IndexWriter>,
    /// Whether there are uncommitted writes.
    dirty: bool,
    /// Whether writes were lost with a writer that failed.
    lost: bool,
}

impl IndexInner {
    /// Runs a function with the writer and a flag for uncommitted writes. Blocks;
    /// [`IndexError::Busy`] if another process holds it.
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
            // A writer that failed may have lost writes: the next commit must not pretend otherwise.
            slot.dirty = false;
            slot.lost = true;
            return done;
        }
        slot.dirty = dirty;
        slot.writer = Some(writer);
        done
    }

    /// Whether writes were lost; if so, all uncommitted writes are discarded, to be put again.
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

    /// Releases the writer once it has been idle for a moment.
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

    /// Releases the writer, unless it was used since that turn or has uncommitted writes.
    pub(crate) fn release(&self, turn: Option<u64>) {
        let mut slot = self.slot();
        let turns = self.writer_uses.load(Ordering::Relaxed);
        if turn.is_some_and(|turn| turn != turns) || slot.dirty {
            return;
        }
        if let Some(writer) = slot.writer.take()
            && let Err(error) = writer.wait_merging_threads()
        {
            tracing::warn!(%error, "compacting the index failed");
        }
    }
}

/// Whether a process is writing to the folder.
pub(crate) fn is_busy(folder: &Path) -> bool {
    match std::fs::File::open(folder.join(WRITER_LOCK)) {
        Ok(file) => matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)),
        Err(_) => false,
    }
}
