//! How the system tells of what comes into watched folders.

use std::{
    io,
    path::{Path, PathBuf},
};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc::Sender;

use super::directory_walk::walk_directory;

/// The system's watches, for as long as this is held.
pub(crate) struct FolderWatcher {
    watcher: RecommendedWatcher,
    /// Whether folders are watched each for itself, for not all that is in them may be looked into.
    per_folder: bool,
}

impl FolderWatcher {
    /// Has the system tell of changes, as far as it can; the rest is found by looking.
    pub(crate) fn open(folders: &[PathBuf], tell: &Sender<PathBuf>) -> Option<Self> {
        let tell = tell.clone();
        let all = folders.to_vec();
        let made = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let mut event = event.unwrap_or_else(|_| notify::Event::new(notify::EventKind::Other));
            // Reading is no change, and we read ourselves.
            if event.kind.is_access() || event.kind.is_remove() {
                return;
            }
            if event.paths.is_empty() {
                // Something was missed, and it is not said what.
                event.paths.clone_from(&all);
            }
            for path in event.paths {
                // What does not fit is found when all files are looked at.
                let _ = tell.try_send(path);
            }
        });
        let watcher = made.inspect_err(|error| {
            tracing::warn!(%error, "folders can't be watched; they are looked at now and then");
        });
        let mut eyes = Self {
            watcher: watcher.ok()?,
            per_folder: false,
        };
        for folder in folders {
            eyes.watch(folder);
        }
        Some(eyes)
    }

    /// A folder came into a watched one. Of one that is watched with all in it the system tells.
    pub(crate) fn add_folder(&mut self, folder: &Path) {
        if self.per_folder {
            self.watch(folder);
        }
    }

    fn watch(&mut self, folder: &Path) {
        match self.watcher.watch(folder, RecursiveMode::Recursive) {
            Ok(()) => {}
            // One that is shut ends the watching of all behind it.
            Err(error) if is_permission_denied(&error) => {
                self.per_folder = true;
                self.watch_subfolders(folder);
            }
            Err(error) => log_unwatched(folder, &error),
        }
    }

    fn watch_subfolders(&mut self, folder: &Path) {
        let Ok(below) = walk_directory(folder, 0) else {
            return;
        };
        for folder in &below.folders {
            if let Err(error) = self.watcher.watch(folder, RecursiveMode::NonRecursive) {
                log_unwatched(folder, &error);
            }
        }
    }
}

fn is_permission_denied(error: &notify::Error) -> bool {
    matches!(&error.kind, notify::ErrorKind::Io(it) if it.kind() == io::ErrorKind::PermissionDenied)
}

fn log_unwatched(folder: &Path, error: &notify::Error) {
    tracing::warn!(folder = %folder.display(), %error, "a folder can't be watched");
}
