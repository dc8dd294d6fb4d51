//! The library as a running program has it: read once in the background, kept current, and
//! always there to be looked at without waiting for a disk.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, SystemTime},
};

use tokio::sync::watch;

use super::{
    LibraryProblem, PromptLibrary,
    diff::{ChangeTrigger, LibraryDiff},
    merge_layers::{MergedLibrary, merge_layers},
    part_cache::PartCache,
    roots,
    watcher::{self, WatcherMessage},
};
use crate::{model::LibraryItemKind, options::EngineOptions};

/// How much earlier than the clock a file may say that it was changed.
const MTIME_GRANULARITY: Duration = Duration::from_millis(50);

/// Somebody who wants to know of changes.
type LibraryListener = Arc<dyn Fn(&LibraryDiff) + Send + Sync>;

/// The live library.
pub struct LiveLibrary {
    options: EngineOptions,
    current: RwLock<Option<Arc<PromptLibrary>>>,
    ready: watch::Sender<bool>,
    /// Held while files are read; never by someone who only looks.
    state: Mutex<Option<LibraryState>>,
    listeners: RwLock<Vec<LibraryListener>>,
    started: AtomicBool,
    watcher: Mutex<Option<mpsc::Sender<WatcherMessage>>>,
}

impl std::fmt::Debug for LiveLibrary {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("LiveLibrary")
            .finish_non_exhaustive()
    }
}

struct LibraryState {
    parts: PartCache,
    merged: MergedLibrary,
    /// Why changes are not seen by themselves, if they are not.
    watch_problem: Option<LibraryProblem>,
}

impl LiveLibrary {
    /// A shelf with nothing on it yet; reads nothing.
    pub fn new(options: &EngineOptions) -> Arc<Self> {
        Arc::new(Self {
            options: options.clone(),
            current: RwLock::new(None),
            ready: watch::Sender::new(false),
            state: Mutex::new(None),
            listeners: RwLock::new(Vec::new()),
            started: AtomicBool::new(false),
            watcher: Mutex::new(None),
        })
    }

    /// Reads the library on a thread of its own, then watches its files.
    pub fn start(self: &Arc<Self>) {
        if self.started.swap(true, Ordering::AcqRel) {
            return;
        }
        let (ask, asked) = mpsc::channel();
        *lock(&self.watcher) = Some(ask.clone());
        let shelf = Arc::clone(self);
        let spawned = std::thread::Builder::new()
            .name("library".to_owned())
            .spawn(move || {
                let ready = LibraryReadyGuard(shelf.ready.clone());
                // Times of files are coarser than the clock.
                let since = SystemTime::now() - MTIME_GRANULARITY;
                shelf.update(ChangeTrigger::Filesystem, |_| {});
                drop(ready);
                shelf.update(ChangeTrigger::Filesystem, |work| {
                    work.parts.check_templates()
                });
                let places = shelf.options.paths.clone();
                let weak = Arc::downgrade(&shelf);
                drop(shelf);
                watcher::watch(&weak, &places, since, &ask, &asked);
            });
        if let Err(error) = spawned {
            tracing::warn!(%error, "the library is read in place: no thread could be started");
            self.update(ChangeTrigger::Filesystem, |_| {});
            self.update(ChangeTrigger::Filesystem, |work| {
                work.parts.check_templates()
            });
        }
    }

    /// The library; waits until it was read for the first time.
    pub async fn library(self: &Arc<Self>) -> Arc<PromptLibrary> {
        let mut ready = self.ready.subscribe();
        self.start();
        // The sender lives as long as the shelf, so waiting can't fail.
        let _ = ready.wait_for(|ready| *ready).await;
        self.current().unwrap_or_default()
    }

    /// The library, if it was read already.
    pub fn current(&self) -> Option<Arc<PromptLibrary>> {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Reads what these files belong to again. Whoever looks afterwards sees it.
    pub async fn refresh(self: &Arc<Self>, paths: Vec<PathBuf>) -> Arc<PromptLibrary> {
        self.run_blocking(move |shelf| {
            shelf.update(ChangeTrigger::McpTool, |work| work.reload_paths(&paths))
        })
        .await
    }

    /// Reads everything again.
    pub async fn reload_all(self: &Arc<Self>) -> Arc<PromptLibrary> {
        self.run_blocking(|shelf| shelf.update(ChangeTrigger::McpTool, LibraryState::reload))
            .await
    }

    /// Tells of every change from now on. What is told to must not take long.
    pub fn on_change(&self, hears: Box<dyn Fn(&LibraryDiff) + Send + Sync>) {
        self.listeners
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Arc::from(hears));
    }

