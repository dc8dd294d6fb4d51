//! Decides which files may be read and which folders may be written to. A path is untrusted: its
//! links are resolved before it is checked, and the checked file is opened once.

use std::{
    fmt::Write as _,
    fs::File,
    io::{Read as _, Seek as _},
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use deliberate_core::truncate_chars;
use deliberate_extract::DocumentFile;
use deliberate_toolkit::{ArgumentIssue, ErrorCode, ToolError};
use sha2::{Digest as _, Sha256};

use super::open_nofollow::open_nofollow;
use crate::{
    ResearchOptions,
    watch_folder::directory_walk::{DirectoryListing, walk_directory},
};

const MAX_PATH_BYTES: usize = 4_096;

/// A readable file, open since it was checked, so that no other file can take its place.
#[derive(Debug, Clone)]
pub(crate) struct VerifiedFile {
    /// The path with all links resolved.
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    file: Arc<File>,
}

impl VerifiedFile {
    /// Opens a path below the folder of papers that this program chose itself.
    pub(crate) async fn open_paper(path: PathBuf) -> Result<Self, ToolError> {
        run_blocking(move || {
            let (folder, name) = (path.parent(), path.file_name());
            let (folder, name) = folder.zip(name).ok_or(ToolError::Internal)?;
            let file =
                open_nofollow(folder, Path::new(name)).map_err(|error| io_error(&path, &error))?;
            Self::from_open_file(path, file)
        })
        .await
    }

    fn from_open_file(path: PathBuf, file: File) -> Result<Self, ToolError> {
        let about = file.metadata().map_err(|error| io_error(&path, &error))?;
        if !about.is_file() {
            let what = if about.is_dir() {
                "a folder"
            } else {
                "not a regular file"
            };
            let hint = "Name a file, or use batch_process_pdfs for a folder.";
            let message = format!("{} is {what}", display_path(&path));
            return Err(file_error(ErrorCode::NotAFile, message, hint));
        }
        Ok(Self {
            bytes: about.len(),
            path,
            file: Arc::new(file),
        })
    }

    /// The file for the extractor, from its start.
    pub(crate) fn open(&self) -> Result<DocumentFile, ToolError> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let file = self.file.try_clone();
        let file = file.map_err(|error| io_error(&self.path, &error))?;
        DocumentFile::new(file, &name).map_err(|error| super::extraction_error(&error))
    }

    /// Reads at most this many bytes from the start.
    pub(crate) async fn read_head(&self, most: u64) -> Result<Vec<u8>, ToolError> {
        let it = self.clone();
        run_blocking(move || {
            let mut head = Vec::new();
            it.copy_to(most, &mut head)?;
            Ok(head)
        })
        .await
    }

    fn copy_to(&self, most: u64, to: &mut impl std::io::Write) -> Result<(), ToolError> {
        let mut file = self.file.as_ref();
        let read = file
            .rewind()
            .and_then(|()| std::io::copy(&mut file.take(most), to));
        read.map_err(|error| io_error(&self.path, &error))?;
        Ok(())
    }
}

/// Opens the file at a path if it may be read. Relative paths start in the folder of papers.
pub(crate) async fn open_readable_file(
    options: &ResearchOptions,
    field: &'static str,
    given: &str,
) -> Result<VerifiedFile, ToolError> {
    let (path, most) = (parse_path(field, given)?, options.max_file_bytes);
    let places = AllowedFolders::from_options(options);
    run_blocking(move || {
        let real = places.resolve(&path)?;
        let file = real
            .open()
            .map_err(|error| io_error(&real.path(), &error))?;
        let file = VerifiedFile::from_open_file(real.path(), file)?;
        if file.bytes > most {
            return Err(ToolError::Custom {
                code: ErrorCode::TooLarge,
                message: format!(
                    "{} has {} bytes; the limit is {most}",
                    display_path(&file.path),
                    file.bytes
                ),
                hint: Some("Raise the limit in the settings or split the file.".to_owned()),
            });
        }
        if file.bytes == 0 {
            let hint = "Copy or download it again, then add it.";
            return Err(file_error(
                ErrorCode::EmptyFile,
                "the file is empty".to_owned(),
                hint,
            ));
        }
        Ok(file)
    })
    .await
}

