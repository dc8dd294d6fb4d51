//! Which files may be read, and which folder may be written to. A path is hostile: it is followed
//! to where it really leads before it is judged, and what was judged is opened once.

use std::{
    fmt::Write as _,
    fs::File,
    io::{Read as _, Seek as _},
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use deliberate_core::cut_to_chars;
use deliberate_extract::OpenFile;
use deliberate_toolkit::{Issue, ToolError};
use sha2::{Digest as _, Sha256};

use super::{
    opened::open_below,
    walk::{Below, walk},
};
use crate::Options;

/// The longest path.
const PATH_BYTES: usize = 4_096;

/// A file that may be read, open since that was found out: nobody can put another in its place.
#[derive(Debug, Clone)]
pub(crate) struct SafeFile {
    /// Where it really is.
    pub(crate) path: PathBuf,
    /// How large it is.
    pub(crate) bytes: u64,
    file: Arc<File>,
}

impl SafeFile {
    /// The file at a path below the folder of papers that this program chose itself.
    pub(crate) async fn of_papers(path: PathBuf) -> Result<Self, ToolError> {
        blocking(move || {
            let (folder, name) = (path.parent(), path.file_name());
            let (folder, name) = folder.zip(name).ok_or(ToolError::Internal)?;
            let file =
                open_below(folder, Path::new(name)).map_err(|error| failed(&path, &error))?;
            Self::of(path, file)
        })
        .await
    }

    fn of(path: PathBuf, file: File) -> Result<Self, ToolError> {
        let about = file.metadata().map_err(|error| failed(&path, &error))?;
        if !about.is_file() {
            let what = if about.is_dir() {
                "a folder"
            } else {
                "no plain file"
            };
            let hint = "Name a file; batch_process_pdfs takes a folder.";
            let message = format!("{} is {what}", shown(&path));
            return Err(refused("NotAFile", message, hint));
        }
        Ok(Self {
            bytes: about.len(),
            path,
            file: Arc::new(file),
        })
    }

    /// The file as the reader takes it, from its start.
    pub(crate) fn open(&self) -> Result<OpenFile, ToolError> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let file = self.file.try_clone();
        let file = file.map_err(|error| failed(&self.path, &error))?;
        OpenFile::new(file, &name).map_err(|error| super::ingest::unreadable(&error))
    }

    /// Its first bytes, so many at the most.
    pub(crate) async fn head(&self, most: u64) -> Result<Vec<u8>, ToolError> {
        let it = self.clone();
        blocking(move || {
            let mut head = Vec::new();
            it.read(most, &mut head)?;
            Ok(head)
        })
        .await
    }

    fn read(&self, most: u64, to: &mut impl std::io::Write) -> Result<(), ToolError> {
        let mut file = self.file.as_ref();
        let read = file
            .rewind()
            .and_then(|()| std::io::copy(&mut file.take(most), to));
        read.map_err(|error| failed(&self.path, &error))?;
        Ok(())
    }
}

/// The file of that path, if it may be read. A path that does not begin at the root begins in the
/// folder of papers.
pub(crate) async fn readable_file(
    options: &Options,
    field: &'static str,
    given: &str,
) -> Result<SafeFile, ToolError> {
    let (path, most) = (checked(field, given)?, options.file_bytes);
    let places = Places::of(options);
    blocking(move || {
        let real = places.real(&path)?;
        let file = real.open().map_err(|error| failed(&real.path(), &error))?;
        let file = SafeFile::of(real.path(), file)?;
        if file.bytes > most {
            return Err(ToolError::Told {
                code: "TooLarge".to_owned(),
                message: format!(
                    "{} has {} bytes; {most} are the most that is read",
                    shown(&file.path),
                    file.bytes
                ),
                hint: Some("Raise the limit in the settings, or split the file.".to_owned()),
            });
        }
        if file.bytes == 0 {
            let hint = "Copy or download it again, then add it.";
            return Err(refused("EmptyFile", "the file is empty".to_owned(), hint));
        }
        Ok(file)
    })
    .await
}

/// The folder of that path, if its files may be read.
pub(crate) async fn readable_folder(
    options: &Options,
    field: &'static str,
    given: &str,
) -> Result<PathBuf, ToolError> {
    let path = checked(field, given)?;
    let places = Places::of(options);
    blocking(move || {
        let path = places.real(&path)?.path();
        if path.is_dir() {
            return Ok(path);
        }
        let hint = "Name a folder; process_pdf takes one file.";
        let message = format!("{} is no folder", shown(&path));
        Err(refused("NotAFolder", message, hint))
    })
    .await
}

/// The folder of that path below the folder of papers, made if it is not there yet.
pub(crate) async fn papers_folder(
    options: &Options,
    given: Option<&str>,
) -> Result<PathBuf, ToolError> {
    const FIELD: &str = "output_directory";
    let root = options.papers.clone();
    let wanted = match given {
        Some(given) => checked(FIELD, given)?,
        None => root.clone(),
    };
    let below = match wanted.strip_prefix(&root) {
        Ok(below) => below.to_owned(),
        Err(_) if wanted.is_relative() => wanted,
        Err(_) => return Err(not_papers(&root)),
    };
    let plain = below.components().all(|it| match it {
        Component::Normal(name) => !name.to_string_lossy().starts_with('.'),
        Component::CurDir => true,
        _ => false,
    });
    if !plain {
        return Err(not_papers(&root));
    }
    blocking(move || {
        std::fs::create_dir_all(&root).map_err(|error| failed(&root, &error))?;
        let real_root = root.canonicalize().map_err(|error| failed(&root, &error))?;
        // Step by step: a link on the way could lead elsewhere, and folders would be made there.
        let mut at = real_root.clone();
        for part in below
            .components()
            .filter(|it| matches!(it, Component::Normal(_)))
        {
            at.push(part);
            if !at.exists() {
                std::fs::create_dir(&at).map_err(|error| failed(&at, &error))?;
            }
            at = at.canonicalize().map_err(|error| failed(&at, &error))?;
            if !at.starts_with(&real_root) || !at.is_dir() {
                return Err(not_papers(&root));
            }
        }
        Ok(at)
    })
    .await
}

