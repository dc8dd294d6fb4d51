//! A tree of files, on disk or built into the program.
//!
//! Nothing outside a tree can be reached through it: names are plain, links that lead out are
//! refused, links to folders are not followed, and what is not an ordinary file is never opened.
//! Knows nothing of what the files mean.

use std::{
    fs,
    io::{self, Read},
    path::{Component, Path, PathBuf},
};

use include_dir::{Dir, DirEntry, include_dir};

/// The shipped library.
pub(crate) static SHIPPED_LIBRARY: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/library");

/// Something in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeEntry {
    pub(crate) name: String,
    pub(crate) kind: TreeEntryKind,
}

/// What it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeEntryKind {
    File,
    Folder,
    /// A link; where it leads is looked at when it is read.
    Link,
    /// A pipe, a device, a socket.
    Other,
}

/// Why a file can't be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LibraryReadError {
    #[error("there is no such file")]
    Missing,
    #[error("it is not an ordinary file")]
    NotAFile,
    #[error("it leads out of its folder")]
    Outside,
    #[error("it is longer than {0} bytes")]
    TooLarge(u64),
    #[error("it is not text in UTF-8")]
    NotUtf8,
    #[error("it can't be read: {0}")]
    Io(String),
}

/// A tree of files. Paths in it are relative, with `/`; the empty one is its root.
#[derive(Debug, Clone)]
pub(crate) enum FileTree {
    /// A folder on disk.
    Disk(PathBuf),
    /// A folder of the shipped library.
    Embedded(&'static Dir<'static>),
}

impl FileTree {
    /// A folder of the shipped library.
    pub(crate) fn open_shipped(folder: &str) -> Option<Self> {
        SHIPPED_LIBRARY.get_dir(folder).map(Self::Embedded)
    }

    /// A folder on disk, if it is one.
    pub(crate) fn open_disk(folder: &Path) -> Option<Self> {
        let real = folder.canonicalize().ok()?;
        real.is_dir().then_some(Self::Disk(real))
    }

    /// What stands in a folder, by name; hidden things are left out.
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

    /// What stands at a path, looked at part by part; links are not followed.
    pub(crate) fn entry_kind(&self, path: &str) -> Option<TreeEntryKind> {
        match self {
            Self::Disk(root) => {
                let mut here = root.clone();
                let mut what = TreeEntryKind::Folder;
                for part in path.split('/').filter(|part| !part.is_empty()) {
                    if what != TreeEntryKind::Folder {
                        return None;
                    }
                    here.push(part);
                    what = entry_kind_of(fs::symlink_metadata(&here).ok()?.file_type());
                }
                Some(what)
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

    /// The text of a file below a folder of the tree. The folder is one that was walked to; the
    /// name may come from anyone.
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

    /// Where a path of the tree is on disk; for the shipped library, only its name.
    pub(crate) fn real_path(&self, path: &str) -> PathBuf {
        match self {
            Self::Disk(root) => root.join(path),
            Self::Embedded(dir) => dir.path().join(path),
        }
    }
}

/// Whether a name leads to something below the folder it is said in.
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

/// Reads a file below a folder. Each part of the way is looked at, so that a link is noticed.
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
    // Room for one more byte spares a second look for the end.
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
