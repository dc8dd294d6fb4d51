//! The response cache on disk: one file per response, written atomically. The oldest files are
//! removed when the cache is full, and unreadable files are ignored.

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use super::entry::CacheEntry;

/// The folder is scanned again after this many writes, because other processes write to it too.
const WRITES_PER_SCAN: u32 = 32;

pub(super) struct DiskCache {
    folder: PathBuf,
    max_bytes: u64,
    usage: Mutex<DiskCacheUsage>,
}

/// The size of the folder at the last scan and the writes since then.
#[derive(Default)]
struct DiskCacheUsage {
    bytes: u64,
    writes: u32,
    scanned: bool,
}

impl DiskCache {
    pub(super) fn new(folder: PathBuf, max_bytes: u64) -> Self {
        Self {
            folder,
            max_bytes,
            usage: Mutex::default(),
        }
    }

    pub(super) fn read(&self, key: &str) -> Option<CacheEntry> {
        let path = self.path(key);
        // A file that another program put there may be of any size.
        let length = fs::metadata(&path).ok()?.len();
        if length > self.max_bytes {
            return None;
        }
        CacheEntry::from_bytes(fs::read(path).ok()?)
    }

    pub(super) fn write(&self, key: &str, entry: &CacheEntry) -> io::Result<()> {
        let bytes = entry.to_bytes()?;
        if bytes.len() as u64 > self.max_bytes {
            return Ok(());
        }
        let path = self.path(key);
        let folder = path.parent().unwrap_or(&self.folder);
        crate::fetch::create_private_folder(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&bytes)?;
        file.persist(&path).map_err(|error| error.error)?;
        self.evict_oldest(bytes.len() as u64);
        Ok(())
    }

    pub(super) fn remove(&self, key: &str) -> io::Result<()> {
        fs::remove_file(self.path(key))
    }

    /// The file of a key. The first two letters of the key are a folder, so that none gets too
    /// large.
    fn path(&self, key: &str) -> PathBuf {
        let (front, _) = key.split_at_checked(2).unwrap_or(("__", key));
        self.folder.join(front).join(key)
    }

    /// Removes the oldest files if the cache is over its limit.
    fn evict_oldest(&self, added: u64) {
        let mut tally = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        tally.bytes += added;
        tally.writes += 1;
        let due = !tally.scanned || tally.writes >= WRITES_PER_SCAN || tally.bytes > self.max_bytes;
        if !due {
            return;
        }
        let mut files = list_cached_files(&self.folder);
        let mut bytes: u64 = files.iter().map(|it| it.bytes).sum();
        if bytes > self.max_bytes {
            files.sort_by_key(|it| it.modified);
            // A tenth more is removed, so that eviction does not run for every response.
            let goal = self.max_bytes - self.max_bytes / 10;
            for file in files {
                if bytes <= goal {
                    break;
                }
                if fs::remove_file(&file.path).is_ok() {
                    bytes = bytes.saturating_sub(file.bytes);
                }
            }
        }
        *tally = DiskCacheUsage {
            bytes,
            writes: 0,
            scanned: true,
        };
    }
}

struct CachedFile {
    path: PathBuf,
    bytes: u64,
    modified: SystemTime,
}

/// The files two levels down; others do not belong to the cache.
fn list_cached_files(folder: &Path) -> Vec<CachedFile> {
    let list = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    list(folder)
        .flat_map(|it| list(&it.path()))
        .filter_map(|it| {
            let about = it.metadata().ok().filter(fs::Metadata::is_file)?;
            Some(CachedFile {
                path: it.path(),
                bytes: about.len(),
                modified: about.modified().ok()?,
            })
        })
        .collect()
}
