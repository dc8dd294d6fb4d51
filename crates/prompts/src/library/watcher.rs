//! Sees that files changed. What that means is the shelf's business.
//!
//! Folders that are there are watched with all below them; for those that are not there yet, the
//! nearest folder above is. If nothing can be watched, everything is read again now and then.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Weak, mpsc},
    time::{Duration, Instant, SystemTime},
};

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::{LibraryProblem, ProblemSeverity, live::LiveLibrary, roots};
use crate::{model::LibraryItemKind, options::LibraryPaths};

/// How long files must be at rest.
const QUIET_PERIOD: Duration = Duration::from_millis(100);

/// How long is waited for that at the most: files that never rest are read all the same.
const MAX_QUIET_WAIT: Duration = Duration::from_millis(500);

/// How often everything is read again if nothing can be watched.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

/// How long after a folder came it is read once more: it may be filled before it is watched itself.
const NEW_FOLDER_DELAY: Duration = Duration::from_secs(1);

/// The most folders above one that does not exist.
const MAX_ANCESTORS: usize = 64;

/// What a problem with watching is filed under.
pub(crate) const WATCHER_PROBLEM_FILE: &str = "(watching)";

/// What the watching thread is told.
pub(crate) enum WatcherMessage {
    /// A file changed.
    Event(notify::Result<Event>),
    /// Folders may have come or gone.
    Rescan,
    /// Enough.
    Stop,
}

/// Watches until it is told to stop or the shelf is gone.
pub(crate) fn watch(
    shelf: &Weak<LiveLibrary>,
    places: &LibraryPaths,
    since: SystemTime,
    ask: &mpsc::Sender<WatcherMessage>,
    asked: &mpsc::Receiver<WatcherMessage>,
) {
    let sender = ask.clone();
    let made = notify::recommended_watcher(move |event: notify::Result<Event>| {
        // Reading is no change, and we read ourselves.
        if event.as_ref().is_ok_and(|event| event.kind.is_access()) {
            return;
        }
        // Without anyone to hear it, nothing is lost.
        let _ = sender.send(WatcherMessage::Event(event));
    });
    let mut eyes = match made {
        Ok(watcher) => Some(LibraryWatcher {
            watcher,
            watched: BTreeMap::new(),
        }),
        Err(error) => {
            report_watch_failure(shelf, &error.to_string());
            None
        }
    };
    if let Some(seeing) = &mut eyes {
        seeing.sync_watches(shelf, places);
        // Something may have changed between the first reading and now.
        let mut paths = Vec::new();
        for (folder, deep) in &seeing.watched {
            collect_changed_since(folder, since, *deep, MAX_ANCESTORS, &mut paths);
        }
        if let Some(shelf) = shelf.upgrade().filter(|_| !paths.is_empty()) {
            shelf.reload_paths(&paths);
        }
    }
    let mut young = NewFolders::default();
    loop {
        let sees = eyes.as_ref().is_some_and(|eyes| !eyes.watched.is_empty());
        let told = match young.time_until_due() {
            Some(rest) => asked.recv_timeout(rest),
            None if sees => asked
                .recv()
                .map_err(|_| mpsc::RecvTimeoutError::Disconnected),
            None => asked.recv_timeout(POLL_INTERVAL),
        };
        let Some(shelf_now) = shelf.upgrade() else {
            return;
        };
        match told {
            Ok(WatcherMessage::Stop) | Err(mpsc::RecvTimeoutError::Disconnected) => return,
            Ok(WatcherMessage::Rescan) => {}
            Ok(WatcherMessage::Event(first)) => {
                let mut seen = ChangedPaths::default();
                seen.add(first);
                let go_on = seen.collect_until_quiet(asked);
                if seen.overflowed {
                    shelf_now.reload();
                } else if !seen.paths.is_empty() {
                    let paths: Vec<PathBuf> = seen.paths.into_iter().collect();
                    shelf_now.reload_paths(&paths);
                }
                young.add(seen.new_folders);
                if !go_on {
                    return;
                }
            }
            Err(mpsc::RecvTimeoutError::Timeout) => match young.take_folders() {
                folders if folders.is_empty() => {
                    shelf_now.reload();
                }
                folders => {
                    shelf_now.reload_paths(&folders);
                }
            },
        }
        drop(shelf_now);
        if let Some(seeing) = &mut eyes
            && seeing.sync_watches(shelf, places)
            && let Some(shelf) = shelf.upgrade()
        {
            // What was made before the folder was watched was not seen.
            shelf.reload();
        }
    }
}

/// What changed since then, in a folder and those below it.
fn collect_changed_since(
    folder: &Path,
    since: SystemTime,
    deep: bool,
    depth: usize,
    paths: &mut Vec<PathBuf>,
) {
    let is_newer = |path: &Path| {
        path.symlink_metadata()
            .and_then(|about| about.modified())
            .is_ok_and(|at| at >= since)
    };
    if is_newer(folder) {
        paths.push(folder.to_path_buf());
    }
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
        if is_folder && deep {
            collect_changed_since(&entry.path(), since, deep, depth, paths);
        } else if !is_folder && is_newer(&entry.path()) {
            paths.push(entry.path());
        }
    }
}

/// What was seen since files were last at rest. Every path counts, also one that came and went:
/// what was read in between must be read again.
#[derive(Default)]
struct ChangedPaths {
    paths: BTreeSet<PathBuf>,
    /// Those of them that are folders and have just come.
    new_folders: BTreeSet<PathBuf>,
    /// Whether something may have been missed.
    overflowed: bool,
}

