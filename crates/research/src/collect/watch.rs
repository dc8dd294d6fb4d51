//! Files that come into watched folders are read by themselves: once they are at rest, one after the
//! other, by a call of `process_pdf` through the one gate. What was read, or could not be, is not
//! tried again until it changes.

use std::{
    collections::BTreeMap,
    io::{Read as _, Seek as _, SeekFrom},
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
use crate::{Lab, blocking::blocking};

/// How long a file must be as it is before it is read.
const REST: Duration = Duration::from_secs(1);

/// How long one must be so whose end is missing: somebody may be copying it slowly.
const REST_UNFINISHED: Duration = Duration::from_secs(30);

/// How soon a file is tried again that could not be kept; twice as long each time.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

/// How long that is at the most.
const AGAIN_AT_MOST: Duration = Duration::from_mins(10);

/// Where the end of a file is looked for.
const END_BYTES: u64 = 2_048;

/// How often files that are not yet at rest are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// How often all files are looked at: what the system did not tell is found so.
const LOOK_AT_ALL_EVERY: Duration = Duration::from_mins(5);

/// The most files that wait.
const MOST_WAITING: usize = 10_000;

/// How many files are read before it is kept that they were.
const READ_BETWEEN: usize = 20;

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

/// A file that is to be read.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    /// How it last looked.
    look: Option<Look>,
    /// Since when it looks so.
    since: Instant,
    /// How often it was tried in vain.
    tries: u32,
    /// When it may be tried again.
    not_before: Instant,
}

impl Waiting {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            look: None,
            since: now,
            tries: 0,
            not_before: now,
        }
    }

    /// One that was tried in vain.
    fn again(self) -> Self {
        let now = Instant::now();
        let longer = AGAIN_AFTER.saturating_mul(2_u32.saturating_pow(self.tries));
        Self {
            tries: self.tries.saturating_add(1),
            not_before: now + longer.min(AGAIN_AT_MOST),
            ..self
        }
    }
}

struct Watch {
    folders: Vec<PathBuf>,
    registry: Weak<Registry>,
    /// Files to be read.
    waiting: BTreeMap<PathBuf, Waiting>,
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
        self.waiting.entry(path).or_insert_with(Waiting::new);
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
            let found = files_below(folder, usize::MAX).await.unwrap_or_default();
            for path in found {
                if self.done.get(&path) != look(&path).await.as_ref() {
                    self.saw(path);
                }
            }
        }
    }

    /// Reads files that have not changed for a while. `None` if there is nobody to read them.
    async fn read_what_rests(&mut self) -> Option<()> {
        let mut ready = Vec::new();
        for path in self.waiting.keys().cloned().collect::<Vec<_>>() {
            let is = look(&path).await.filter(|it| it.bytes > 0);
            let Some(is) = is.filter(|is| self.done.get(&path) != Some(is)) else {
                self.waiting.remove(&path);
                continue;
            };
            if self.rests(&path, is).await {
                ready.push((path, is));
            }
        }
        for some in ready.chunks(READ_BETWEEN) {
            for (path, is) in some {
                self.read(path.clone(), *is).await?;
            }
            self.remember().await;
        }
        Some(())
    }

    /// Whether a file that looks so now has not changed for as long as it takes.
    async fn rests(&mut self, path: &Path, is: Look) -> bool {
        let now = Instant::now();
        let Some(waits) = self.waiting.get_mut(path) else {
            return false;
        };
        if waits.look != Some(is) {
            (waits.look, waits.since) = (Some(is), now);
            return false;
        }
        let rested = now.duration_since(waits.since);
        now >= waits.not_before
            && rested >= REST
            && (rested >= REST_UNFINISHED || is_whole(path.to_owned()).await)
    }

    async fn read(&mut self, path: PathBuf, is: Look) -> Option<()> {
        let registry = self.registry.upgrade()?;
        let waited = self.waiting.remove(&path);
        let arguments = json!({ "pdf_path": path.to_string_lossy() });
        let read = registry
            .call("process_pdf", arguments, Caller::default())
            .await;
        drop(registry);
        match read {
            Ok(_) => tracing::info!(file = %path.display(), "a file of a watched folder was read"),
            Err(error) if may_pass(&error) => {
                tracing::debug!(file = %path.display(), %error, "a watched file is tried again");
                let waits = waited.unwrap_or_else(Waiting::new);
                self.waiting.insert(path, waits.again());
                return Some(());
            }
            Err(error) => {
                tracing::warn!(file = %path.display(), %error, "a watched file can't be read");
            }
        }
        if self.done.len() < MOST_REMEMBERED {
            self.done.insert(path, is);
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
            | ToolError::Stopping
            | ToolError::Timeout { .. }
    )
}

/// Whether a file has the end that files of its kind have: what is still being copied has not.
async fn is_whole(path: PathBuf) -> bool {
    let ending = path.extension().and_then(|it| it.to_str());
    let mark: &[u8] = match ending.unwrap_or_default().to_ascii_lowercase().as_str() {
        "pdf" => b"%%EOF",
        "docx" | "epub" => b"PK\x05\x06",
        _ => return true,
    };
    let end = blocking(move || end_of(&path)).await;
    // What can't be looked into is told by whoever reads it.
    end.ok()
        .and_then(Result::ok)
        .is_none_or(|end| memchr::memmem::find(&end, mark).is_some())
}

/// The last bytes of a file.
fn end_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(path)?;
    let bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(bytes.saturating_sub(END_BYTES)))?;
    let mut end = Vec::new();
    file.take(END_BYTES).read_to_end(&mut end)?;
    Ok(end)
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
