//! Watches folders and reads new files once they stop changing, one at a time, by calling
//! `process_pdf` through the dispatcher. A file that was read or can't be read is not tried again
//! until it changes.

pub(crate) mod directory_walk;
pub(crate) mod seen_files;
pub(crate) mod watcher;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::Duration,
};

use deliberate_toolkit::{CallOutcome, CallerContext, Registry, ToolError};
use serde_json::json;
use tokio::{
    sync::mpsc::{self, Receiver},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::ingest::path_policy::list_files;
use crate::{ResearchServices, blocking::run_blocking};
use directory_walk::{is_document, is_ignored};
use seen_files::{FileFingerprint, SeenFiles};
use watcher::FolderWatcher;

/// How long a file must be unchanged before it is read.
const SETTLE_TIME: Duration = Duration::from_secs(1);

/// How long a file without its end marker must be unchanged, because it may be a slow copy.
const SETTLE_TIME_INCOMPLETE: Duration = Duration::from_secs(30);

/// The delay before a file that could not be stored is retried; it doubles each time.
const RETRY_DELAY: Duration = Duration::from_secs(5);

const MAX_RETRY_DELAY: Duration = Duration::from_mins(10);

/// The number of bytes at the end of a file that are searched for its end marker.
const TAIL_BYTES: u64 = 2_048;

/// The interval of checks whether pending files have stopped changing.
const POLL_INTERVAL: Duration = Duration::from_millis(300);

/// The interval of full scans, which find files that the system did not report.
const RESCAN_INTERVAL: Duration = Duration::from_mins(5);

/// The most pending files.
const MAX_PENDING: usize = 10_000;

/// The number of files read before the list of seen files is saved.
const SAVE_BATCH: usize = 20;

/// Starts watching the folders of the settings.
pub(crate) fn start(
    services: &Arc<ResearchServices>,
    registry: &Arc<Registry>,
    stop: CancellationToken,
) {
    let folders = services.options().watched_folders.clone();
    if folders.is_empty() {
        return;
    }
    let memory = services
        .options()
        .folder
        .as_ref()
        .map(|it| it.join("watched.json"));
    let registry = Arc::downgrade(registry);
    let lab = services.clone();
    tokio::spawn(async move {
        let work = async {
            let memory = load_seen_files(lab, memory).await;
            WatchFolderTask::new(folders, memory, registry)
                .await
                .run()
                .await;
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = work => {}
        }
    });
}

/// Loads the seen files as far as the database knows their articles.
async fn load_seen_files(services: Arc<ResearchServices>, path: Option<PathBuf>) -> SeenFiles {
    let mut memory = SeenFiles::open(path).await;
    if let Err(error) = memory.remove_unknown(services.store()).await {
        tracing::debug!(%error, "the list of seen files can't be checked against the database");
    }
    memory
}

/// A file that waits to be read.
#[derive(Debug, Clone, Copy)]
struct PendingFile {
    /// The last observed fingerprint.
    fingerprint: Option<FileFingerprint>,
    unchanged_since: Instant,
    /// The number of failed attempts.
    attempts: u32,
    /// The earliest time of the next attempt.
    not_before: Instant,
}

impl PendingFile {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            fingerprint: None,
            unchanged_since: now,
            attempts: 0,
            not_before: now,
        }
    }

    /// The file after a failed attempt, with its next delay.
    fn with_backoff(self) -> Self {
        let now = Instant::now();
        let longer = RETRY_DELAY.saturating_mul(2_u32.saturating_pow(self.attempts));
        Self {
            attempts: self.attempts.saturating_add(1),
            not_before: now + longer.min(MAX_RETRY_DELAY),
            ..self
        }
    }
}

