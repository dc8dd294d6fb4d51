//! Keeps the index in step with the store. The store is the truth: every write has a number, the
//! index remembers the last it has seen, and what came after is read and put in.
//!
//! Opens the index with the first need. Work runs in tasks of its own, so whoever asks waits as
//! long as they like and no longer. Several processes may share the files: one writes at a time,
//! the others look again later. Knows nothing of tools.

mod fill;

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

use fill::mark_of;

use super::{
    behind::{self, Step},
    beside::remove_others,
};

/// How many changes are read and put in between two commits, unless someone says otherwise.
const BATCH: u32 = 64;

/// How often it is looked whether another process has changed something.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// How soon it is tried again while another process writes.
const AGAIN_AFTER: Duration = Duration::from_millis(200);

/// The index and what keeps it in step.
pub(crate) struct Keeper {
    store: Arc<dyn Store>,
    options: IndexOptions,
    cut: ChunkOptions,
    /// The longest a search waits for the index to be in step.
    patience: Duration,
    index: RwLock<Option<Index>>,
    /// Held by whoever brings it in step.
    syncing: Arc<AsyncMutex<()>>,
    progress: Mutex<Progress>,
    changed: Notify,
    /// Whether everything is to be read again.
    rebuild: AtomicBool,
    batch: AtomicU32,
    tidied: AtomicBool,
}

/// How far the work on the index has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Whether it is being worked on.
    pub(crate) running: bool,
    /// Articles put in since the work began.
    pub(crate) done: u64,
    /// Articles there were to put in then, if everything is read again.
    pub(crate) total: u64,
    /// Why it came no further.
    pub(crate) problem: Option<String>,
}

/// Why the index is not in step.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeepError {
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Store(#[from] ToolError),
}

