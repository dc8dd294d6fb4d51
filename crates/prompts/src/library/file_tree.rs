//! A tree of files, on disk or embedded in the program.
//!
//! Nothing outside a tree can be reached through it: names are plain, links that lead out are
//! rejected, links to folders are not followed, and only regular files are opened. Knows nothing of
//! what the files mean.

use std::{
    fs,
    io::{self, Read},
    path::{Component, Path, PathBuf},
};

use include_dir::{Dir, DirEntry, include_dir};

/// The library that is shipped with the program.
pub(crate) static SHIPPED_LIBRARY: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/library");

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeEntry {
    pub(crate) name: String,
    pub(crate) kind: TreeEntryKind,
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeEntryKind {
    File,
    Folder,
    /// A link; its target is checked when it is read.
    Link,
    /// A pipe, a device or a socket.
    Other,
}

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LibraryReadError {
    #[error("the file does not exist")]
    Missing,
    #[error("it is not a regular file")]
    NotAFile,
    #[error("it is outside its folder")]
    Outside,
    #[error("it is longer than {0} bytes")]
    TooLarge(u64),
    #[error("it is not UTF-8 text")]
    NotUtf8,
    #[error("it cannot be read: {0}")]
    Io(String),
}

/// A tree of files. Paths in it are relative, with `/`; the empty path is its root.
#[derive(Debug, Clone)]
pub(crate) enum FileTree {
    /// A folder on disk.
    Disk(PathBuf),
    /// A folder of the shipped library.
    Embedded(&'static Dir<'static>),
}

impl FileTree {
    /// Opens a folder of the shipped library.
    pub(crate) fn open_shipped(folder: &str) -> Option<Self> {
        SHIPPED_LIBRARY.get_dir(folder).map(Self::Embedded)
    }

    /// Opens a folder on disk; returns `None` if it is not a folder.
    pub(crate) fn open_disk(folder: &Path) -> Option<Self> {
        let real = folder.canonicalize().ok()?;
        real.is_dir().then_some(Self::Disk(real))
    }

    /// Lists a folder by name, without hidden entries.
    pub(crate) fn list(&self, folder: &str) -> Vec<TreeEntry> {
        let mut entries = match self {
            Self::Disk(root) => list_dir(&root.join(folder)),
            Self::Embedded(dir) => embedded_dir(dir, folder).map_or_else(Vec::new, |dir| {
                dir.entries()
                    .iter()
                    .filter_map(|entry| {
                        Some(TreeEntry {
                            name: entry.path().file_name()?.to_str()?.to_owned(),
                            kind: match entry {
                                DirEntry::Dir(_) => TreeEntryKind::Folder,
                                DirEntry::File(_) => TreeEntryKind::File,
                            },
                        })
                    })
                    .collect()
            }),
        };
        entries.retain(|entry| !entry.name.starts_with(['.', '_']));
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        entries
    }

    /// Returns the kind of the entry at a path. Every part is checked; links are not followed.
    pub(crate) fn entry_kind(&self, path: &str) -> Option<TreeEntryKind> {
        match self {
            Self::Disk(root) => {
                let mut here = root.clone();
                let mut kind = TreeEntryKind::Folder;
                for part in path.split('/').filter(|part| !part.is_empty()) {
                    if kind != TreeEntryKind::Folder {
                        return None;
                    }
                    here.push(part);
                    kind = entry_kind_of(fs::symlink_metadata(&here).ok()?.file_type());
                }
                Some(kind)
            }
            Self::Embedded(dir) if path.is_empty() => {
                let _ = dir;
                Some(TreeEntryKind::Folder)
            }
            Self::Embedded(dir) => dir
                .get_entry(dir.path().join(path))
                .map(|entry| match entry {
                    DirEntry::Dir(_) => TreeEntryKind::Folder,
                    DirEntry::File(_) => TreeEntryKind::File,
                }),
        }
    }

    /// Reads a text file below a folder of the tree. The folder comes from walking the tree; the
    /// name is untrusted.
    pub(crate) fn read(
        &self,
        folder: &str,
        name: &str,
        most: u64,
    ) -> Result<String, LibraryReadError> {
        if !is_inside_path(name) {
            return Err(LibraryReadError::Outside);
        }
        let bytes = match self {
            Self::Disk(root) => read_below(&root.join(folder), name, most)?,
            Self::Embedded(dir) => dir
                .get_file(dir.path().join(folder).join(name))
                .ok_or(LibraryReadError::Missing)?
                .contents()
                .to_vec(),
        };
        let text = String::from_utf8(bytes).map_err(|_| LibraryReadError::NotUtf8)?;
        Ok(match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        })
    }

    /// Returns the location of a path on disk; for the shipped library, only its name.
    pub(crate) fn real_path(&self, path: &str) -> PathBuf {
        match self {
            Self::Disk(root) => root.join(path),
            Self::Embedded(dir) => dir.path().join(path),
        }
    }
}