struct WatchFolderTask {
    folders: Vec<PathBuf>,
    registry: Weak<Registry>,
    pending: BTreeMap<PathBuf, PendingFile>,
    /// Files that were read or can't be read.
    seen_files: SeenFiles,
    change_events: Receiver<PathBuf>,
    /// The time of an additional full scan, because the content of a new folder is not reported.
    rescan_at: Option<Instant>,
    watcher: Option<FolderWatcher>,
    /// Unreadable folders that were already reported.
    unreadable: BTreeSet<PathBuf>,
}

impl WatchFolderTask {
    async fn new(folders: Vec<PathBuf>, memory: SeenFiles, registry: Weak<Registry>) -> Self {
        let (tell, changed) = mpsc::channel(MAX_PENDING);
        let wanted = folders.clone();
        let eyes = tokio::task::spawn_blocking(move || FolderWatcher::open(&wanted, &tell)).await;
        Self {
            folders,
            registry,
            pending: BTreeMap::new(),
            seen_files: memory,
            change_events: changed,
            rescan_at: None,
            watcher: eyes.ok().flatten(),
            unreadable: BTreeSet::new(),
        }
    }

    async fn run(&mut self) {
        self.rescan().await;
        let mut all = tokio::time::interval(RESCAN_INTERVAL);
        all.reset();
        let mut often = tokio::time::interval(POLL_INTERVAL);
        often.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let sees = self.watcher.is_some();
            tokio::select! {
                path = self.change_events.recv(), if sees => match path {
                    Some(path) => self.handle_change(path).await,
                    None => self.watcher = None,
                },
                _ = all.tick() => self.rescan().await,
                () = tokio::time::sleep_until(self.rescan_at.unwrap_or_else(Instant::now)),
                    if self.rescan_at.is_some() => {
                        self.rescan_at = None;
                        self.rescan().await;
                    }
                _ = often.tick(), if !self.pending.is_empty() => {
                    if self.ingest_settled().await.is_none() {
                        return;
                    }
                }
            }
        }
    }

    fn enqueue(&mut self, path: PathBuf) {
        if self.pending.len() >= MAX_PENDING || !is_document(&path) || self.is_hidden(&path) {
            return;
        }
        self.pending.entry(path).or_insert_with(PendingFile::new);
    }

    /// Handles a reported change. A new folder is scanned after it had time to be filled; later
    /// changes in it are reported by the system.
    async fn handle_change(&mut self, path: PathBuf) {
        let about = tokio::fs::symlink_metadata(&path).await;
        if !about.is_ok_and(|it| it.is_dir()) {
            self.enqueue(path);
        } else if !self.is_hidden(&path) {
            if let Some(eyes) = &mut self.watcher {
                eyes.add_folder(&path);
            }
            self.rescan_at
                .get_or_insert_with(|| Instant::now() + SETTLE_TIME);
        }
    }

    fn is_hidden(&self, path: &Path) -> bool {
        let below = self
            .folders
            .iter()
            .find_map(|it| path.strip_prefix(it).ok());
        let mut parts = below.unwrap_or(path).components();
        below.is_some() && parts.any(|it| is_ignored(&it.as_os_str().to_string_lossy()))
    }

    async fn rescan(&mut self) {
        for folder in self.folders.clone() {
            let below = match list_files(folder.clone(), usize::MAX).await {
                Ok(below) => below,
                Err(error) => {
                    self.warn_unreadable(folder, &error.to_string());
                    continue;
                }
            };
            for folder in below.unreadable {
                self.warn_unreadable(folder, "permission denied");
            }
            for path in below.files {
                let is = FileFingerprint::from_path(&path).await;
                if is.is_some_and(|is| !self.seen_files.contains(&path, is)) {
                    self.enqueue(path);
                }
            }
        }
    }

    /// Reports an unreadable folder once; the others are still read.
    fn warn_unreadable(&mut self, folder: PathBuf, why: &str) {
        if !self.unreadable.contains(&folder) {
            tracing::warn!(folder = %folder.display(), why, "a watched folder can't be read");
            self.unreadable.insert(folder);
        }
    }

    /// Reads files that have stopped changing; `None` if the registry is gone.
    async fn ingest_settled(&mut self) -> Option<()> {
        let mut ready = Vec::new();
        for path in self.pending.keys().cloned().collect::<Vec<_>>() {
            let is = FileFingerprint::from_path(&path)
                .await
                .filter(|it| it.bytes > 0);
            let Some(is) = is.filter(|is| !self.seen_files.contains(&path, *is)) else {
                self.pending.remove(&path);
                continue;
            };
            if self.is_settled(&path, is).await {
                ready.push((path, is));
            }
        }
        for some in ready.chunks(SAVE_BATCH) {
            for (path, is) in some {
                self.ingest(path.clone(), *is).await?;
            }
            self.seen_files.save().await;
        }
        Some(())
    }

    /// Whether a file with this fingerprint has been unchanged long enough.
    async fn is_settled(&mut self, path: &Path, is: FileFingerprint) -> bool {
        let now = Instant::now();
        let Some(waits) = self.pending.get_mut(path) else {
            return false;
        };
        if waits.fingerprint != Some(is) {
            (waits.fingerprint, waits.unchanged_since) = (Some(is), now);
            return false;
        }
        let rested = now.duration_since(waits.unchanged_since);
        now >= waits.not_before
            && rested >= SETTLE_TIME
            && (rested >= SETTLE_TIME_INCOMPLETE || is_complete(path.to_owned()).await)
    }

    async fn ingest(&mut self, path: PathBuf, is: FileFingerprint) -> Option<()> {
        let registry = self.registry.upgrade()?;
        let waited = self.pending.remove(&path);
        let arguments = json!({ "pdf_path": path.to_string_lossy() });
        let read = registry
            .call("process_pdf", arguments, CallerContext::default())
            .await;
        drop(registry);
        let article = match read {
            Ok(read) => {
                tracing::info!(file = %path.display(), "a file of a watched folder was read");
                result_article_id(&read)
            }
            Err(error) if is_retryable(&error) => {
                tracing::debug!(file = %path.display(), %error, "a watched file will be retried");
                let waits = waited.unwrap_or_else(PendingFile::new);
                self.pending.insert(path, waits.with_backoff());
                return Some(());
            }
            Err(error) => {
                tracing::warn!(file = %path.display(), %error, "a watched file can't be read");
                None
            }
        };
        self.seen_files.insert(path, is, article);
        Some(())
    }
}

