//! One writer at a time, over all processes that share a workspace.

use std::{
    fs::{self, File, TryLockError},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use deliberate_toolkit::ToolError;

use crate::resource_manager::errors::{io_error, manage_error};

/// The file whose lock is held while the workspace is changed.
const LOCK_FILE: &str = ".deliberate.lock";

/// How long someone waits for another, and how often they look.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// The right to change the workspace; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct WorkspaceLockGuard {
    _file: File,
}

/// Waits, not for long, for the right to change the workspace, which is made if it is not there.
pub(crate) fn acquire(workspace: &Path) -> Result<WorkspaceLockGuard, ToolError> {
    fs::create_dir_all(workspace).map_err(|error| io_error("make", workspace, &error))?;
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
            Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                return Err(lock_timeout_error());
            }
            // Work on files is done on threads of its own, so this holds up nobody else.
            Err(TryLockError::WouldBlock) => thread::park_timeout(RETRY_INTERVAL),
        }
    }
}

fn lock_timeout_error() -> ToolError {
    manage_error(
        "Busy",
        format!(
            "The workspace has been changed by someone else for {} s now (`{LOCK_FILE}` is locked). \
             Nothing was written.",
            LOCK_TIMEOUT.as_secs()
        ),
        Some("Try again, or look for another program that hangs.".to_owned()),
    )
}
