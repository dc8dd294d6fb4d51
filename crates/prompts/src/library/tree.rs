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
pub(crate) static SHIPPED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/library");

/// Something in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) what: What,
}

/// What it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    File,
    Folder,
    /// A link; where it leads is looked at when it is read.
    Link,
    /// A pipe, a device, a socket.
    Other,
}

/// Why a file can't be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("there is no such file")]
    Missing,
    #[error("it is not an ordinary file")]
    NotAFile,
    #[error("it leads out of its folder")]
    Outside,
    #[error("it is longer than {0} bytes")]
    TooLong(u64),
    #[error("it is not text in UTF-8")]
    NotText,
    #[error("it can't be read: {0}")]
    Io(String),
}

/// A tree of files. Paths in it are relative, with `/`; the empty one is its root.
#[derive(Debug, Clone)]
pub(crate) enum Tree {
    /// A folder on disk.
    Disk(PathBuf),
    /// A folder of the shipped library.
    Built(&'static Dir<'static>),
}

impl Tree {
    /// A folder of the shipped library.
    pub(crate) fn shipped(folder: &str) -> Option<Self> {
        SHIPPED.get_dir(folder).map(Self::Built)
    }

    /// A folder on disk, if it is one.
    pub(crate) fn disk(folder: &Path) -> Option<Self> {
        let real = folder.canonicalize().ok()?;
        real.is_dir().then_some(Self::Disk(real))
    }

    /// What stands in a folder, by name; hidden things are left out.
    pub(crate) fn list(&self, folder: &str) -> Vec<Entry> {
        let mut entries = match self {
            Self::Disk(root) => listed(&root.join(folder)),
            Self::Built(dir) => built(dir, folder).map_or_else(Vec::new, |dir| {
                dir.entries()
                    .iter()
                    .filter_map(|entry| {
                        Some(Entry {
                            name: entry.path().file_name()?.to_str()?.to_owned(),
                            what: match entry {
                                DirEntry::Dir(_) => What::Folder,
                                DirEntry::File(_) => What::File,
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
    pub(crate) fn look(&self, path: &str) -> Option<What> {
        match self {
            Self::Disk(root) => {
                let mut here = root.clone();
                let mut what = What::Folder;
                for part in path.split('/').filter(|part| !part.is_empty()) {
                    if what != What::Folder {
                        return None;
                    }
                    here.push(part);
                    what = kind(fs::symlink_metadata(&here).ok()?.file_type());
                }
                Some(what)
            }
            Self::Built(dir) if path.is_empty() => {
                let _ = dir;
                Some(What::Folder)
            }
            Self::Built(dir) => dir
                .get_entry(dir.path().join(path))
                .map(|entry| match entry {
                    DirEntry::Dir(_) => What::Folder,
                    DirEntry::File(_) => What::File,
                }),
        }
    }

    /// The text of a file below a folder of the tree. The folder is one that was walked to; the
    /// name may come from anyone.
    pub(crate) fn read(&self, folder: &str, name: &str, most: u64) -> Result<String, Fault> {
        if !is_inner(name) {
            return Err(Fault::Outside);
        }
        let bytes = match self {
            Self::Disk(root) => read_below(&root.join(folder), name, most)?,
            Self::Built(dir) => dir
                .get_file(dir.path().join(folder).join(name))
                .ok_or(Fault::Missing)?
                .contents()
                .to_vec(),
        };
        let text = String::from_utf8(bytes).map_err(|_| Fault::NotText)?;
        Ok(match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        })
    }

    /// Where a path of the tree is on disk; for the shipped library, only its name.
    pub(crate) fn real(&self, path: &str) -> PathBuf {
        match self {
            Self::Disk(root) => root.join(path),
            Self::Built(dir) => dir.path().join(path),
        }
    }
}

/// Whether a name leads to something below the folder it is said in.
pub(crate) fn is_inner(name: &str) -> bool {
    !name.is_empty()
        && !name.contains(['\0', '\\'])
        && Path::new(name)
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
}

fn built(dir: &'static Dir<'static>, folder: &str) -> Option<&'static Dir<'static>> {
    if folder.is_empty() {
        Some(dir)
    } else {
        dir.get_dir(dir.path().join(folder))
    }
}

fn listed(folder: &Path) -> Vec<Entry> {
    let Ok(found) = fs::read_dir(folder) else {
        return Vec::new();
    };
    found
        .filter_map(Result::ok)
        .filter_map(|entry| {
            Some(Entry {
                name: entry.file_name().into_string().ok()?,
                what: kind(entry.file_type().ok()?),
            })
        })
        .collect()
}

fn kind(of: fs::FileType) -> What {
    if of.is_file() {
        What::File
    } else if of.is_dir() {
        What::Folder
    } else if of.is_symlink() {
        What::Link
    } else {
        What::Other
    }
}

/// Reads a file below a folder. Each part of the way is looked at, so that a link is noticed.
fn read_below(folder: &Path, name: &str, most: u64) -> Result<Vec<u8>, Fault> {
    let mut path = folder.to_path_buf();
    let mut linked = false;
    let mut about = None;
    for part in Path::new(name).components() {
        path.push(part);
        let found = fs::symlink_metadata(&path).map_err(|error| fault(&error))?;
        linked |= found.is_symlink();
        about = Some(found);
    }
    if linked {
        path = path.canonicalize().map_err(|error| fault(&error))?;
        let home = folder.canonicalize().map_err(|error| fault(&error))?;
        if !path.starts_with(&home) {
            return Err(Fault::Outside);
        }
        about = Some(fs::symlink_metadata(&path).map_err(|error| fault(&error))?);
    }
    let about = about.filter(fs::Metadata::is_file).ok_or(Fault::NotAFile)?;
    if about.len() > most {
        return Err(Fault::TooLong(most));
    }
    // Room for one more byte spares a second look for the end.
    let room = usize::try_from(about.len()).unwrap_or(0).saturating_add(64);
    let mut bytes = Vec::with_capacity(room);
    fs::File::open(&path)
        .and_then(|file| file.take(most.saturating_add(1)).read_to_end(&mut bytes))
        .map_err(|error| fault(&error))?;
    if bytes.len() as u64 > most {
        return Err(Fault::TooLong(most));
    }
    Ok(bytes)
}

fn fault(error: &io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Fault::Missing,
        _ => Fault::Io(error.kind().to_string()),
    }
}
