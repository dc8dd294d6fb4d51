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
    Library, Problem,
    assemble::{Assembled, assemble},
    change::{Changed, NoticedBy},
    roots,
    stock::Stock,
    watching::{self, Ask},
};
use crate::{model::Kind, options::Options};

/// How much earlier than the clock a file may say that it was changed.
const COARSE: Duration = Duration::from_millis(50);

/// Somebody who wants to know of changes.
type Hears = Arc<dyn Fn(&Changed) + Send + Sync>;

/// The live library.
pub struct Shelf {
    options: Options,
    now: RwLock<Option<Arc<Library>>>,
    ready: watch::Sender<bool>,
    /// Held while files are read; never by someone who only looks.
    work: Mutex<Option<Work>>,
    hears: RwLock<Vec<Hears>>,
    started: AtomicBool,
    watcher: Mutex<Option<mpsc::Sender<Ask>>>,
}

impl std::fmt::Debug for Shelf {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Shelf").finish_non_exhaustive()
    }
}

struct Work {
    stock: Stock,
    last: Assembled,
    /// Why changes are not seen by themselves, if they are not.
    blind: Option<Problem>,
}

impl Shelf {
    /// A shelf with nothing on it yet; reads nothing.
    pub fn new(options: &Options) -> Arc<Self> {
        Arc::new(Self {
            options: options.clone(),
            now: RwLock::new(None),
            ready: watch::Sender::new(false),
            work: Mutex::new(None),
            hears: RwLock::new(Vec::new()),
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
                let ready = Ready(shelf.ready.clone());
                // Times of files are coarser than the clock.
                let since = SystemTime::now() - COARSE;
                shelf.work(NoticedBy::Filesystem, |_| {});
                drop(ready);
                shelf.work(NoticedBy::Filesystem, |work| work.stock.check_templates());
                let places = shelf.options.places.clone();
                let weak = Arc::downgrade(&shelf);
                drop(shelf);
                watching::watch(&weak, &places, since, &ask, &asked);
            });
        if let Err(error) = spawned {
            tracing::warn!(%error, "the library is read in place: no thread could be started");
            self.work(NoticedBy::Filesystem, |_| {});
            self.work(NoticedBy::Filesystem, |work| work.stock.check_templates());
        }
    }

    /// The library; waits until it was read for the first time.
    pub async fn library(self: &Arc<Self>) -> Arc<Library> {
        let mut ready = self.ready.subscribe();
        self.start();
        // The sender lives as long as the shelf, so waiting can't fail.
        let _ = ready.wait_for(|ready| *ready).await;
        self.now().unwrap_or_default()
    }

    /// The library, if it was read already.
    pub fn now(&self) -> Option<Arc<Library>> {
        self.now
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Reads what these files belong to again. Whoever looks afterwards sees it.
    pub async fn refresh(self: &Arc<Self>, paths: Vec<PathBuf>) -> Arc<Library> {
        self.away(move |shelf| shelf.work(NoticedBy::McpTool, |work| work.touch(&paths)))
            .await
    }

    /// Reads everything again.
    pub async fn reload_all(self: &Arc<Self>) -> Arc<Library> {
        self.away(|shelf| shelf.work(NoticedBy::McpTool, Work::reload))
            .await
    }

    /// Tells of every change from now on. What is told to must not take long.
    pub fn on_change(&self, hears: Box<dyn Fn(&Changed) + Send + Sync>) {
        self.hears
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Arc::from(hears));
    }

    /// Where new things of a kind are written.
    pub fn folder(&self, kind: Kind) -> PathBuf {
        roots::folder(&self.options.places, kind)
    }

    /// Stops watching. What was read stays.
    pub fn stop(&self) {
        if let Some(ask) = lock(&self.watcher).take() {
            // A watcher that is gone has nothing to stop.
            let _ = ask.send(Ask::Stop);
        }
    }

    pub(crate) fn touch(&self, paths: &[PathBuf]) -> Arc<Library> {
        self.work(NoticedBy::Filesystem, |work| work.touch(paths))
    }

    pub(crate) fn reload(&self) -> Arc<Library> {
        self.work(NoticedBy::Filesystem, Work::reload)
    }

    /// Says that changes are not seen by themselves, or that they are again.
    pub(crate) fn set_blind(&self, blind: Option<Problem>) {
        self.work(NoticedBy::Filesystem, |work| work.blind = blind);
    }

    /// Runs something that reads files where it holds nobody up.
    async fn away(
        self: &Arc<Self>,
        run: impl FnOnce(&Self) -> Arc<Library> + Send + 'static,
    ) -> Arc<Library> {
        let shelf = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || {
            let library = run(&shelf);
            if let Some(ask) = lock(&shelf.watcher).as_ref() {
                let _ = ask.send(Ask::Look);
            }
            library
        });
        match done.await {
            Ok(library) => library,
            Err(error) => {
                tracing::error!(%error, "the library could not be read again");
                self.now().unwrap_or_default()
            }
        }
    }

    /// Changes the stock, puts the library together and swaps it, all before anyone else may.
    fn work(&self, by: NoticedBy, change: impl FnOnce(&mut Work)) -> Arc<Library> {
        let mut held = lock(&self.work);
        let changed = if let Some(work) = held.as_mut() {
            change(work);
            work.renew()
        } else {
            // What was just read holds every change.
            let stock = Stock::load(&self.options);
            let last = assemble(&stock, None);
            *held = Some(Work {
                stock,
                last,
                blind: None,
            });
            None
        };
        let library = held
            .as_ref()
            .map(|work| Arc::clone(&work.last.library))
            .unwrap_or_default();
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&library));
        drop(held);
        self.ready.send_replace(true);
        if let Some(mut changed) = changed {
            changed.by = by;
            self.tell(&changed);
        }
        library
    }

    fn tell(&self, changed: &Changed) {
        let hears: Vec<Hears> = self
            .hears
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        for hear in hears {
            hear(changed);
        }
    }
}

/// Whoever waits for the first reading goes on even if that fails.
struct Ready(watch::Sender<bool>);

impl Drop for Ready {
    fn drop(&mut self) {
        self.0.send_replace(true);
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Work {
    /// Reads what these files belong to again, templates and all.
    fn touch(&mut self, paths: &[PathBuf]) {
        self.stock.check_templates();
        self.stock.touch(paths);
    }

    fn reload(&mut self) {
        self.stock.check_templates();
        self.stock.reload();
    }

    /// Puts the library together anew. It stays the same one if nothing is different.
    fn renew(&mut self) -> Option<Changed> {
        let blind = self.blind.clone();
        self.stock
            .problems
            .retain(|problem| problem.file != watching::NAME);
        self.stock.problems.extend(blind);
        let next = assemble(&self.stock, Some(&self.last));
        let changed = Changed::between(&self.last.library, &next.library);
        if changed.any() {
            self.last = next;
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
