//! Files that come into watched folders are read by themselves: once they are at rest, one after the
//! other, by a call of `process_pdf` through the one gate. What was read, or could not be, is not
//! tried again until it changes.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::Duration,
};

use deliberate_toolkit::{Answer, Caller, Registry, ToolError};
use serde_json::json;
use tokio::{
    sync::mpsc::{self, Receiver},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    eyes::Eyes,
    files::files_below,
    walk::{is_document, is_passed_over},
    watched::{Look, Memory},
};
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
    let lab = lab.clone();
    tokio::spawn(async move {
        let work = async {
            let memory = remembered(lab, memory).await;
            Watch::new(folders, memory, registry).await.run().await;
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = work => {}
        }
    });
}

/// What is remembered of the watched files, as far as the database has seen the same.
async fn remembered(lab: Arc<Lab>, path: Option<PathBuf>) -> Memory {
    let mut memory = Memory::open(path).await;
    if let Err(error) = memory.forget_unknown(lab.store()).await {
        tracing::debug!(%error, "what is remembered of watched files can't be compared");
    }
    memory
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
    /// Files that were read or could not be.
    memory: Memory,
    changed: Receiver<PathBuf>,
    /// When all files are looked at out of turn: a folder came, and nobody tells what is in it.
    look_soon: Option<Instant>,
    eyes: Option<Eyes>,
    /// Folders of which it was told that they can't be looked into.
    shut: BTreeSet<PathBuf>,
}

impl Watch {
    async fn new(folders: Vec<PathBuf>, memory: Memory, registry: Weak<Registry>) -> Self {
        let (tell, changed) = mpsc::channel(MOST_WAITING);
        let wanted = folders.clone();
        let eyes = tokio::task::spawn_blocking(move || Eyes::open(&wanted, &tell)).await;
        Self {
            folders,
            registry,
            waiting: BTreeMap::new(),
            memory,
            changed,
            look_soon: None,
            eyes: eyes.ok().flatten(),
            shut: BTreeSet::new(),
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
                    Some(path) => self.noticed(path).await,
                    None => self.eyes = None,
                },
                _ = all.tick() => self.look_at_all().await,
                () = tokio::time::sleep_until(self.look_soon.unwrap_or_else(Instant::now)),
                    if self.look_soon.is_some() => {
                        self.look_soon = None;
                        self.look_at_all().await;
                    }
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

    /// Something came or changed. What is in a folder by now is looked for once it had time to be
    /// filled; of what comes later the system tells.
    async fn noticed(&mut self, path: PathBuf) {
        let about = tokio::fs::symlink_metadata(&path).await;
        if !about.is_ok_and(|it| it.is_dir()) {
            self.saw(path);
        } else if !self.is_hidden(&path) {
            if let Some(eyes) = &mut self.eyes {
                eyes.came(&path);
            }
            self.look_soon.get_or_insert_with(|| Instant::now() + REST);
        }
    }

    fn is_hidden(&self, path: &Path) -> bool {
        let below = self
            .folders
            .iter()
            .find_map(|it| path.strip_prefix(it).ok());
        let mut parts = below.unwrap_or(path).components();
        below.is_some() && parts.any(|it| is_passed_over(&it.as_os_str().to_string_lossy()))
    }

    async fn look_at_all(&mut self) {
        for folder in self.folders.clone() {
            let below = match files_below(folder.clone(), usize::MAX).await {
                Ok(below) => below,
                Err(error) => {
                    self.is_shut(folder, &error.to_string());
                    continue;
                }
            };
            for folder in below.shut {
                self.is_shut(folder, "it may not be read");
            }
            for path in below.files {
                let is = Look::of(&path).await;
                if is.is_some_and(|is| !self.memory.is_done(&path, is)) {
                    self.saw(path);
                }
            }
        }
    }

    /// Tells once that a folder can't be looked into; the others are.
    fn is_shut(&mut self, folder: PathBuf, why: &str) {
        if !self.shut.contains(&folder) {
            tracing::warn!(folder = %folder.display(), why, "a watched folder can't be looked into");
            self.shut.insert(folder);
        }
    }

    /// Reads files that have not changed for a while. `None` if there is nobody to read them.
    async fn read_what_rests(&mut self) -> Option<()> {
        let mut ready = Vec::new();
        for path in self.waiting.keys().cloned().collect::<Vec<_>>() {
            let is = Look::of(&path).await.filter(|it| it.bytes > 0);
            let Some(is) = is.filter(|is| !self.memory.is_done(&path, *is)) else {
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
            self.memory.keep().await;
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
        let article = match read {
            Ok(read) => {
                tracing::info!(file = %path.display(), "a file of a watched folder was read");
                article_of(&read)
            }
            Err(error) if may_pass(&error) => {
                tracing::debug!(file = %path.display(), %error, "a watched file is tried again");
                let waits = waited.unwrap_or_else(Waiting::new);
                self.waiting.insert(path, waits.again());
                return Some(());
            }
            Err(error) => {
                tracing::warn!(file = %path.display(), %error, "a watched file can't be read");
                None
            }
        };
        self.memory.note(path, is, article);
        Some(())
    }
}

/// The article that a file was read for.
fn article_of(answer: &Answer) -> Option<String> {
    let Answer::Done(output) = answer else {
        return None;
    };
    output.get("article_id")?.as_str().map(str::to_owned)
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