/// Returns whether a name refers to an entry below its folder.
pub(crate) fn is_inside_path(name: &str) -> bool {
    !name.is_empty()
        && !name.contains(['\0', '\\'])
        && Path::new(name)
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
}

fn embedded_dir(dir: &'static Dir<'static>, folder: &str) -> Option<&'static Dir<'static>> {
    if folder.is_empty() {
        Some(dir)
    } else {
        dir.get_dir(dir.path().join(folder))
    }
}

fn list_dir(folder: &Path) -> Vec<TreeEntry> {
    let Ok(found) = fs::read_dir(folder) else {
        return Vec::new();
    };
    found
        .filter_map(Result::ok)
        .filter_map(|entry| {
            Some(TreeEntry {
                name: entry.file_name().into_string().ok()?,
                kind: entry_kind_of(entry.file_type().ok()?),
            })
        })
        .collect()
}

fn entry_kind_of(of: fs::FileType) -> TreeEntryKind {
    if of.is_file() {
        TreeEntryKind::File
    } else if of.is_dir() {
        TreeEntryKind::Folder
    } else if of.is_symlink() {
        TreeEntryKind::Link
    } else {
        TreeEntryKind::Other
    }
}

/// Reads a file below a folder. Every part of the path is checked, so that a link is noticed.
fn read_below(folder: &Path, name: &str, most: u64) -> Result<Vec<u8>, LibraryReadError> {
    let mut path = folder.to_path_buf();
    let mut linked = false;
    let mut about = None;
    for part in Path::new(name).components() {
        path.push(part);
        let found = fs::symlink_metadata(&path).map_err(|error| read_error(&error))?;
        linked |= found.is_symlink();
        about = Some(found);
    }
    if linked {
        path = path.canonicalize().map_err(|error| read_error(&error))?;
        let home = folder.canonicalize().map_err(|error| read_error(&error))?;
        if !path.starts_with(&home) {
            return Err(LibraryReadError::Outside);
        }
        about = Some(fs::symlink_metadata(&path).map_err(|error| read_error(&error))?);
    }
    let about = about
        .filter(fs::Metadata::is_file)
        .ok_or(LibraryReadError::NotAFile)?;
    if about.len() > most {
        return Err(LibraryReadError::TooLarge(most));
    }
    // Spare capacity avoids another allocation when the end of the file is read.
    let room = usize::try_from(about.len()).unwrap_or(0).saturating_add(64);
    let mut bytes = Vec::with_capacity(room);
    fs::File::open(&path)
        .and_then(|file| file.take(most.saturating_add(1)).read_to_end(&mut bytes))
        .map_err(|error| read_error(&error))?;
    if bytes.len() as u64 > most {
        return Err(LibraryReadError::TooLarge(most));
    }
    Ok(bytes)
}

fn read_error(error: &io::Error) -> LibraryReadError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => LibraryReadError::Missing,
        _ => LibraryReadError::Io(error.kind().to_string()),
    }
}
