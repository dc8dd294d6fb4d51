//! Removes indexes with other settings, which are no longer updated.

use std::path::Path;

use deliberate_index::{Index, IndexError};

/// The most folder entries that are scanned.
const MAX_SCANNED_ENTRIES: usize = 1_000;

/// Removes the indexes next to this one, unless another process writes to them.
pub(crate) fn remove_stale_indexes(own: &Path) -> Result<(), IndexError> {
    let Some(beside) = own.parent() else {
        return Ok(());
    };
    for entry in std::fs::read_dir(beside)?.take(MAX_SCANNED_ENTRIES) {
        let entry = entry?;
        let name = entry.file_name();
        let is_index = name.to_str().is_some_and(is_index_folder);
        if !is_index || Some(name.as_os_str()) == own.file_name() || !entry.file_type()?.is_dir() {
            continue;
        }
        match Index::wipe(&entry.path()) {
            // Fails if the folder holds other files, which must stay.
            Ok(()) => drop(std::fs::remove_dir(entry.path())),
            Err(IndexError::Busy) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether a folder's name is that of an index: `index-1-250-50`.
fn is_index_folder(name: &str) -> bool {
    let numbers = name.strip_prefix("index-").map(|it| it.split('-'));
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    numbers.is_some_and(|mut it| it.clone().count() == 3 && it.all(is_number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_indexes_are_taken_for_such() {
        assert!(is_index_folder("index-1-250-50"));
        for name in [
            "index-1-250",
            "index-1--50",
            "index",
            "web",
            "index-1-250-50-9",
            "index-a-b-c",
        ] {
            assert!(!is_index_folder(name), "{name}");
        }
    }
}