/// Resolves the path of a folder if its files may be read.
pub(crate) async fn resolve_readable_folder(
    options: &ResearchOptions,
    field: &'static str,
    given: &str,
) -> Result<PathBuf, ToolError> {
    let path = parse_path(field, given)?;
    let places = AllowedFolders::from_options(options);
    run_blocking(move || {
        let path = places.resolve(&path)?.path();
        if path.is_dir() {
            return Ok(path);
        }
        let hint = "Name a folder, or use process_pdf for one file.";
        let message = format!("{} is not a folder", display_path(&path));
        Err(file_error(ErrorCode::NotAFolder, message, hint))
    })
    .await
}

/// Resolves a folder below the folder of papers and creates it if it is missing.
pub(crate) async fn create_papers_subfolder(
    options: &ResearchOptions,
    given: Option<&str>,
) -> Result<PathBuf, ToolError> {
    const FIELD: &str = "output_directory";
    let root = options.papers_folder.clone();
    let wanted = match given {
        Some(given) => parse_path(FIELD, given)?,
        None => root.clone(),
    };
    let below = match wanted.strip_prefix(&root) {
        Ok(below) => below.to_owned(),
        Err(_) if wanted.is_relative() => wanted,
        Err(_) => return Err(not_in_papers_error(&root)),
    };
    let plain = below.components().all(|it| match it {
        Component::Normal(name) => !name.to_string_lossy().starts_with('.'),
        Component::CurDir => true,
        _ => false,
    });
    if !plain {
        return Err(not_in_papers_error(&root));
    }
    run_blocking(move || {
        std::fs::create_dir_all(&root).map_err(|error| io_error(&root, &error))?;
        let real_root = root
            .canonicalize()
            .map_err(|error| io_error(&root, &error))?;
        // One level at a time: a link on the way could lead elsewhere, and folders would be created
        // there.
        let mut at = real_root.clone();
        for part in below
            .components()
            .filter(|it| matches!(it, Component::Normal(_)))
        {
            at.push(part);
            if !at.exists() {
                std::fs::create_dir(&at).map_err(|error| io_error(&at, &error))?;
            }
            at = at.canonicalize().map_err(|error| io_error(&at, &error))?;
            if !at.starts_with(&real_root) || !at.is_dir() {
                return Err(not_in_papers_error(&root));
            }
        }
        Ok(at)
    })
    .await
}

/// Lists at most `most` files below a folder.
pub(crate) async fn list_files(
    folder: PathBuf,
    most: usize,
) -> Result<DirectoryListing, ToolError> {
    run_blocking(move || walk_directory(&folder, most).map_err(|error| io_error(&folder, &error)))
        .await
}

/// The SHA-256 of bytes, in hex.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    to_hex(&Sha256::digest(bytes))
}

fn to_hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// The SHA-256 of a file, in hex.
pub(crate) async fn file_sha256(file: &VerifiedFile) -> Result<String, ToolError> {
    let file = file.clone();
    run_blocking(move || {
        let mut hash = Sha256::new();
        // The file may grow while it is read.
        file.copy_to(file.bytes, &mut hash)?;
        Ok(to_hex(&hash.finalize()))
    })
    .await
}

/// The folders that files may be read from.
struct AllowedFolders {
    papers: PathBuf,
    roots: Vec<PathBuf>,
}

/// A resolved path: a readable folder and the path below it.
struct ResolvedPath {
    root: PathBuf,
    relative: PathBuf,
}

impl ResolvedPath {
    fn path(&self) -> PathBuf {
        if self.relative.as_os_str().is_empty() {
            return self.root.clone();
        }
        self.root.join(&self.relative)
    }

