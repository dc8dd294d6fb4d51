//! Index sync: keeps the index current with the store. The store is the truth: every write has a
//! sequence number, the index remembers the last one it has seen, and later writes are applied.
//!
//! The index is opened when it is first needed. The work runs in its own tasks, so callers wait
//! only as long as they choose. Several processes may share the files: one writes at a time, and
//! the others check again later. It must not know anything about tools.

mod apply_changes;
pub(crate) mod document;
pub(crate) mod lag;
pub(crate) mod stale_indexes;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use deliberate_index::{Index, IndexError, IndexOptions, Stats, chunk::ChunkOptions};
use deliberate_store::Store;
use deliberate_toolkit::ToolError;
use tokio::sync::{Mutex as AsyncMutex, Notify, RwLock};
use tokio_util::sync::CancellationToken;

use apply_changes::index_mark;
use lag::IndexSyncStatus;
use stale_indexes::remove_stale_indexes;

/// The number of changes applied between two commits by default.
const DEFAULT_BATCH_SIZE: u32 = 64;

/// The interval of checks for changes by other processes.
const POLL_INTERVAL: Duration = Duration::from_secs(30);

/// The delay before a retry while another process writes.
const BUSY_RETRY_DELAY: Duration = Duration::from_millis(200);

/// The index and its synchronization with the store.
pub(crate) struct IndexSynchronizer {
    store: Arc<dyn Store>,
    options: IndexOptions,
    chunk_options: ChunkOptions,
    /// The longest a search waits for the index to be current.
    sync_timeout: Duration,
    index: RwLock<Option<Index>>,
    /// Held by the task that synchronizes the index.
    sync_lock: Arc<AsyncMutex<()>>,
    progress: Mutex<IndexSyncProgress>,
    change_notify: Notify,
    /// Whether everything must be read again.
    rebuild: AtomicBool,
    batch_size: AtomicU32,
    stale_removed: AtomicBool,
}

/// The progress of the synchronization.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct IndexSyncProgress {
    pub(crate) running: bool,
    /// The articles indexed since the work began.
    pub(crate) done: u64,
    /// The articles to index at that time, if everything is read again.
    pub(crate) total: u64,
    /// The reason why the work stopped.
    pub(crate) problem: Option<String>,
}

/// The error if the index can't be synchronized.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IndexSyncError {
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Store(#[from] ToolError),
}