/// What is below a folder: so many of its files at the most.
pub(crate) async fn files_below(folder: PathBuf, most: usize) -> Result<Below, ToolError> {
    blocking(move || walk(&folder, most).map_err(|error| failed(&folder, &error))).await
}

/// The SHA-256 of bytes, in hex.
pub(crate) fn sha256_of_bytes(bytes: &[u8]) -> String {
    in_hex(&Sha256::digest(bytes))
}

fn in_hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// The SHA-256 of a file, in hex.
pub(crate) async fn sha256_of(file: &SafeFile) -> Result<String, ToolError> {
    let file = file.clone();
    blocking(move || {
        let mut hash = Sha256::new();
        // It may grow while it is read.
        file.read(file.bytes, &mut hash)?;
        Ok(in_hex(&hash.finalize()))
    })
    .await
}

/// Folders that files may be read from.
struct Places {
    papers: PathBuf,
    all: Vec<PathBuf>,
}

/// Where a path really leads: a folder that may be read from, and the way from there.
struct Real {
    root: PathBuf,
    below: PathBuf,
}

impl Real {
    fn path(&self) -> PathBuf {
        if self.below.as_os_str().is_empty() {
            return self.root.clone();
        }
        self.root.join(&self.below)
    }

    fn open(&self) -> std::io::Result<File> {
        open_below(&self.root, &self.below)
    }
}

impl Places {
    fn of(options: &Options) -> Self {
        let all = [&options.papers].into_iter();
        let all = all.chain(&options.readable).chain(&options.watched);
        Self {
            papers: options.papers.clone(),
            all: all.cloned().collect(),
        }
    }

    /// Where a path really leads, if that is within one of the folders and not hidden.
    fn real(&self, given: &Path) -> Result<Real, ToolError> {
        let path = self.papers.join(given);
        let Ok(real) = path.canonicalize() else {
            // Who asks for what is elsewhere does not learn whether it is there.
            let within = self.all.iter().any(|root| path.starts_with(root));
            let climbs = path.components().any(|it| it == Component::ParentDir);
            if within && !climbs {
                return Err(ToolError::Told {
                    code: "FileNotFound".to_owned(),
                    message: format!("there is no file {}", shown(&path)),
                    hint: Some(self.where_from()),
                });
            }
            return Err(self.outside(given));
        };
        let roots = self.all.iter().filter_map(|root| root.canonicalize().ok());
        let mut places = roots.filter_map(|root| {
            let below = real.strip_prefix(&root).ok()?.to_owned();
            Some(Real { root, below })
        });
        let open = places.find(|it| {
            let hidden = |it: Component<'_>| it.as_os_str().to_string_lossy().starts_with('.');
            !it.below.components().any(hidden)
        });
        open.ok_or_else(|| self.outside(given))
    }

    fn outside(&self, given: &Path) -> ToolError {
        ToolError::Told {
            code: "PathNotAllowed".to_owned(),
            message: format!("{} may not be read", shown(given)),
            hint: Some(self.where_from()),
        }
    }

    fn where_from(&self) -> String {
        let names: Vec<String> = self.all.iter().map(|it| shown(it)).collect();
        format!(
            "Files are read from {}, hidden ones not; the settings can name other folders.",
            names.join(", ")
        )
    }
}

fn checked(field: &'static str, given: &str) -> Result<PathBuf, ToolError> {
    let given = given.trim();
    let plain = given.strip_prefix("file://").unwrap_or(given);
    if plain.is_empty() || plain.len() > PATH_BYTES || plain.contains('\0') {
        let rule = format!("must be a path of 1 to {PATH_BYTES} bytes");
        return Err(ToolError::Invalid(vec![Issue::new(field, rule)]));
    }
    // Clients do not go through a shell.
    let home = plain
        .strip_prefix("~/")
        .and_then(|below| Some(std::env::home_dir()?.join(below)));
    Ok(home.unwrap_or_else(|| PathBuf::from(plain)))
}

fn not_papers(root: &Path) -> ToolError {
    ToolError::Told {
        code: "PathNotAllowed".to_owned(),
        message: "papers are kept below one folder alone".to_owned(),
        hint: Some(format!(
            "Name a folder within {}, without dots in front of its names, or none.",
            shown(root)
        )),
    }
}

fn refused(code: &str, message: String, hint: &str) -> ToolError {
    ToolError::Told {
        code: code.to_owned(),
        message,
        hint: Some(hint.to_owned()),
    }
}

fn failed(path: &Path, error: &std::io::Error) -> ToolError {
    ToolError::Told {
        code: "FileFailed".to_owned(),
        message: format!("{} can't be used: {error}", shown(path)),
        hint: Some("Check its permissions and try again.".to_owned()),
    }
}

fn shown(path: &Path) -> String {
    cut_to_chars(&path.to_string_lossy(), 300)
}

/// Runs what may wait for the disk where that harms nobody.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or(Err(ToolError::Internal))
}
