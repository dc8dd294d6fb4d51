//! Reads and writes the files of one resource. Reads are bounded; writes are atomic, so that a
//! crash leaves either the old or the new files, never a partial one. This module knows nothing of
//! their meaning.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use deliberate_toolkit::{ErrorCode, ToolError};

use crate::resource_manager::errors::{io_error, manage_error};

/// File contents by their paths in the resource's folder, with `/`.
pub(crate) type FileTexts = BTreeMap<String, String>;

/// The most files of one resource.
const MAX_FILES: usize = 200;

/// The most bytes of one resource.
const MAX_BYTES: usize = 16 << 20;

/// The prefix of a temporary file.
const TEMP_PREFIX: &str = ".deliberate-tmp-";

/// Reads the text files of a folder: its own, and those below the given subfolders, or below all of
/// them if none are given. Hidden files, links and files that are not text are skipped.
pub(crate) fn read_folder(folder: &Path, only: Option<&[&str]>) -> Result<FileTexts, ToolError> {
    let mut files = FileTexts::new();
    let mut bytes = 0_usize;
    let mut waiting = vec![(folder.to_path_buf(), String::new(), 0_usize)];
    while let Some((here, prefix, depth)) = waiting.pop() {
        let entries = fs::read_dir(&here).map_err(|error| io_error("read", &here, &error))?;
        for entry in entries.filter_map(Result::ok) {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let path = format!("{prefix}{name}");
            let wanted = depth > 0 || only.is_none_or(|only| only.contains(&name.as_str()));
            if name.starts_with('.') {
                continue;
            }
            if kind.is_dir() && wanted && depth < 8 {
                waiting.push((entry.path(), format!("{path}/"), depth + 1));
            } else if kind.is_file()
                && let Some(text) = read_text(&entry.path(), MAX_BYTES as u64)?
            {
                bytes = bytes.saturating_add(text.len());
                files.insert(path, text);
            }
            if files.len() > MAX_FILES || bytes > MAX_BYTES {
                return Err(manage_error(
                    ErrorCode::LimitReached,
                    format!(
                        "The folder contains more than {MAX_FILES} files or {MAX_BYTES} \
                             bytes."
                    ),
                    Some("Edit it by hand, or remove files that do not belong to it.".to_owned()),
                ));
            }
        }
    }
    Ok(files)
}

/// Returns the text of a file; `None` if it does not exist, is too long, or is not text.
pub(crate) fn read_text(path: &Path, most: u64) -> Result<Option<String>, ToolError> {
    let mut bytes = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(most.saturating_add(1)).read_to_end(&mut bytes));
    match read {
        Ok(_) if bytes.len() as u64 > most => Ok(None),
        Ok(_) => Ok(String::from_utf8(bytes).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("read", path, &error)),
    }
}

/// Creates nested folders below an existing one. None of them may be a link, because a link could
/// point anywhere.
pub(crate) fn create_folders<'p>(
    below: &Path,
    parts: impl IntoIterator<Item = &'p str>,
) -> Result<PathBuf, ToolError> {
    let mut here = below.to_path_buf();
    for part in parts {
        here.push(part);
        match fs::symlink_metadata(&here) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(path_blocked(part)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir(&here).map_err(|error| io_error("create", &here, &error))?;
            }
            Err(error) => return Err(io_error("inspect", &here, &error)),
        }
    }
    Ok(here)
}

pub(crate) fn path_blocked(part: &str) -> ToolError {
    manage_error(
        ErrorCode::Outside,
        format!("`{part}` is a link or a file where a folder is needed; nothing was written."),
        Some("Replace it with an ordinary folder; links are not followed.".to_owned()),
    )
}

