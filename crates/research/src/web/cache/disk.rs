//! Answers on the disk, a file each, written whole or not at all. When there are too many the
//! oldest are removed. What can't be read is passed over.

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use super::entry::Entry;

/// After so many answers the folder is looked through: other processes write to it as well.
const BETWEEN_LOOKS: u32 = 32;

pub(super) struct Disk {
    folder: PathBuf,
    most_bytes: u64,
    tally: Mutex<Tally>,
}

/// What was in the folder when it was looked through, and what came since.
#[derive(Default)]
struct Tally {
    bytes: u64,
    written: u32,
    looked: bool,
}

impl Disk {
    pub(super) fn new(folder: PathBuf, most_bytes: u64) -> Self {
        Self {
            folder,
            most_bytes,
            tally: Mutex::default(),
        }
    }

    pub(super) fn read(&self, key: &str) -> Option<Entry> {
        let path = self.path(key);
        // A file that was put there by others may be of any size.
        let length = fs::metadata(&path).ok()?.len();
        if length > self.most_bytes {
            return None;
        }
        Entry::from_bytes(fs::read(path).ok()?)
    }

    pub(super) fn write(&self, key: &str, entry: &Entry) -> io::Result<()> {
        let bytes = entry.to_bytes()?;
        if bytes.len() as u64 > self.most_bytes {
            return Ok(());
        }
        let path = self.path(key);
        let folder = path.parent().unwrap_or(&self.folder);
        crate::private_folder(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&bytes)?;
        file.persist(&path).map_err(|error| error.error)?;
        self.bound(bytes.len() as u64);
        Ok(())
    }

    pub(super) fn remove(&self, key: &str) -> io::Result<()> {
        fs::remove_file(self.path(key))
    }

    /// Two letters of the key are a folder, so that none holds too many files.
    fn path(&self, key: &str) -> PathBuf {
        let (front, _) = key.split_at_checked(2).unwrap_or(("__", key));
        self.folder.join(front).join(key)
    }

    /// Removes the oldest while there is too much.
    fn bound(&self, added: u64) {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.bytes += added;
        tally.written += 1;
        let due = !tally.looked || tally.written >= BETWEEN_LOOKS || tally.bytes > self.most_bytes;
        if !due {
            return;
        }
        let mut files = files_in(&self.folder);
        let mut bytes: u64 = files.iter().map(|it| it.bytes).sum();
        if bytes > self.most_bytes {
            files.sort_by_key(|it| it.changed);
            // A tenth more is removed, so that this is not done for each answer.
            let goal = self.most_bytes - self.most_bytes / 10;
            for file in files {
                if bytes <= goal {
                    break;
                }
                if fs::remove_file(&file.path).is_ok() {
                    bytes = bytes.saturating_sub(file.bytes);
                }
            }
        }
        *tally = Tally {
            bytes,
            written: 0,
            looked: true,
        };
    }
}

struct Kept {
    path: PathBuf,
    bytes: u64,
    changed: SystemTime,
}

/// The files two levels down; everything else is not ours.
fn files_in(folder: &Path) -> Vec<Kept> {
    let list = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    list(folder)
        .flat_map(|it| list(&it.path()))
        .filter_map(|it| {
            let about = it.metadata().ok().filter(fs::Metadata::is_file)?;
            Some(Kept {
                path: it.path(),
                bytes: about.len(),
                changed: about.modified().ok()?,
            })
        })
        .collect()
}
