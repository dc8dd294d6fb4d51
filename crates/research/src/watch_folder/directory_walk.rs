//! Lists the readable files below a folder and counts the rest. An unreadable folder does not
//! prevent the others from being listed.

use std::{
    fs::ReadDir,
    io,
    path::{Path, PathBuf},
};

/// The greatest depth of folders that are scanned.
const MAX_DEPTH: usize = 16;

/// The most entries that are scanned.
const MAX_ENTRIES: usize = 20_000;

/// The content of a folder and its subfolders.
#[derive(Debug, Default)]
pub(crate) struct DirectoryListing {
    /// Files of supported kinds, sorted.
    pub(crate) files: Vec<PathBuf>,
    /// The scanned folders, including the first one.
    pub(crate) folders: Vec<PathBuf>,
    /// Folders that can't be read.
    pub(crate) unreadable: Vec<PathBuf>,
    /// The number of links; they are not followed.
    pub(crate) symlinks: usize,
    /// The number of files of unsupported kinds.
    pub(crate) unsupported: usize,
}

/// Lists at most `most` files below a folder by name. Hidden files are not even counted.
pub(crate) fn walk_directory(folder: &Path, most: usize) -> io::Result<DirectoryListing> {
    walk_with(folder, most, Path::read_dir)
}

fn walk_with(
    folder: &Path,
    most: usize,
    list: impl Fn(&Path) -> io::Result<ReadDir>,
) -> io::Result<DirectoryListing> {
    let mut below = DirectoryListing::default();
    let mut folders = vec![(folder.to_owned(), MAX_DEPTH)];
    while let Some((at, depth)) = folders.pop() {
        let entries = match list(&at) {
            Ok(entries) => entries,
            Err(error) if at == folder => return Err(error),
            Err(_) => {
                below.unreadable.push(at);
                continue;
            }
        };
        below.folders.push(at);
        for entry in entries.flatten().take(MAX_ENTRIES) {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if is_ignored(&entry.file_name().to_string_lossy()) {
                continue;
            }
            if kind.is_symlink() {
                below.symlinks += 1;
            } else if kind.is_dir() && depth > 0 {
                folders.push((entry.path(), depth - 1));
            } else if kind.is_file() && is_document(&entry.path()) {
                below.files.push(entry.path());
            } else if kind.is_file() {
                below.unsupported += 1;
            }
        }
        if below.files.len() > MAX_ENTRIES {
            break;
        }
    }
    below.files.sort();
    below.files.truncate(most);
    below.unreadable.sort();
    Ok(below)
}

/// Whether a name is that of a hidden file or of the lock file that a word processor creates.
pub(crate) fn is_ignored(name: &str) -> bool {
    name.starts_with('.') || name.starts_with("~$")
}

/// Whether a file's extension is that of a supported document.
pub(crate) fn is_document(path: &Path) -> bool {
    const EXTENSIONS: &[&str] = &[
        "pdf", "html", "htm", "md", "markdown", "txt", "docx", "epub",
    ];
    let ending = path.extension().and_then(|it| it.to_str());
    ending.is_some_and(|it| EXTENSIONS.contains(&it.to_ascii_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "words").unwrap();
        }
        folder
    }

    #[test]
    fn a_folder_that_is_shut_is_told_and_the_rest_is_found() {
        let folder = folder(&["a.pdf", "locked/b.pdf", "open/c.pdf"]);
        let root = folder.path();
        let shut = |at: &Path, name: &str| {
            if at.ends_with(name) {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            std::fs::read_dir(at)
        };
        let below = walk_with(root, 10, |it| shut(it, "locked")).unwrap();
        assert_eq!(below.files, [root.join("a.pdf"), root.join("open/c.pdf")]);
        assert_eq!(below.unreadable, [root.join("locked")]);
        assert_eq!(below.folders, [root.to_owned(), root.join("open")]);
        let name = root.file_name().unwrap().to_str().unwrap();
        assert!(walk_with(root, 10, |it| shut(it, name)).is_err());
    }

    #[test]
    fn what_is_passed_over_is_counted_and_marks_of_open_files_are_not() {
        let folder = folder(&[
            "a.docx",
            "~$a.docx",
            ".~lock.a.docx#",
            ".hidden.pdf",
            "old.doc",
            "talk.pptx",
            "README",
        ]);
        let below = walk_directory(folder.path(), 10).unwrap();
        assert_eq!(below.files, [folder.path().join("a.docx")]);
        assert_eq!((below.unsupported, below.symlinks), (3, 0));
    }
}
