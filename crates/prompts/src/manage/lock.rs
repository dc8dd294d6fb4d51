//! One writer at a time, over all processes that share a workspace.

use std::{
    fs::{self, File, TryLockError},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use deliberate_toolkit::ToolError;

use super::failure::{failed, on_disk};

/// The file whose lock is held while the workspace is changed.
const NAME: &str = ".deliberate.lock";

/// How long someone waits for another, and how often they look.
const LONGEST: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_millis(50);

/// The right to change the workspace; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    _file: File,
}

/// Waits, not for long, for the right to change the workspace, which is made if it is not there.
pub(super) fn hold(workspace: &Path) -> Result<Held, ToolError> {
    fs::create_dir_all(workspace).map_err(|error| on_disk("make", workspace, &error))?;
    let path = workspace.join(NAME);
    if fs::symlink_metadata(&path).is_ok_and(|it| !it.is_file()) {
        let error = std::io::Error::from(std::io::ErrorKind::InvalidInput);
        return Err(on_disk("lock", &path, &error));
    }
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|error| on_disk("open", &path, &error))?;
    let until = Instant::now() + LONGEST;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Held { _file: file }),
            Err(TryLockError::Error(error)) => return Err(on_disk("lock", &path, &error)),
            Err(TryLockError::WouldBlock) if Instant::now() >= until => return Err(busy()),
            // Work on files is done on threads of its own, so this holds up nobody else.
            Err(TryLockError::WouldBlock) => thread::park_timeout(AGAIN),
        }
    }
}

fn busy() -> ToolError {
    failed(
        "Busy",
        format!(
            "The workspace has been changed by someone else for {} s now (`{NAME}` is locked). \
             Nothing was written.",
            LONGEST.as_secs()
        ),
        Some("Try again, or look for another program that hangs.".to_owned()),
    )
}
