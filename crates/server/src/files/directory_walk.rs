//! Walks the files under the roots in a stable order.

use std::{
    fs::{self, DirEntry},
    path::{Path, PathBuf},
};

use deliberate_toolkit::{ArgumentIssue, ToolError};

use super::read_file::{is_allowed, is_hidden};

/// The largest nesting depth that is walked.
const MAX_DEPTH: usize = 16;

/// The largest number of directory entries examined for one list, including hidden ones.
const MAX_ENTRIES: usize = 50_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileEntry {
    /// The index of its root.
    root_index: usize,
    /// The path relative to the root.
    relative_path: PathBuf,
    pub(super) path: PathBuf,
    /// In bytes.
    pub(super) size: u64,
}

impl FileEntry {
    /// The key by which the list is sorted.
    pub(super) fn sort_key(&self) -> (usize, PathBuf) {
        (self.root_index, self.relative_path.clone())
    }

    /// The sort key as text, for cursors.
    pub(super) fn format_key(&self) -> String {
        format!("{} {}", self.root_index, self.relative_path.display())
    }

    pub(super) fn parse_key(text: &str) -> Result<(usize, PathBuf), ToolError> {
        let read = text.split_once(' ').and_then(|(root, inside)| {
            let root = root.parse().ok()?;
            Some((root, PathBuf::from(inside)))
        });
        read.ok_or_else(|| {
            let issue = ArgumentIssue::new(
                "cursor",
                "is not a cursor of this list; list again without one",
            );
            ToolError::Invalid(vec![issue])
        })
    }

    /// The display name: the path relative to the root.
    pub(super) fn name(&self) -> Option<String> {
        let parts = self.relative_path.iter().map(|part| part.to_str());
        let parts: Option<Vec<&str>> = parts.collect();
        parts.map(|parts| parts.join("/"))
    }
}

/// Canonicalizes the roots and drops those that do not exist or lie inside another one.
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

/// Lists at most `most` files, root by root, each root sorted by path.
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
            // A name that is not UTF-8 cannot be part of a URI.
            if is_hidden(&name) || name.to_str().is_none() {
                continue;
            }
            let (path, inside) = (entry.path(), inside.join(&name));
            match entry.file_type() {
                // Links to directories are not followed, because they may form cycles.
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => {
                    self.walk_directory(root, &path, &inside, depth + 1);
                }
                Ok(kind) if kind.is_file() || kind.is_symlink() => {
                    self.add_file(root, path, inside);
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
