//! Stores rate limit states in one small file each, changed under a lock, so that all processes on
//! this machine share them. Without a usable folder they are kept in memory.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::sleep;

use super::state::RateState;
use crate::fetch::digest::digest;

/// Larger files are not rate limit states.
const MAX_FILE_BYTES: u64 = 4096;
/// The lock is held only briefly; after this many attempts the state in memory is used instead.
const MAX_LOCK_ATTEMPTS: u32 = 200;
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(10);
/// Above this number of states in memory, idle ones are removed.
const MAX_NAMES_IN_MEMORY: usize = 500;

/// The rate limit states by name.
pub(super) struct RateStateStore {
    folder: Option<PathBuf>,
    memory: Mutex<HashMap<String, RateState>>,
}

impl RateStateStore {
    pub(super) fn new(folder: Option<&Path>) -> Self {
        Self {
            folder: folder.map(|it| it.join("pace")),
            memory: Mutex::default(),
        }
    }

    /// Changes a state exclusively.
    pub(super) async fn update<R: Send + 'static>(
        &self,
        name: &str,
        now: i64,
        change: impl Fn(&mut RateState) -> R + Clone + Send + 'static,
    ) -> R {
        if let Some(folder) = &self.folder {
            match update_file(&folder.join(file_name(name)), &change).await {
                Ok(done) => return done,
                Err(error) => tracing::debug!(%error, "the rate limit state is kept in memory"),
            }
        }
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.len() > MAX_NAMES_IN_MEMORY {
            memory.retain(|_, state| !state.is_idle(now));
        }
        change(memory.entry(name.to_owned()).or_default())
    }
}

async fn update_file<R: Send + 'static>(
    path: &Path,
    change: &(impl Fn(&mut RateState) -> R + Clone + Send + 'static),
) -> io::Result<R> {
    for _ in 0..MAX_LOCK_ATTEMPTS {
        let (path, change) = (path.to_owned(), change.clone());
        let tried = tokio::task::spawn_blocking(move || try_update_file(&path, change)).await;
        if let Some(done) = tried.map_err(io::Error::other)?? {
            return Ok(done);
        }
        sleep(LOCK_RETRY_DELAY).await;
    }
    Err(io::ErrorKind::WouldBlock.into())
}

/// Changes the file; `None` if another process holds its lock.
fn try_update_file<R>(path: &Path, change: impl Fn(&mut RateState) -> R) -> io::Result<Option<R>> {
    if let Some(folder) = path.parent() {
        crate::fetch::create_private_folder(folder)?;
    }
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let before = read(&mut file)?;
    let mut state = before.clone();
    let done = change(&mut state);
    if state != before {
        write(&mut file, &state)?;
    }
    Ok(Some(done))
}

/// Reads the state; an unreadable file counts as a fresh state.
fn read(file: &mut File) -> io::Result<RateState> {
    let mut text = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text).unwrap_or_default())
}

fn write(file: &mut File, state: &RateState) -> io::Result<()> {
    let text = serde_json::to_vec(state)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&text)?;
    file.set_len(text.len() as u64)
}

/// The file name of a rate limit: readable and unique.
fn file_name(name: &str) -> String {
    let readable: String = name
        .chars()
        .map(|it| if it.is_ascii_alphanumeric() { it } else { '-' })
        .take(40)
        .collect();
    let sum: String = digest(&[name.as_bytes()]).chars().take(12).collect();
    format!("{readable}-{sum}.json")
}