impl ChangedPaths {
    fn add(&mut self, event: notify::Result<Event>) {
        match event {
            Ok(event) if event.need_rescan() => self.overflowed = true,
            Ok(event) => {
                let came = event.kind.is_create() || event.kind.is_modify();
                let folders = event.paths.iter().filter(|it| came && it.is_dir());
                self.new_folders.extend(folders.cloned());
                self.paths.extend(event.paths);
            }
            Err(_) => self.overflowed = true,
        }
    }

    /// Adds what follows until files are at rest. False if it is enough for good.
    fn collect_until_quiet(&mut self, asked: &mpsc::Receiver<WatcherMessage>) -> bool {
        let end = Instant::now() + MAX_QUIET_WAIT;
        while Instant::now() < end {
            match asked.recv_timeout(QUIET_PERIOD) {
                Ok(WatcherMessage::Event(event)) => self.add(event),
                Ok(WatcherMessage::Rescan) => {}
                Ok(WatcherMessage::Stop) | Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return false;
                }
                Err(mpsc::RecvTimeoutError::Timeout) => break,
            }
        }
        true
    }
}

/// Folders that have just come.
#[derive(Default)]
struct NewFolders {
    folders: BTreeSet<PathBuf>,
    due_at: Option<Instant>,
}

impl NewFolders {
    fn add(&mut self, folders: BTreeSet<PathBuf>) {
        if !folders.is_empty() {
            self.folders.extend(folders);
            self.due_at = Some(Instant::now() + NEW_FOLDER_DELAY);
        }
    }

    /// How long it is until they are read once more, if there are any.
    fn time_until_due(&self) -> Option<Duration> {
        let now = Instant::now();
        self.due_at
            .map(|until| until.saturating_duration_since(now))
    }

    /// Those whose time has come; from now on they are like others.
    fn take_folders(&mut self) -> Vec<PathBuf> {
        self.due_at = None;
        std::mem::take(&mut self.folders).into_iter().collect()
    }
}

struct LibraryWatcher {
    watcher: RecommendedWatcher,
    watched: BTreeMap<PathBuf, bool>,
}

impl LibraryWatcher {
    /// Watches what is there now and no more what is gone. Returns whether there is something new.
    /// A folder may come after it was looked for and before the one above it is watched, so it
    /// looks again until there is nothing new.
    fn sync_watches(&mut self, shelf: &Weak<LiveLibrary>, places: &LibraryPaths) -> bool {
        let rounds = std::iter::repeat_with(|| self.sync_watches_once(shelf, places));
        rounds.take(MAX_ANCESTORS).take_while(|new| *new).count() > 0
    }

    fn sync_watches_once(&mut self, shelf: &Weak<LiveLibrary>, places: &LibraryPaths) -> bool {
        let wanted = folders_to_watch(places);
        let stale: Vec<PathBuf> = self
            .watched
            .iter()
            .filter(|(path, deep)| wanted.get(*path) != Some(deep))
            .map(|(path, _)| path.clone())
            .collect();
        for path in stale {
            self.watched.remove(&path);
            // A folder that is gone is no longer watched anyway.
            let _ = self.watcher.unwatch(&path);
        }
        let mut new = false;
        let mut failure = None;
        for (path, deep) in wanted {
            if self.watched.contains_key(&path) {
                continue;
            }
            let mode = if deep {
                RecursiveMode::Recursive
            } else {
                RecursiveMode::NonRecursive
            };
            match self.watcher.watch(&path, mode) {
                Ok(()) => {
                    self.watched.insert(path, deep);
                    new = true;
                }
                Err(error) => failure = Some(error.to_string()),
            }
        }
        if let Some(why) = failure {
            report_watch_failure(shelf, &why);
        }
        new
    }
}

/// The folders to watch, and whether with all below them.
fn folders_to_watch(places: &LibraryPaths) -> BTreeMap<PathBuf, bool> {
    let mut all = BTreeMap::new();
    for kind in roots::ITEM_KINDS {
        let candidates = roots::candidate_folders(places, kind);
        for candidate in &candidates {
            if let Some(above) = candidate.parent().and_then(nearest_existing) {
                all.entry(above).or_insert(false);
            }
        }
        if let Some(root) = candidates
            .iter()
            .find(|it| it.is_dir())
            .and_then(|it| it.canonicalize().ok())
        {
            all.insert(root, true);
        }
    }
    let settings = [places.workspace.clone(), places.workspace.join("resources")];
    for folder in settings
        .iter()
        .filter_map(|folder| nearest_existing(folder))
    {
        all.entry(folder).or_insert(false);
    }
    all
}

/// The folder, or the nearest one above it that is there.
fn nearest_existing(folder: &Path) -> Option<PathBuf> {
    folder
        .ancestors()
        .take(MAX_ANCESTORS)
        .map(|it| {
            if it.as_os_str().is_empty() {
                Path::new(".")
            } else {
                it
            }
        })
        .find(|it| it.is_dir())
        .and_then(|it| it.canonicalize().ok())
}

fn report_watch_failure(shelf: &Weak<LiveLibrary>, why: &str) {
    tracing::warn!(why, "files of the library can't be watched");
    if let Some(shelf) = shelf.upgrade() {
        shelf.set_watch_problem(Some(LibraryProblem {
            weight: ProblemSeverity::Warning,
            file: WATCHER_PROBLEM_FILE.to_owned(),
            line: None,
            column: None,
            kind: LibraryItemKind::Prompt,
            id: String::new(),
            message: format!("Changed files are not noticed by themselves: {why}."),
            help: Some("Raise the system's limit on watches, or reload by hand.".to_owned()),
            last_good_kept: false,
        }));
    }
}
