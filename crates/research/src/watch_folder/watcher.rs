//! Receives file system notifications for watched folders.

use std::{
    io,
    path::{Path, PathBuf},
};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc::Sender;

use super::directory_walk::walk_directory;

/// The file system watches; they end when this is dropped.
pub(crate) struct FolderWatcher {
    watcher: RecommendedWatcher,
    /// Whether each folder has its own watch, because some subfolders can't be read.
    per_folder: bool,
}

impl FolderWatcher {
    /// Starts the watches as far as possible; full scans find the rest.
    pub(crate) fn open(folders: &[PathBuf], tell: &Sender<PathBuf>) -> Option<Self> {
        let tell = tell.clone();
        let all = folders.to_vec();
        let made = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let mut event = event.unwrap_or_else(|_| notify::Event::new(notify::EventKind::Other));
            // Reads are not changes, and this program reads the files itself.
            if event.kind.is_access() || event.kind.is_remove() {
                return;
            }
            if event.paths.is_empty() {
                // The system lost notifications, so all folders must be scanned.
                event.paths.clone_from(&all);
            }
            for path in event.paths {
                // A notification that does not fit into the channel is made up for by the next full
                // scan.
                let _ = tell.try_send(path);
            }
        });
        let watcher = made.inspect_err(|error| {
            tracing::warn!(%error, "folders can't be watched and are scanned at intervals instead");
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

    /// Adds a new subfolder, unless its parent is watched recursively.
    pub(crate) fn add_folder(&mut self, folder: &Path) {
        if self.per_folder {
            self.watch(folder);
        }
    }

    fn watch(&mut self, folder: &Path) {
        match self.watcher.watch(folder, RecursiveMode::Recursive) {
            Ok(()) => {}
            // One unreadable subfolder makes the recursive watch fail for all that follow.
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