impl Keeper {
    /// Opens nothing yet. The files of texts that are cut in another way are another index's.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        options: IndexOptions,
        cut: ChunkOptions,
        patience: Duration,
    ) -> Self {
        let folder = |it: PathBuf| it.join(format!("index-2-{}-{}", cut.tokens, cut.overlap));
        Self {
            store,
            options: IndexOptions {
                folder: options.folder.map(folder),
                ..options
            },
            cut,
            patience,
            index: RwLock::default(),
            syncing: Arc::default(),
            progress: Mutex::default(),
            changed: Notify::new(),
            rebuild: AtomicBool::new(false),
            batch: AtomicU32::new(BATCH),
            tidied: AtomicBool::new(false),
        }
    }

    /// The index, opened if it is not yet. One that can't be read is made again.
    pub(crate) async fn index(&self) -> Result<Index, IndexError> {
        if let Some(index) = self.index.read().await.as_ref() {
            return Ok(index.clone());
        }
        let mut slot = self.index.write().await;
        if let Some(index) = slot.as_ref() {
            return Ok(index.clone());
        }
        let opened = match self.open().await {
            Err(IndexError::Damaged { reason }) => {
                tracing::warn!(reason, "the search index can't be used; it is made again");
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

    /// Gives up an index that turned out damaged; the next who needs it makes another.
    pub(crate) async fn give_up(&self, reason: &str) {
        tracing::warn!(reason, "the search index can't be used; it is made again");
        let mut slot = self.index.write().await;
        *slot = None;
        if let Err(error) = self.wipe().await {
            tracing::warn!(%error, "the damaged search index can't be removed yet");
        }
        self.changed.notify_one();
    }

    /// Something was written: the index is to follow.
    pub(crate) fn ring(&self) {
        self.changed.notify_one();
    }

    /// How many articles are put in between two commits from now on.
    pub(crate) fn set_batch(&self, articles: u32) {
        self.batch
            .store(articles.clamp(1, 1_000), Ordering::Relaxed);
    }

    /// Brings the index in step if that is quick. What fails is told by whoever asks it next.
    pub(crate) async fn in_step(self: &Arc<Self>) {
        if let Err(error) = self.catch_up(self.patience).await {
            tracing::debug!(%error, "the search index is not in step");
        }
    }

    /// The longest a search waits for the index to be in step.
    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// How far the work has come.
    pub(crate) fn progress(&self) -> Progress {
        self.said().clone()
    }

    fn said(&self) -> std::sync::MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings the index in step, waiting so long at the most. What is not done by then is done
    /// nevertheless. Whether it is in step now. One that is damaged or gone is made again.
    pub(crate) async fn catch_up(self: &Arc<Self>, patience: Duration) -> Result<bool, KeepError> {
        let work = async {
            let mut given_up = false;
            loop {
                match self.catch_up_once().await {
                    // The other one may be doing the same; then there is nothing left to do.
                    Err(KeepError::Index(IndexError::Busy)) => {
                        tokio::time::sleep(AGAIN_AFTER).await;
                    }
                    Err(KeepError::Index(IndexError::Damaged { reason })) if !given_up => {
                        given_up = true;
                        self.give_up(&reason).await;
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

    async fn catch_up_once(self: &Arc<Self>) -> Result<(), KeepError> {
        if !self.is_behind().await? {
            return Ok(());
        }
        let turn = self.syncing.clone().lock_owned().await;
        let keeper = self.clone();
        let task = tokio::spawn(async move {
            let synced = keeper.sync().await;
            drop(turn);
            synced
        });
        task.await.map_err(IndexError::from)?
    }

    async fn is_behind(&self) -> Result<bool, KeepError> {
        if self.rebuild.load(Ordering::Acquire) {
            return Ok(true);
        }
        let mark = mark_of(&self.index().await?)?;
        let step = behind::step_of(self.store.as_ref(), mark).await?;
        if step == Step::Ahead {
            tracing::warn!("the search index is of another database; it is made again");
            self.rebuild.store(true, Ordering::Release);
        }
        Ok(step != Step::With)
    }

    /// Has everything read again, from the first write on. Returns at once.
    pub(crate) fn rebuild(self: &Arc<Self>) {
        self.rebuild.store(true, Ordering::Release);
        let keeper = self.clone();
        tokio::spawn(async move {
            if let Err(error) = keeper.catch_up(Duration::MAX).await {
                tracing::warn!(%error, "the search index could not be made again");
            }
            keeper.make_vectors(&CancellationToken::new()).await;
        });
    }

    /// What the index holds.
    pub(crate) async fn stats(&self) -> Result<Stats, IndexError> {
        let index = self.index().await?;
        Ok(tokio::task::spawn_blocking(move || index.stats()).await?)
    }

    /// Whether an index was made here before, with these settings or others.
    fn was_used(&self) -> bool {
        let beside = self.options.folder.as_ref().and_then(|it| it.parent());
        let files = beside.and_then(|it| std::fs::read_dir(it).ok());
        let index = |name: std::ffi::OsString| name.to_string_lossy().starts_with("index-");
        files.is_some_and(|all| all.flatten().any(|it| index(it.file_name())))
    }

    /// Follows the store until it is told to stop.
    pub(crate) async fn follow(self: Arc<Self>, stop: CancellationToken) {
        // Where nothing was ever indexed, nothing is opened before somebody uses it.
        if !self.was_used() {
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.changed.notified() => {}
            }
        }
        loop {
            let caught_up = tokio::select! {
                () = stop.cancelled() => return,
                caught_up = self.catch_up(Duration::MAX) => caught_up,
            };
            let in_step = caught_up.is_ok();
            if let Err(error) = caught_up {
                tracing::warn!(%error, "the search index is not in step");
            }
            if self.make_vectors(&stop).await && in_step {
                self.tidy().await;
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.changed.notified() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// Makes vectors that are missing, as long as that goes on. Whether none is missing now.
    async fn make_vectors(&self, stop: &CancellationToken) -> bool {
        let Ok(index) = self.index().await else {
            return false;
        };
        while !stop.is_cancelled() {
            match index.work(stop).await {
                Ok(worked) if worked.left > 0 && worked.made > 0 => {}
                Ok(worked) => return worked.left == 0,
                Err(IndexError::Busy) => return false,
                Err(error) => {
                    tracing::warn!(%error, "vectors can't be made");
                    return false;
                }
            }
        }
        false
    }

    /// Removes the indexes of other settings, once: this one is whole, and they are behind for ever.
    async fn tidy(&self) {
        let folder = self.options.folder.clone();
        let Some(own) = folder.filter(|_| !self.tidied.swap(true, Ordering::AcqRel)) else {
            return;
        };
        let removed = tokio::task::spawn_blocking(move || remove_others(&own)).await;
        if let Ok(Err(error)) = removed {
            tracing::debug!(%error, "an index of other settings can't be removed");
        }
    }
}

impl Progress {
    /// How far, in percent, if that can be said.
    pub(crate) fn percent(&self) -> Option<u64> {
        (self.total > 0).then(|| (self.done * 100 / self.total).min(99))
    }
}