/// The ID of the article that a file was read for.
fn result_article_id(answer: &CallOutcome) -> Option<String> {
    let CallOutcome::Done(output) = answer else {
        return None;
    };
    output.get("article_id")?.as_str().map(str::to_owned)
}

/// Whether a later attempt may succeed.
fn is_retryable(error: &ToolError) -> bool {
    matches!(
        error,
        ToolError::Overloaded { .. }
            | ToolError::Store(_)
            | ToolError::Cancelled
            | ToolError::Stopping
            | ToolError::Timeout { .. }
    )
}

/// Whether a file has the end marker of its kind, which a partial copy lacks.
async fn is_complete(path: PathBuf) -> bool {
    let ending = path.extension().and_then(|it| it.to_str());
    let mark: &[u8] = match ending.unwrap_or_default().to_ascii_lowercase().as_str() {
        "pdf" => b"%%EOF",
        "docx" | "epub" => b"PK\x05\x06",
        _ => return true,
    };
    let end = run_blocking(move || read_tail(&path)).await;
    // An unreadable file is reported when it is ingested.
    end.ok()
        .and_then(Result::ok)
        .is_none_or(|end| memchr::memmem::find(&end, mark).is_some())
}

/// The last bytes of a file.
fn read_tail(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(path)?;
    let bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(bytes.saturating_sub(TAIL_BYTES)))?;
    let mut end = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut end)?;
    Ok(end)
}
