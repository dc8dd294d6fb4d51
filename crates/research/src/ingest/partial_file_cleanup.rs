//! Removes partly downloaded or partly written files of a process that was killed. Files that may
//! still be in use, by this process or another, are kept.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::http::PARTIAL_PREFIX;

/// Every download and write in progress adds bytes within this time.
const ABANDONED_AFTER: Duration = Duration::from_hours(6);

/// The greatest depth of folders that are scanned.
const MAX_DEPTH: usize = 4;

/// The most files that are scanned.
const MAX_ENTRIES: usize = 20_000;

/// The prefix of files that are renamed when they are complete.
const TEMP_PREFIX: &str = ".tmp";

/// The number of random letters after the prefix.
const RANDOM_SUFFIX_LEN: usize = 6;

/// Cleans the folder of papers and that of derived data in the background.
pub(crate) fn remove_partial_files(papers: PathBuf, derived: Option<PathBuf>) {
    tokio::task::spawn_blocking(move || {
        let mut removed = remove_partial_files_below(papers, PARTIAL_PREFIX);
        removed += derived.map_or(0, |it| remove_partial_files_below(it, TEMP_PREFIX));
        if removed > 0 {
            tracing::info!(removed, "incomplete files of an earlier run were removed");
        }
    });
}

fn remove_partial_files_below(folder: PathBuf, prefix: &str) -> usize {
    let (mut looked, mut removed) = (0, 0);
    let mut folders = vec![(folder, MAX_DEPTH)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            looked += 1;
            if looked > MAX_ENTRIES {
                return removed;
            }
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let path = entry.path();
            if kind.is_dir() && depth > 0 {
                folders.push((path, depth - 1));
            } else if kind.is_file()
                && is_partial_file(&path, prefix)
                && is_abandoned(&entry)
                && fs::remove_file(path).is_ok()
            {
                removed += 1;
            }
        }
    }
    removed
}

fn is_partial_file(path: &Path, prefix: &str) -> bool {
    let name = path.file_name().and_then(|it| it.to_str());
    let rest = name.and_then(|it| it.strip_prefix(prefix));
    rest.is_some_and(|it| {
        it.len() == RANDOM_SUFFIX_LEN && it.bytes().all(|it| it.is_ascii_alphanumeric())
    })
}

fn is_abandoned(entry: &fs::DirEntry) -> bool {
    let written = entry.metadata().and_then(|it| it.modified());
    let age = written.ok().and_then(|it| it.elapsed().ok());
    age.is_some_and(|it| it > ABANDONED_AFTER)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn only_what_was_left_half_done_long_ago_goes() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, age: Duration| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let file = fs::File::create(&path).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
            path
        };
        let old = ABANDONED_AFTER * 2;
        let gone = [make(".part-aB3dE6", old), make("deep/er/.part-000000", old)];
        let kept = [
            make(".part-aB3dE7", Duration::ZERO),
            make(".part-notes.pdf", old),
            make("paper.part-aB3dE6", old),
            make(".tmpaB3dE6", old),
            make("paper.pdf", old),
        ];
        assert_eq!(
            remove_partial_files_below(folder.path().to_owned(), PARTIAL_PREFIX),
            2
        );
        assert!(gone.iter().all(|it| !it.exists()));
        assert!(kept.iter().all(|it| it.exists()));
    }
}