impl IndexSynchronizer {
    /// Creates the synchronizer without opening anything. The chunk options are part of the
    /// folder's name, so an index with other passages is a different one.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        options: IndexOptions,
        chunk_options: ChunkOptions,
        sync_timeout: Duration,
    ) -> Self {
        let folder = |it: PathBuf| {
            it.join(format!(
                "index-2-{}-{}",
                chunk_options.tokens, chunk_options.overlap
            ))
        };
        Self {
            store,
            options: IndexOptions {
                folder: options.folder.map(folder),
                ..options
            },
            chunk_options,
            sync_timeout,
            index: RwLock::default(),
            sync_lock: Arc::default(),
            progress: Mutex::default(),
            change_notify: Notify::new(),
            rebuild: AtomicBool::new(false),
            batch_size: AtomicU32::new(DEFAULT_BATCH_SIZE),
            stale_removed: AtomicBool::new(false),
        }
    }

    /// The index, opened on first use. An unreadable index is rebuilt.
    pub(crate) async fn index(&self) -> Result<Index, IndexError> {
        if let Some(index) = self.index.read().await.as_ref() {
            return Ok(index.clone());
        }
        let mut slot = self.index.write().await;
        if let Some(index) = slot.as_ref() {
            return Ok(index.clone());
        }
        let opened = match self.open().await {
            Err(IndexError::Corrupt { reason }) => {
                tracing::warn!(reason, "the search index is unusable and will be rebuilt");
                self.wipe().await?;
                self.open().await
            }
            opened => opened,
        }?;
        Ok(slot.insert(opened).clone())
    }

    async fn open(&self) -> Result<Index, IndexError> {
        let options = self.options.clone();
        tokio::task::spawn_blocking(move || Index::open(options)).await?
    }

    async fn wipe(&self) -> Result<(), IndexError> {
        let Some(folder) = self.options.folder.clone() else {
            return Ok(());
        };
        tokio::task::spawn_blocking(move || Index::wipe(&folder)).await?
    }

    /// Discards a damaged index; the next access creates a new one.
    pub(crate) async fn discard_index(&self, reason: &str) {
        tracing::warn!(reason, "the search index is unusable and will be rebuilt");
        let mut slot = self.index.write().await;
        *slot = None;
        if let Err(error) = self.wipe().await {
            tracing::warn!(%error, "the damaged search index can't be removed yet");
        }
        self.change_notify.notify_one();
    }

    /// Tells the background task that the store has changed.
    pub(crate) fn notify_change(&self) {
        self.change_notify.notify_one();
    }

    /// Sets the number of articles applied between two commits.
    pub(crate) fn set_batch_size(&self, articles: u32) {
        self.batch_size
            .store(articles.clamp(1, 1_000), Ordering::Relaxed);
    }

    /// Synchronizes the index if that is quick. A failure is reported by the next search.
    pub(crate) async fn sync_within_timeout(self: &Arc<Self>) {
        if let Err(error) = self.catch_up(self.sync_timeout).await {
            tracing::debug!(%error, "the search index is not current");
        }
    }

    /// The longest a search waits for the index to be current.
    pub(crate) fn sync_timeout(&self) -> Duration {
        self.sync_timeout
    }

    pub(crate) fn progress(&self) -> IndexSyncProgress {
        self.lock_progress().clone()
    }

    fn lock_progress(&self) -> std::sync::MutexGuard<'_, IndexSyncProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Synchronizes the index and waits at most `wait`; the work continues after that. Returns
    /// whether the index is current. A damaged or missing index is rebuilt.
    pub(crate) async fn catch_up(
        self: &Arc<Self>,
        patience: Duration,
    ) -> Result<bool, IndexSyncError> {
        let work = async {
            let mut given_up = false;
            loop {
                match self.catch_up_once().await {
                    // The other process may be doing the same work; then nothing is left to do.
                    Err(IndexSyncError::Index(IndexError::Busy)) => {
                        tokio::time::sleep(BUSY_RETRY_DELAY).await;
                    }
                    Err(IndexSyncError::Index(IndexError::Corrupt { reason })) if !given_up => {
                        given_up = true;
                        self.discard_index(&reason).await;
                    }
                    done => return done,
                }
            }
        };
        match tokio::time::timeout(patience, work).await {
            Ok(done) => done.map(|()| true),
            Err(_) => Ok(false),
        }
    }

    async fn catch_up_once(self: &Arc<Self>) -> Result<(), IndexSyncError> {
        if !self.is_behind().await? {
            return Ok(());
        }
        let turn = self.sync_lock.clone().lock_owned().await;
        let keeper = self.clone();
        let task = tokio::spawn(async move {
            let synced = keeper.sync().await;
            drop(turn);
            synced
        });
        task.await.map_err(IndexError::from)?
    }

    async fn is_behind(&self) -> Result<bool, IndexSyncError> {
        if self.rebuild.load(Ordering::Acquire) {
            return Ok(true);
        }
        let mark = index_mark(&self.index().await?)?;
        let step = lag::sync_status(self.store.as_ref(), mark).await?;
        if step == IndexSyncStatus::Ahead {
            tracing::warn!("the search index belongs to another database and will be rebuilt");
            self.rebuild.store(true, Ordering::Release);
        }
        Ok(step != IndexSyncStatus::InSync)
    }

    /// Starts reading everything again from the first write; returns at once.
    pub(crate) fn rebuild(self: &Arc<Self>) {
        self.rebuild.store(true, Ordering::Release);
        let keeper = self.clone();
        tokio::spawn(async move {
            if let Err(error) = keeper.catch_up(Duration::MAX).await {
                tracing::warn!(%error, "the search index could not be rebuilt");
            }
            keeper.embed_missing(&CancellationToken::new()).await;
        });
    }

    /// The statistics of the index.
    pub(crate) async fn stats(&self) -> Result<Stats, IndexError> {
        let index = self.index().await?;
        Ok(tokio::task::spawn_blocking(move || index.stats()).await?)
    }

    /// Whether an index exists here, with these settings or others.
    fn index_exists(&self) -> bool {
        let beside = self.options.folder.as_ref().and_then(|it| it.parent());
        let files = beside.and_then(|it| std::fs::read_dir(it).ok());
        let index = |name: std::ffi::OsString| name.to_string_lossy().starts_with("index-");
        files.is_some_and(|all| all.flatten().any(|it| index(it.file_name())))
    }

    /// Follows the store until it is stopped.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        // If nothing was ever indexed, the index is not opened before its first use.
        if !self.index_exists() {
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.change_notify.notified() => {}
            }
        }
        loop {
            let caught_up = tokio::select! {
                () = stop.cancelled() => return,
                caught_up = self.catch_up(Duration::MAX) => caught_up,
            };
            let in_step = caught_up.is_ok();
            if let Err(error) = caught_up {
                tracing::warn!(%error, "the search index is not current");
            }
            if self.embed_missing(&stop).await && in_step {
                self.remove_stale_once().await;
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.change_notify.notified() => {}
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
        }
    }

    /// Computes missing vectors as long as that succeeds; returns whether none is missing.
    async fn embed_missing(&self, stop: &CancellationToken) -> bool {
        let Ok(index) = self.index().await else {
            return false;
        };
        while !stop.is_cancelled() {
            match index.run_maintenance(stop).await {
                Ok(worked) if worked.remaining > 0 && worked.embedded > 0 => {}
                Ok(worked) => return worked.remaining == 0,
                Err(IndexError::Busy) => return false,
                Err(error) => {
                    tracing::warn!(%error, "vectors can't be computed");
                    return false;
                }
            }
        }
        false
    }

    /// Removes indexes with other settings once: this one is complete, and they are never updated.
    async fn remove_stale_once(&self) {
        let folder = self.options.folder.clone();
        let Some(own) = folder.filter(|_| !self.stale_removed.swap(true, Ordering::AcqRel)) else {
            return;
        };
        let removed = tokio::task::spawn_blocking(move || remove_stale_indexes(&own)).await;
        if let Ok(Err(error)) = removed {
            tracing::debug!(%error, "an index with other settings can't be removed");
        }
    }
}

impl IndexSyncProgress {
    /// The progress in percent, if it is known.
    pub(crate) fn percent(&self) -> Option<u64> {
        (self.total > 0).then(|| (self.done * 100 / self.total).min(99))
    }
}
