//! Files that come into watched folders are read by themselves: once they are at rest, one after the
//! other, by a call of `process_pdf` through the one gate. What was read, or could not be, is not
//! tried again until it changes.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::{Duration, UNIX_EPOCH},
};

use deliberate_toolkit::{Caller, Registry, ToolError};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::{
    sync::mpsc::{self, Receiver, Sender},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::files::{files_below, is_document};
use crate::Lab;

/// How long a file must be as it is before it is read.
const REST: Duration = Duration::from_secs(1);

/// How often files that are not yet at rest are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// How often all files are looked at: what the system did not tell is found so.
const LOOK_AT_ALL_EVERY: Duration = Duration::from_mins(5);

/// The most files that wait.
const MOST_WAITING: usize = 10_000;

/// The most files that are remembered.
const MOST_REMEMBERED: usize = 100_000;

/// Begins to watch the folders that the settings name.
pub(crate) fn start(lab: &Arc<Lab>, registry: &Arc<Registry>, stop: CancellationToken) {
    let folders = lab.options().watched.clone();
    if folders.is_empty() {
        return;
    }
    let memory = lab
        .options()
        .folder
        .as_ref()
        .map(|it| it.join("watched.json"));
    let registry = Arc::downgrade(registry);
    tokio::spawn(async move {
        let mut watch = Watch::new(folders, memory, registry).await;
        tokio::select! {
            () = stop.cancelled() => {}
            () = watch.run() => {}
        }
    });
}

/// What a file looked like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Look {
    bytes: u64,
    /// When it was last written, in milliseconds since 1970.
    written: u64,
}

struct Watch {
    folders: Vec<PathBuf>,
    registry: Weak<Registry>,
    /// Files to be read, as they last looked and since when.
    waiting: BTreeMap<PathBuf, (Option<Look>, Instant)>,
    /// Files that were read or could not be, as they looked then.
    done: BTreeMap<PathBuf, Look>,
    memory: Option<PathBuf>,
    changed: Receiver<PathBuf>,
    /// Holds the system's watches.
    eyes: Option<RecommendedWatcher>,
}

impl Watch {
    async fn new(folders: Vec<PathBuf>, memory: Option<PathBuf>, registry: Weak<Registry>) -> Self {
        let (tell, changed) = mpsc::channel(MOST_WAITING);
        let wanted = folders.clone();
        let eyes = tokio::task::spawn_blocking(move || open_eyes(&wanted, &tell)).await;
        let done = match &memory {
            Some(path) => tokio::fs::read(path).await.unwrap_or_default(),
            None => Vec::new(),
        };
        Self {
            folders,
            registry,
            waiting: BTreeMap::new(),
            done: serde_json::from_slice(&done).unwrap_or_default(),
            memory,
            changed,
            eyes: eyes.ok().flatten(),
        }
    }

