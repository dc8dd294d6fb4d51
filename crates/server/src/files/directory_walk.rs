//! The files under the roots, in an order that does not change while they do not.

use std::{
    fs::{self, DirEntry},
    path::{Path, PathBuf},
};

use deliberate_toolkit::{ArgumentIssue, ToolError};

use super::read_file::{is_allowed, is_hidden};

/// Folders within folders that are looked into.
const MAX_DEPTH: usize = 16;

/// Names that are looked at for one list, hidden ones and all.
const MAX_ENTRIES: usize = 50_000;

/// A file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileEntry {
    /// The place of its root among the roots.
    root_index: usize,
    /// Where it lies under it.
    relative_path: PathBuf,
    /// Where it lies.
    pub(super) path: PathBuf,
    /// Its length in bytes.
    pub(super) size: u64,
}

impl FileEntry {
    /// Where it stands in the list.
    pub(super) fn sort_key(&self) -> (usize, PathBuf) {
        (self.root_index, self.relative_path.clone())
    }

    /// The same as text.
    pub(super) fn format_key(&self) -> String {
        format!("{} {}", self.root_index, self.relative_path.display())
    }

    pub(super) fn parse_key(text: &str) -> Result<(usize, PathBuf), ToolError> {
        let read = text.split_once(' ').and_then(|(root, inside)| {
            let root = root.parse().ok()?;
            Some((root, PathBuf::from(inside)))
        });
        read.ok_or_else(|| {
            let issue =
                ArgumentIssue::new("cursor", "is not one that this list gave; begin it again");
            ToolError::Invalid(vec![issue])
        })
    }

    /// What it is called: the way to it from its root.
    pub(super) fn name(&self) -> Option<String> {
        let parts = self.relative_path.iter().map(|part| part.to_str());
        let parts: Option<Vec<&str>> = parts.collect();
        parts.map(|parts| parts.join("/"))
    }
}

/// The roots as they really lie, without those that are not there or lie inside another.
pub(super) fn canonical_roots(roots: &[PathBuf]) -> Vec<PathBuf> {
    let real = roots.iter().filter_map(|root| fs::canonicalize(root).ok());
    let mut kept: Vec<PathBuf> = Vec::new();
    for root in real {
        if !kept.iter().any(|other| root.starts_with(other)) {
            kept.retain(|other| !other.starts_with(&root));
            kept.push(root);
        }
    }
    kept
}

/// The files under the roots, `most` at the most: root by root, each sorted by path.
pub(super) fn list_files(roots: &[PathBuf], most: usize) -> Vec<FileEntry> {
    let mut walk = FileWalk {
        roots,
        max_files: most,
        remaining_entries: MAX_ENTRIES,
        files: Vec::new(),
    };
    for (number, root) in roots.iter().enumerate() {
        walk.walk_directory(number, root, Path::new(""), 0);
    }
    walk.files
}

struct FileWalk<'a> {
    roots: &'a [PathBuf],
    max_files: usize,
    remaining_entries: usize,
    files: Vec<FileEntry>,
}

impl FileWalk<'_> {
    fn walk_directory(&mut self, root: usize, folder: &Path, inside: &Path, depth: usize) {
        let Ok(entries) = fs::read_dir(folder) else {
            return;
        };
        let entries = entries.take(self.remaining_entries).filter_map(Result::ok);
        let mut entries: Vec<DirEntry> = entries.collect();
        self.remaining_entries = self.remaining_entries.saturating_sub(entries.len());
        entries.sort_by_key(DirEntry::file_name);
        for entry in entries {
            if self.files.len() >= self.max_files {
                return;
            }
            let name = entry.file_name();
            // What can't be written in an address can't be asked for.
            if is_hidden(&name) || name.to_str().is_none() {
                continue;
            }
            let (path, inside) = (entry.path(), inside.join(&name));
            match entry.file_type() {
                // Links to folders are not followed: they may lead in circles.
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => {
                    self.walk_directory(root, &path, &inside, depth + 1);
                }
                Ok(kind) if kind.is_file() || kind.is_symlink() => {
                    self.add_file(root, path, inside)
                }
                _ => {}
            }
        }
    }

    fn add_file(&mut self, root: usize, path: PathBuf, inside: PathBuf) {
        let Ok(real) = fs::canonicalize(&path) else {
            return;
        };
        let about = fs::symlink_metadata(&real).ok();
        let Some(about) = about.filter(fs::Metadata::is_file) else {
            return;
        };
        if is_allowed(&real, self.roots) {
            self.files.push(FileEntry {
                root_index: root,
                relative_path: inside,
                path,
                size: about.len(),
            });
        }
    }
}
