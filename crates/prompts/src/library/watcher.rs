//! Watches the files of the library and triggers reloads of [`LiveLibrary`].
//!
//! Existing folders are watched recursively; for folders that do not exist yet, the nearest
//! existing ancestor is watched. If nothing can be watched, all files are read again periodically.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Weak, mpsc},
    time::{Duration, Instant, SystemTime},
};

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::{LibraryProblem, ProblemSeverity, live::LiveLibrary, roots};
use crate::{model::LibraryItemKind, options::LibraryPaths};

/// The time without events after which changed files are read.
const QUIET_PERIOD: Duration = Duration::from_millis(100);

/// The maximum wait for a quiet period: files that never stop changing are read anyway.
const MAX_QUIET_WAIT: Duration = Duration::from_millis(500);

/// The interval of full reloads if nothing can be watched.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

/// The delay after which a new folder is read again: it may be filled before it is watched itself.
const NEW_FOLDER_DELAY: Duration = Duration::from_secs(1);

/// The maximum number of ancestors that are tried for a folder that does not exist.
const MAX_ANCESTORS: usize = 64;

/// The file name in a problem about watching.
pub(crate) const WATCHER_PROBLEM_FILE: &str = "(watching)";

/// A message to the watcher thread.
pub(crate) enum WatcherMessage {
    /// A file system event.
    Event(notify::Result<Event>),
    /// Folders may have been created or removed.
    Rescan,
    Stop,
}

/// Watches until it receives `Stop` or the library is dropped.
pub(crate) fn watch(
    live_library: &Weak<LiveLibrary>,
    library_paths: &LibraryPaths,
    since: SystemTime,
    ask: &mpsc::Sender<WatcherMessage>,
    asked: &mpsc::Receiver<WatcherMessage>,
) {
    let sender = ask.clone();
    let made = notify::recommended_watcher(move |event: notify::Result<Event>| {
        // Read access is not a change, and the library itself reads the files.
        if event.as_ref().is_ok_and(|event| event.kind.is_access()) {
            return;
        }
        // Without a receiver, the event is not needed.
        let _ = sender.send(WatcherMessage::Event(event));
    });
    let mut library_watcher = match made {
        Ok(watcher) => Some(LibraryWatcher {
            watcher,
            watched: BTreeMap::new(),
        }),
        Err(error) => {
            report_watch_failure(live_library, &error.to_string());
            None
        }
    };
    if let Some(seeing) = &mut library_watcher {
        seeing.sync_watches(live_library, library_paths);
        // Files may have changed between the first load and now.
        let mut paths = Vec::new();
        for (folder, deep) in &seeing.watched {
            collect_changed_since(folder, since, *deep, MAX_ANCESTORS, &mut paths);
        }
        if let Some(live_library) = live_library.upgrade().filter(|_| !paths.is_empty()) {
            live_library.reload_paths(&paths);
        }
    }
    let mut young = NewFolders::default();
    loop {
        let sees = library_watcher
            .as_ref()
            .is_some_and(|library_watcher| !library_watcher.watched.is_empty());
        let message = match young.time_until_due() {
            Some(rest) => asked.recv_timeout(rest),
            None if sees => asked
                .recv()
                .map_err(|_| mpsc::RecvTimeoutError::Disconnected),
            None => asked.recv_timeout(POLL_INTERVAL),
        };
        let Some(shelf_now) = live_library.upgrade() else {
            return;
        };
        match message {
            Ok(WatcherMessage::Stop) | Err(mpsc::RecvTimeoutError::Disconnected) => return,
            Ok(WatcherMessage::Rescan) => {}
            Ok(WatcherMessage::Event(first)) => {
                let mut changed_paths = ChangedPaths::default();
                changed_paths.add(first);
                let go_on = changed_paths.collect_until_quiet(asked);
                if changed_paths.overflowed {
                    shelf_now.reload();
                } else if !changed_paths.paths.is_empty() {
                    let paths: Vec<PathBuf> = changed_paths.paths.into_iter().collect();
                    shelf_now.reload_paths(&paths);
                }
                young.add(changed_paths.new_folders);
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
        if let Some(seeing) = &mut library_watcher
            && seeing.sync_watches(live_library, library_paths)
            && let Some(live_library) = live_library.upgrade()
        {
            // Files created before the folder was watched caused no event.
            live_library.reload();
        }
    }
}

/// Collects the paths changed since a time, in a folder and the folders below it.
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

/// The paths of the events since the last quiet period. A path that appeared and disappeared counts
/// too: a version that was read in between must be read again.
#[derive(Default)]
struct ChangedPaths {
    paths: BTreeSet<PathBuf>,
    /// The paths that are new folders.
    new_folders: BTreeSet<PathBuf>,
    /// Whether events may have been lost.
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

    /// Adds events until a quiet period; returns false if watching must stop.
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

/// New folders that are read again after a delay.
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

    /// Returns the time until the folders are read again, if there are any.
    fn time_until_due(&self) -> Option<Duration> {
        let now = Instant::now();
        self.due_at
            .map(|until| until.saturating_duration_since(now))
    }

    /// Removes and returns the folders.
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
    /// Watches new folders and stops watching removed ones. Returns whether there are new folders.
    /// A folder may be created after the check and before its parent is watched, so this repeats
    /// until there is nothing new.
    fn sync_watches(&mut self, library: &Weak<LiveLibrary>, paths: &LibraryPaths) -> bool {
        let rounds = std::iter::repeat_with(|| self.sync_watches_once(library, paths));
        rounds.take(MAX_ANCESTORS).take_while(|new| *new).count() > 0
    }

    fn sync_watches_once(&mut self, library: &Weak<LiveLibrary>, paths: &LibraryPaths) -> bool {
        let wanted = folders_to_watch(paths);
        let stale: Vec<PathBuf> = self
            .watched
            .iter()
            .filter(|(path, deep)| wanted.get(*path) != Some(deep))
            .map(|(path, _)| path.clone())
            .collect();
        for path in stale {
            self.watched.remove(&path);
            // A removed folder is no longer watched anyway.
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
            report_watch_failure(library, &why);
        }
        new
    }
}

/// Returns the folders to watch, and whether recursively.
fn folders_to_watch(paths: &LibraryPaths) -> BTreeMap<PathBuf, bool> {
    let mut all = BTreeMap::new();
    for kind in roots::ITEM_KINDS {
        let candidates = roots::candidate_folders(paths, kind);
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
    let settings = [paths.workspace.clone(), paths.workspace.join("resources")];
    for folder in settings
        .iter()
        .filter_map(|folder| nearest_existing(folder))
    {
        all.entry(folder).or_insert(false);
    }
    all
}

/// Returns the folder or its nearest existing ancestor.
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

fn report_watch_failure(live_library: &Weak<LiveLibrary>, why: &str) {
    tracing::warn!(why, "the files of the library cannot be watched");
    if let Some(live_library) = live_library.upgrade() {
        live_library.set_watch_problem(Some(LibraryProblem {
            weight: ProblemSeverity::Warning,
            file: WATCHER_PROBLEM_FILE.to_owned(),
            line: None,
            column: None,
            kind: LibraryItemKind::Prompt,
            id: String::new(),
            message: format!("Changed files are not detected automatically: {why}."),
            help: Some("Raise the system's limit on file watches, or reload manually.".to_owned()),
            last_good_kept: false,
        }));
    }
}