    /// Where new things of a kind are written.
    pub fn folder(&self, kind: LibraryItemKind) -> PathBuf {
        roots::target_folder(&self.options.paths, kind)
    }

    /// Stops watching. What was read stays.
    pub fn stop(&self) {
        if let Some(ask) = lock(&self.watcher).take() {
            // A watcher that is gone has nothing to stop.
            let _ = ask.send(WatcherMessage::Stop);
        }
    }

    pub(crate) fn reload_paths(&self, paths: &[PathBuf]) -> Arc<PromptLibrary> {
        self.update(ChangeTrigger::Filesystem, |work| work.reload_paths(paths))
    }

    pub(crate) fn reload(&self) -> Arc<PromptLibrary> {
        self.update(ChangeTrigger::Filesystem, LibraryState::reload)
    }

    /// Says that changes are not seen by themselves, or that they are again.
    pub(crate) fn set_watch_problem(&self, blind: Option<LibraryProblem>) {
        self.update(ChangeTrigger::Filesystem, |work| work.watch_problem = blind);
    }

    /// Runs something that reads files where it holds nobody up.
    async fn run_blocking(
        self: &Arc<Self>,
        run: impl FnOnce(&Self) -> Arc<PromptLibrary> + Send + 'static,
    ) -> Arc<PromptLibrary> {
        let shelf = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || {
            let library = run(&shelf);
            if let Some(ask) = lock(&shelf.watcher).as_ref() {
                let _ = ask.send(WatcherMessage::Rescan);
            }
            library
        });
        match done.await {
            Ok(library) => library,
            Err(error) => {
                tracing::error!(%error, "the library could not be read again");
                self.current().unwrap_or_default()
            }
        }
    }

    /// Changes the stock, puts the library together and swaps it, all before anyone else may.
    fn update(
        &self,
        by: ChangeTrigger,
        change: impl FnOnce(&mut LibraryState),
    ) -> Arc<PromptLibrary> {
        let mut held = lock(&self.state);
        let changed = if let Some(work) = held.as_mut() {
            change(work);
            work.rebuild()
        } else {
            // What was just read holds every change.
            let stock = PartCache::load(&self.options);
            let last = merge_layers(&stock, None);
            *held = Some(LibraryState {
                parts: stock,
                merged: last,
                watch_problem: None,
            });
            None
        };
        let library = held
            .as_ref()
            .map(|work| Arc::clone(&work.merged.library))
            .unwrap_or_default();
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&library));
        drop(held);
        self.ready.send_replace(true);
        if let Some(mut changed) = changed {
            changed.trigger = by;
            self.notify(&changed);
        }
        library
    }

    fn notify(&self, changed: &LibraryDiff) {
        let hears: Vec<LibraryListener> = self
            .listeners
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        for hear in hears {
            hear(changed);
        }
    }
}

/// Whoever waits for the first reading goes on even if that fails.
struct LibraryReadyGuard(watch::Sender<bool>);

impl Drop for LibraryReadyGuard {
    fn drop(&mut self) {
        self.0.send_replace(true);
    }
}

impl Drop for LiveLibrary {
    fn drop(&mut self) {
        self.stop();
    }
}

impl LibraryState {
    /// Reads what these files belong to again, templates and all.
    fn reload_paths(&mut self, paths: &[PathBuf]) {
        self.parts.check_templates();
        self.parts.reload_paths(paths);
    }

    fn reload(&mut self) {
        self.parts.check_templates();
        self.parts.reload();
    }

    /// Puts the library together anew. It stays the same one if nothing is different.
    fn rebuild(&mut self) -> Option<LibraryDiff> {
        let blind = self.watch_problem.clone();
        self.parts
            .problems
            .retain(|problem| problem.file != watcher::WATCHER_PROBLEM_FILE);
        self.parts.problems.extend(blind);
        let next = merge_layers(&self.parts, Some(&self.merged));
        let changed = LibraryDiff::compute(&self.merged.library, &next.library);
        if changed.has_changes() {
            self.merged = next;
            Some(changed)
        } else {
            None
        }
    }
}

/// What a panicking thread left behind is whole: it is replaced, never half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
