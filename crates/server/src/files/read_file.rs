//! Reads a file within the size limit if its canonical path lies under a root.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileReadError {
    /// The file does not exist, or its existence must not be revealed.
    NotFound,
    IsDirectory,
    TooLarge,
}

/// Directories of devices and of the state of the machine, which hold no documents.
const SPECIAL_DIRECTORIES: [&str; 3] = ["/dev", "/proc", "/sys"];

/// Reads the file if it has at most `most` bytes.
pub(super) fn read(path: &Path, roots: &[PathBuf], most: u64) -> Result<Vec<u8>, FileReadError> {
    let real = fs::canonicalize(path).map_err(|_| FileReadError::NotFound)?;
    if !is_allowed(&real, roots) {
        return Err(FileReadError::NotFound);
    }
    // The type is checked before the file is opened, because opening a pipe blocks until someone
    // writes to it.
    let about = fs::symlink_metadata(&real).map_err(|_| FileReadError::NotFound)?;
    if about.is_dir() {
        return Err(FileReadError::IsDirectory);
    }
    if !about.is_file() {
        return Err(FileReadError::NotFound);
    }
    let file = File::open(&real).map_err(|_| FileReadError::NotFound)?;
    // The file may have been replaced in the meantime, so the opened file is checked.
    let opened = file.metadata().map_err(|_| FileReadError::NotFound)?;
    if !opened.is_file() || !is_allowed(&resolve_open_file(&file, &real)?, roots) {
        return Err(FileReadError::NotFound);
    }
    if opened.len() > most {
        return Err(FileReadError::TooLarge);
    }
    let mut bytes = Vec::new();
    let mut some = file.take(most.saturating_add(1));
    some.read_to_end(&mut bytes)
        .map_err(|_| FileReadError::NotFound)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= most) {
        Ok(bytes)
    } else {
        Err(FileReadError::TooLarge)
    }
}

/// The path of an open file according to the operating system.
fn resolve_open_file(file: &File, opened_as: &Path) -> Result<PathBuf, FileReadError> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        if let Ok(path) = fs::read_link(link) {
            return Ok(path);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = file;
    // Where the system does not tell, the path must still resolve to the same file.
    let again = fs::canonicalize(opened_as).map_err(|_| FileReadError::NotFound)?;
    if again == opened_as {
        Ok(again)
    } else {
        Err(FileReadError::NotFound)
    }
}

/// Tells whether a canonical path lies under a root without a hidden component below the root.
pub(super) fn is_allowed(real: &Path, roots: &[PathBuf]) -> bool {
    let special = SPECIAL_DIRECTORIES
        .iter()
        .any(|place| real.starts_with(place));
    !special
        && roots.iter().any(|root| {
            let inside = real.strip_prefix(root);
            inside.is_ok_and(|inside| !inside.components().any(|part| is_hidden(part.as_os_str())))
        })
}

pub(super) fn is_hidden(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().first() == Some(&b'.')
}
