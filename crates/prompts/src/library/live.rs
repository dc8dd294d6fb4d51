//! The live library of a running program: loaded once in the background, reloaded when files
//! change, and always readable without waiting for the disk.

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

/// The time by which the modification time of a file may be earlier than the clock.
const MTIME_GRANULARITY: Duration = Duration::from_millis(50);

/// A callback for changes of the library.
type LibraryListener = Arc<dyn Fn(&LibraryDiff) + Send + Sync>;

/// The current library and the state needed to reload it.
pub struct LiveLibrary {
    options: EngineOptions,
    current: RwLock<Option<Arc<PromptLibrary>>>,
    ready: watch::Sender<bool>,
    /// Locked while files are read; readers of the current library never lock it.
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
    /// The problem that prevents watching the files, if there is one.
    watch_problem: Option<LibraryProblem>,
}

impl LiveLibrary {
    /// Creates an empty library and reads no files.
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

    /// Reads the library on a separate thread, then watches its files.
    pub fn start(self: &Arc<Self>) {
        if self.started.swap(true, Ordering::AcqRel) {
            return;
        }
        let (ask, asked) = mpsc::channel();
        *lock(&self.watcher) = Some(ask.clone());
        let live_library = Arc::clone(self);
        let spawned = std::thread::Builder::new()
            .name("library".to_owned())
            .spawn(move || {
                let ready = LibraryReadyGuard(live_library.ready.clone());
                // Modification times are coarser than the clock.
                let since = SystemTime::now() - MTIME_GRANULARITY;
                live_library.update(ChangeTrigger::Filesystem, |_| {});
                drop(ready);
                live_library.update(ChangeTrigger::Filesystem, |work| {
                    work.parts.check_templates();
                });
                let paths = live_library.options.paths.clone();
                let weak = Arc::downgrade(&live_library);
                drop(live_library);
                watcher::watch(&weak, &paths, since, &ask, &asked);
            });
        if let Err(error) = spawned {
            tracing::warn!(%error, "the library is read on the current thread because no thread could be started");
            self.update(ChangeTrigger::Filesystem, |_| {});
            self.update(ChangeTrigger::Filesystem, |work| {
                work.parts.check_templates();
            });
        }
    }

    /// Returns the library; waits until it has been read for the first time.
    pub async fn library(self: &Arc<Self>) -> Arc<PromptLibrary> {
        let mut ready = self.ready.subscribe();
        self.start();
        // The sender lives as long as this library, so waiting cannot fail.
        let _ = ready.wait_for(|ready| *ready).await;
        self.current().unwrap_or_default()
    }

    /// Returns the library if it has already been read.
    pub fn current(&self) -> Option<Arc<PromptLibrary>> {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Reads the parts that these files belong to again. Later reads of the library see them.
    pub async fn refresh(self: &Arc<Self>, paths: Vec<PathBuf>) -> Arc<PromptLibrary> {
        self.run_blocking(move |library| {
            library.update(ChangeTrigger::McpTool, |work| work.reload_paths(&paths))
        })
        .await
    }

    /// Reads all files again.
    pub async fn reload_all(self: &Arc<Self>) -> Arc<PromptLibrary> {
        self.run_blocking(|library| library.update(ChangeTrigger::McpTool, LibraryState::reload))
            .await
    }

    /// Registers a callback for changes. The callback must return quickly.
    pub fn on_change(&self, hears: Box<dyn Fn(&LibraryDiff) + Send + Sync>) {
        self.listeners
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Arc::from(hears));
    }

    /// Returns the folder where new items of a kind are written.
    pub fn folder(&self, kind: LibraryItemKind) -> PathBuf {
        roots::target_folder(&self.options.paths, kind)
    }

    /// Stops watching. The library stays readable.
    pub fn stop(&self) {
        if let Some(ask) = lock(&self.watcher).take() {
            // If the watcher thread has ended, there is nothing to stop.
            let _ = ask.send(WatcherMessage::Stop);
        }
    }

    pub(crate) fn reload_paths(&self, paths: &[PathBuf]) -> Arc<PromptLibrary> {
        self.update(ChangeTrigger::Filesystem, |work| work.reload_paths(paths))
    }

    pub(crate) fn reload(&self) -> Arc<PromptLibrary> {
        self.update(ChangeTrigger::Filesystem, LibraryState::reload)
    }

    /// Records that files cannot be watched, or that they can be again.
    pub(crate) fn set_watch_problem(&self, blind: Option<LibraryProblem>) {
        self.update(ChangeTrigger::Filesystem, |work| work.watch_problem = blind);
    }

    /// Runs a function that reads files on a blocking thread.
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
                tracing::error!(%error, "reloading the library failed");
                self.current().unwrap_or_default()
            }
        }
    }

    /// Changes the parts, rebuilds the library and swaps it, all under one lock.
    fn update(
        &self,
        by: ChangeTrigger,
        change: impl FnOnce(&mut LibraryState),
    ) -> Arc<PromptLibrary> {
        let mut state = lock(&self.state);
        let changed = if let Some(work) = state.as_mut() {
            change(work);
            work.rebuild()
        } else {
            // The first load includes every change.
            let stock = PartCache::load(&self.options);
            let last = merge_layers(&stock, None);
            *state = Some(LibraryState {
                parts: stock,
                merged: last,
                watch_problem: None,
            });
            None
        };
        let library = state
            .as_ref()
            .map(|work| Arc::clone(&work.merged.library))
            .unwrap_or_default();
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&library));
        drop(state);
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

/// Releases the tasks that wait for the first load, even if it fails.
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
    /// Reads the parts that these files belong to again, and checks their templates.
    fn reload_paths(&mut self, paths: &[PathBuf]) {
        self.parts.check_templates();
        self.parts.reload_paths(paths);
    }

    fn reload(&mut self) {
        self.parts.check_templates();
        self.parts.reload();
    }

    /// Rebuilds the library; keeps the current snapshot if nothing changed.
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

/// Locks a mutex even if it is poisoned: its value is replaced as a whole, so it is never
/// inconsistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
