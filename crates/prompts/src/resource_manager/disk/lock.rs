//! The workspace lock: one writer at a time, across all processes that share a workspace.

use std::{
    fs::{self, File, TryLockError},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use deliberate_toolkit::{ErrorCode, ToolError, is_abandoned};

use crate::resource_manager::errors::{io_error, manage_error};

/// The file that is locked while the workspace is changed.
const LOCK_FILE: &str = ".deliberate.lock";

/// The time to wait for another writer, and the retry interval.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// The guard of the workspace lock; dropping it releases the lock.
#[derive(Debug)]
pub(crate) struct WorkspaceLockGuard {
    _file: File,
}

/// Waits a short time for the workspace lock, no longer than a caller waits for its result. Creates
/// the workspace if it does not exist.
pub(crate) fn acquire(workspace: &Path) -> Result<WorkspaceLockGuard, ToolError> {
    fs::create_dir_all(workspace).map_err(|error| io_error("create", workspace, &error))?;
    let path = workspace.join(LOCK_FILE);
    if fs::symlink_metadata(&path).is_ok_and(|it| !it.is_file()) {
        let error = std::io::Error::from(std::io::ErrorKind::InvalidInput);
        return Err(io_error("lock", &path, &error));
    }
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|error| io_error("open", &path, &error))?;
    let until = Instant::now() + LOCK_TIMEOUT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(WorkspaceLockGuard { _file: file }),
            Err(TryLockError::Error(error)) => return Err(io_error("lock", &path, &error)),
            Err(TryLockError::WouldBlock) if Instant::now() >= until || is_abandoned() => {
                return Err(lock_timeout_error());
            }
            // Requests run on blocking threads, so the wait blocks no other call. The writer that
            // holds the lock needs none of the threads for computations.
            Err(TryLockError::WouldBlock) => thread::park_timeout(RETRY_INTERVAL),
        }
    }
}

fn lock_timeout_error() -> ToolError {
    manage_error(
        ErrorCode::Busy,
        format!(
            "Another process has held the workspace lock for {} s (`{LOCK_FILE}`). Nothing was \
             written.",
            LOCK_TIMEOUT.as_secs()
        ),
        Some("Try again, or check for another program that hangs.".to_owned()),
    )
}
