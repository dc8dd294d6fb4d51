//! The vector files in a folder: names, the current generation, writing a new one.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::format::EmbedderIdentity;
use crate::IndexError;

/// How long the vectors of another embedder are kept, in case it is used again.
const RETENTION: Duration = Duration::from_hours(24);
const PREFIX: &str = "vectors-";
const SUFFIX: &str = ".bin";
const UNFINISHED: &str = ".tmp";

pub(crate) fn is_vectors(name: &str) -> bool {
    name.starts_with(PREFIX) && (name.ends_with(SUFFIX) || name.ends_with(UNFINISHED))
}

fn stem(identity: &EmbedderIdentity) -> String {
    let mut stem = PREFIX.to_owned();
    for byte in identity.iter().take(8) {
        // Writing to a string cannot fail.
        let _ = write!(stem, "{byte:02x}");
    }
    stem
}

pub(super) fn vectors_path(folder: &Path, identity: &EmbedderIdentity, generation: u32) -> PathBuf {
    folder.join(format!("{}-{generation:010}{SUFFIX}", stem(identity)))
}

/// The newest file of an embedder and its generation.
pub(super) fn newest_file(
    folder: &Path,
    identity: &EmbedderIdentity,
) -> Result<Option<(u32, PathBuf)>, IndexError> {
    let start = format!("{}-", stem(identity));
    let mut newest = None;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let generation = name
            .to_str()
            .and_then(|name| name.strip_prefix(&start)?.strip_suffix(SUFFIX))
            .and_then(|generation| generation.parse::<u32>().ok());
        if let Some(generation) = generation
            && newest.is_none_or(|newest| newest < generation)
        {
            newest = Some(generation);
        }
    }
    Ok(newest.map(|generation| (generation, vectors_path(folder, identity, generation))))
}

/// Writes a file atomically.
pub(super) fn create(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), IndexError>,
) -> Result<(), IndexError> {
    let unfinished = path.with_extension("tmp");
    let mut file = File::create(&unfinished)?;
    write(&mut file)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&unfinished, path)?;
    Ok(())
}

/// Writes bytes at an offset and truncates the rest.
pub(super) fn append(path: &Path, at: u64, bytes: &[u8]) -> Result<(), IndexError> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    if file.metadata()?.len() > at {
        file.set_len(at)?;
    }
    file.seek(SeekFrom::Start(at))?;
    file.write_all(bytes)?;
    file.sync_data()?;
    Ok(())
}

/// Removes obsolete files: older generations and unfinished files at once, files of other embedders
/// after a day without change. Files that cannot be removed now are left for the next time.
pub(super) fn remove_stale(folder: &Path, identity: &EmbedderIdentity, generation: u32) {
    let current = vectors_path(folder, identity, generation);
    let own = stem(identity);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| is_vectors(name)) else {
            continue;
        };
        if path == current || (!name.starts_with(&own) && is_recent(&path)) {
            continue;
        }
        if let Err(error) = fs::remove_file(&path) {
            tracing::debug!(%error, "an old file of vectors is still in use");
        }
    }
}

fn is_recent(path: &Path) -> bool {
    let changed = fs::metadata(path).and_then(|about| about.modified());
    changed.is_ok_and(|changed| {
        let age = SystemTime::now().duration_since(changed);
        age.unwrap_or_default() < RETENTION
    })
}