    async fn run(&mut self) {
        self.look_at_all().await;
        let mut all = tokio::time::interval(LOOK_AT_ALL_EVERY);
        all.reset();
        let mut often = tokio::time::interval(LOOK_EVERY);
        often.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let sees = self.eyes.is_some();
            tokio::select! {
                path = self.changed.recv(), if sees => match path {
                    Some(path) => self.saw(path),
                    None => self.eyes = None,
                },
                _ = all.tick() => self.look_at_all().await,
                _ = often.tick(), if !self.waiting.is_empty() => {
                    if self.read_what_rests().await.is_none() {
                        return;
                    }
                }
            }
        }
    }

    fn saw(&mut self, path: PathBuf) {
        if self.waiting.len() >= MOST_WAITING || !is_document(&path) || self.is_hidden(&path) {
            return;
        }
        self.waiting.entry(path).or_insert((None, Instant::now()));
    }

    fn is_hidden(&self, path: &Path) -> bool {
        let below = self
            .folders
            .iter()
            .find_map(|it| path.strip_prefix(it).ok());
        let mut parts = below.unwrap_or(path).components();
        below.is_some() && parts.any(|it| it.as_os_str().to_string_lossy().starts_with('.'))
    }

    async fn look_at_all(&mut self) {
        for folder in self.folders.clone() {
            let found = files_below(folder, MOST_WAITING).await.unwrap_or_default();
            for path in found {
                if self.done.get(&path) != look(&path).await.as_ref() {
                    self.saw(path);
                }
            }
        }
    }

    /// Reads files that have not changed for a while. `None` if there is nobody to read them.
    async fn read_what_rests(&mut self) -> Option<()> {
        let now = Instant::now();
        let mut ready = Vec::new();
        for path in self.waiting.keys().cloned().collect::<Vec<_>>() {
            let Some(is) = look(&path).await.filter(|it| it.bytes > 0) else {
                self.waiting.remove(&path);
                continue;
            };
            if self.done.get(&path) == Some(&is) {
                self.waiting.remove(&path);
                continue;
            }
            match self.waiting.get_mut(&path) {
                Some((Some(was), since)) if *was == is && now.duration_since(*since) < REST => {}
                Some((Some(was), _)) if *was == is => {
                    ready.push((path, is));
                }
                Some(seen) => *seen = (Some(is), now),
                None => {}
            }
        }
        for (path, is) in ready {
            self.waiting.remove(&path);
            self.read(path, is).await?;
        }
        Some(())
    }

    async fn read(&mut self, path: PathBuf, is: Look) -> Option<()> {
        let registry = self.registry.upgrade()?;
        let arguments = json!({ "pdf_path": path.to_string_lossy() });
        let read = registry
            .call("process_pdf", arguments, Caller::default())
            .await;
        drop(registry);
        match read {
            Ok(_) => tracing::info!(file = %path.display(), "a file of a watched folder was read"),
            Err(error) if may_pass(&error) => {
                tracing::debug!(file = %path.display(), %error, "a watched file is tried again");
                self.waiting.insert(path, (None, Instant::now()));
                return Some(());
            }
            Err(error) => {
                tracing::warn!(file = %path.display(), %error, "a watched file can't be read");
            }
        }
        if self.done.len() < MOST_REMEMBERED {
            self.done.insert(path, is);
            self.remember().await;
        }
        Some(())
    }

    /// Keeps what was read, so that it is not looked into again after a start.
    async fn remember(&self) {
        let Some(path) = &self.memory else {
            return;
        };
        let Ok(json) = serde_json::to_vec(&self.done) else {
            return;
        };
        if let Some(folder) = path.parent() {
            let _ = tokio::fs::create_dir_all(folder).await;
        }
        if let Err(error) = tokio::fs::write(path, json).await {
            tracing::debug!(%error, "what was read of watched folders can't be remembered");
        }
    }
}

/// Whether the same may go well later.
fn may_pass(error: &ToolError) -> bool {
    matches!(
        error,
        ToolError::Overloaded { .. }
            | ToolError::Store(_)
            | ToolError::Cancelled
            | ToolError::Timeout { .. }
    )
}

async fn look(path: &Path) -> Option<Look> {
    let about = tokio::fs::symlink_metadata(path).await.ok()?;
    if !about.is_file() {
        return None;
    }
    let written = about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(Look {
        bytes: about.len(),
        written: u64::try_from(written.as_millis()).unwrap_or(u64::MAX),
    })
}

/// Has the system tell of changes, as far as it can; the rest is found by looking.
fn open_eyes(folders: &[PathBuf], tell: &Sender<PathBuf>) -> Option<RecommendedWatcher> {
    let tell = tell.clone();
    let made = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return };
        // Reading is no change, and we read ourselves.
        if event.kind.is_access() || event.kind.is_remove() {
            return;
        }
        for path in event.paths {
            // What does not fit is found when all files are looked at.
            let _ = tell.try_send(path);
        }
    });
    let mut eyes = match made {
        Ok(eyes) => eyes,
        Err(error) => {
            tracing::warn!(%error, "folders can't be watched; they are looked at now and then");
            return None;
        }
    };
    for folder in folders {
        if let Err(error) = eyes.watch(folder, RecursiveMode::Recursive) {
            tracing::warn!(folder = %folder.display(), %error, "a folder can't be watched");
        }
    }
    Some(eyes)
}