    fn open(&self) -> std::io::Result<File> {
        open_nofollow(&self.root, &self.relative)
    }
}

impl AllowedFolders {
    fn from_options(options: &ResearchOptions) -> Self {
        let all = [&options.papers_folder].into_iter();
        let all = all
            .chain(&options.readable_folders)
            .chain(&options.watched_folders);
        Self {
            papers: options.papers_folder.clone(),
            roots: all.cloned().collect(),
        }
    }

    /// Resolves a path if it is within one of the folders and not hidden.
    fn resolve(&self, given: &Path) -> Result<ResolvedPath, ToolError> {
        let path = self.papers.join(given);
        let Ok(real) = path.canonicalize() else {
            // For a path outside the folders the error must not reveal whether it exists.
            let within = self.roots.iter().any(|root| path.starts_with(root));
            let climbs = path.components().any(|it| it == Component::ParentDir);
            if within && !climbs {
                return Err(ToolError::Custom {
                    code: ErrorCode::FileNotFound,
                    message: format!("there is no file {}", display_path(&path)),
                    hint: Some(self.allowed_folders_hint()),
                });
            }
            return Err(self.not_allowed_error(given));
        };
        let roots = self
            .roots
            .iter()
            .filter_map(|root| root.canonicalize().ok());
        let mut places = roots.filter_map(|root| {
            let below = real.strip_prefix(&root).ok()?.to_owned();
            Some(ResolvedPath {
                root,
                relative: below,
            })
        });
        let open = places.find(|it| {
            let hidden = |it: Component<'_>| it.as_os_str().to_string_lossy().starts_with('.');
            !it.relative.components().any(hidden)
        });
        open.ok_or_else(|| self.not_allowed_error(given))
    }

    fn not_allowed_error(&self, given: &Path) -> ToolError {
        ToolError::Custom {
            code: ErrorCode::PathNotAllowed,
            message: format!("{} may not be read", display_path(given)),
            hint: Some(self.allowed_folders_hint()),
        }
    }

    fn allowed_folders_hint(&self) -> String {
        let names: Vec<String> = self.roots.iter().map(|it| display_path(it)).collect();
        format!(
            "Files are read from {}, except hidden ones; the settings can name other folders.",
            names.join(", ")
        )
    }
}

fn parse_path(field: &'static str, given: &str) -> Result<PathBuf, ToolError> {
    let given = given.trim();
    let plain = given.strip_prefix("file://").unwrap_or(given);
    if plain.is_empty() || plain.len() > MAX_PATH_BYTES || plain.contains('\0') {
        let rule = format!("must be a path of 1 to {MAX_PATH_BYTES} bytes");
        return Err(ToolError::Invalid(vec![ArgumentIssue::new(field, rule)]));
    }
    // Clients do not use a shell, so `~` is expanded here.
    let home = plain
        .strip_prefix("~/")
        .and_then(|below| Some(std::env::home_dir()?.join(below)));
    Ok(home.unwrap_or_else(|| PathBuf::from(plain)))
}

fn not_in_papers_error(root: &Path) -> ToolError {
    ToolError::Custom {
        code: ErrorCode::PathNotAllowed,
        message: "papers are stored below one folder only".to_owned(),
        hint: Some(format!(
            "Name a folder within {} without leading dots, or none.",
            display_path(root)
        )),
    }
}

fn file_error(code: ErrorCode, message: String, hint: &str) -> ToolError {
    ToolError::Custom {
        code,
        message,
        hint: Some(hint.to_owned()),
    }
}

fn io_error(path: &Path, error: &std::io::Error) -> ToolError {
    ToolError::Custom {
        code: ErrorCode::FileFailed,
        message: format!("{} can't be used: {error}", display_path(path)),
        hint: Some("Check its permissions and retry.".to_owned()),
    }
}

fn display_path(path: &Path) -> String {
    truncate_chars(&path.to_string_lossy(), 300)
}

/// Runs disk work on a thread that may block.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or(Err(ToolError::Internal))
}