/// Replaces the old files of a folder with the new ones. Every new text is on disk before the first
/// old one is replaced; the main file comes last, because it names the others.
pub(crate) fn replace_files(
    folder: &Path,
    old: &FileTexts,
    new: &FileTexts,
    main: &str,
) -> Result<(), ToolError> {
    remove_temp_files(folder);
    let mut changed: Vec<(&str, &str)> = new
        .iter()
        .filter(|(name, text)| old.get(*name) != Some(*text))
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    changed.sort_by_key(|(name, _)| *name == main);
    let mut ready = Vec::new();
    for (name, text) in changed {
        match write_temp_file(folder, name, text) {
            Ok(temporary) => ready.push((name, temporary)),
            Err(error) => {
                for (_, temporary) in &ready {
                    let _ = fs::remove_file(temporary);
                }
                return Err(error);
            }
        }
    }
    let mut done: Vec<&str> = Vec::new();
    for (name, temporary) in &ready {
        let path = folder.join(name);
        if let Err(error) = fs::rename(temporary, &path) {
            for (_, temporary) in &ready {
                let _ = fs::remove_file(temporary);
            }
            restore_files(folder, old, &done);
            return Err(io_error("write", &path, &error));
        }
        done.push(name);
    }
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        let path = folder.join(name);
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(io_error("remove", &path, &error));
        }
        remove_empty_folders(folder, path.parent());
    }
    sync_folder(folder);
    Ok(())
}

/// Writes one file atomically.
pub(crate) fn write_file(folder: &Path, name: &str, text: &str) -> Result<(), ToolError> {
    let temporary = write_temp_file(folder, name, text)?;
    let path = folder.join(name);
    if let Err(error) = fs::rename(&temporary, &path) {
        let _ = fs::remove_file(&temporary);
        return Err(io_error("write", &path, &error));
    }
    sync_folder(folder);
    Ok(())
}

/// Removes temporary files that a crash left behind. No other process writes meanwhile, because the
/// lock is held.
pub(crate) fn remove_temp_files(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        if entry.file_name().to_string_lossy().starts_with(TEMP_PREFIX)
            && entry.file_type().is_ok_and(|kind| kind.is_file())
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Removes empty folders, from one upwards, below the outer one.
pub(crate) fn remove_empty_folders(outer: &Path, from: Option<&Path>) {
    let mut here = from;
    while let Some(folder) = here {
        if folder == outer || !folder.starts_with(outer) || fs::remove_dir(folder).is_err() {
            return;
        }
        here = folder.parent();
    }
}

/// Writes a temporary file and waits until it is on disk.
fn write_temp_file(folder: &Path, name: &str, text: &str) -> Result<PathBuf, ToolError> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let home = match name.rsplit_once('/') {
        Some((inner, _)) => create_folders(folder, inner.split('/'))?,
        None => folder.to_path_buf(),
    };
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let temporary = home.join(format!("{TEMP_PREFIX}{}-{number}", std::process::id()));
    let place = folder.join(name);
    let written = File::create_new(&temporary).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        if let Ok(found) = fs::symlink_metadata(&place)
            && found.is_file()
        {
            file.set_permissions(found.permissions())?;
        }
        file.sync_all()
    });
    match written {
        Ok(()) => Ok(temporary),
        Err(error) => {
            let _ = fs::remove_file(&temporary);
            Err(io_error("write", &place, &error))
        }
    }
}

/// Restores the old files after a partly failed write.
fn restore_files(folder: &Path, old: &FileTexts, names: &[&str]) {
    for name in names {
        let put_back = match old.get(*name) {
            Some(text) => write_file(folder, name, text),
            None => fs::remove_file(folder.join(name))
                .map_err(|error| io_error("remove", &folder.join(name), &error)),
        };
        if put_back.is_err() {
            tracing::error!("a file of the library could not be restored after a failed write");
        }
    }
}

/// Syncs the directory entries of a folder to disk, where the system supports it.
fn sync_folder(folder: &Path) {
    #[cfg(unix)]
    if let Err(error) = File::open(folder).and_then(|folder| folder.sync_all()) {
        tracing::debug!(%error, "a folder could not be synced");
    }
    #[cfg(not(unix))]
    let _ = folder;
}
