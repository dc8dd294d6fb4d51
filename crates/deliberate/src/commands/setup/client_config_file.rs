//! Writes the settings file of another program: completely or not at all, with a backup.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// A client's settings file as it was when it was read.
pub(crate) struct ClientConfigFile {
    /// The file itself: a link to it stays a link.
    path: PathBuf,
    /// Its content; `None` if it does not exist.
    content: Option<Vec<u8>>,
}

/// Permissions of the new file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileAccess {
    /// Those of the old file.
    Unchanged,
    /// Readable by its owner only.
    OwnerOnly,
}

impl ClientConfigFile {
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let path = resolve(path);
        let content = read_optional(&path)?;
        Ok(Self { path, content })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the text, or `None` if it is not UTF-8.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.content {
            Some(content) => std::str::from_utf8(content).ok(),
            None => Some(""),
        }
    }

    /// Writes `text` and returns the path of the backup, if there was something to back up.
    pub(crate) fn write(&self, text: &str) -> anyhow::Result<Option<PathBuf>> {
        self.prepare()?;
        let backup = match &self.content {
            Some(content) => Some(self.back_up(content)?),
            None => None,
        };
        let readers = match &self.content {
            Some(_) => FileAccess::Unchanged,
            None => FileAccess::OwnerOnly,
        };
        self.replace(text, readers)?;
        Ok(backup)
    }

    /// Writes `text` to one of our own files: readable by its owner only, and without a backup,
    /// which would keep a key that was removed.
    pub(crate) fn write_private(&self, text: &str) -> anyhow::Result<()> {
        self.prepare()?;
        self.replace(text, FileAccess::OwnerOnly)
    }

    fn prepare(&self) -> anyhow::Result<()> {
        // The client may have written the file while the user was deciding.
        if read_optional(&self.path)? != self.content {
            bail!(
                "{} has changed in the meantime; run the command again",
                self.path.display()
            );
        }
        let directory = self.path.parent().context("the file has no directory")?;
        fs::create_dir_all(directory)
            .with_context(|| format!("cannot create {}", directory.display()))
    }

    fn replace(&self, text: &str, readers: FileAccess) -> anyhow::Result<()> {
        let temporary = self.sibling_path(&format!(".{}.tmp", std::process::id()));
        let written = self.rename_into_place(&temporary, text, readers);
        if written.is_err() {
            // The file itself is unchanged; a leftover would only confuse.
            let _ = fs::remove_file(&temporary);
        }
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }

    fn rename_into_place(
        &self,
        temporary: &Path,
        text: &str,
        readers: FileAccess,
    ) -> std::io::Result<()> {
        create_private(temporary, text.as_bytes())?;
        if readers == FileAccess::Unchanged {
            fs::set_permissions(temporary, fs::metadata(&self.path)?.permissions())?;
        }
        fs::rename(temporary, &self.path)
    }

    fn back_up(&self, content: &[u8]) -> anyhow::Result<PathBuf> {
        let time = jiff::Timestamp::now()
            .strftime("%Y%m%dT%H%M%SZ")
            .to_string();
        // More than one change in a second is rare, but a backup is never overwritten.
        for attempt in 1..100 {
            let suffix = if attempt == 1 {
                String::new()
            } else {
                format!("-{attempt}")
            };
            let backup = self.sibling_path(&format!(".bak-{time}{suffix}"));
            match create_private(&backup, content) {
                Ok(()) => {
                    fs::set_permissions(&backup, fs::metadata(&self.path)?.permissions())?;
                    return Ok(backup);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error)
                        .with_context(|| format!("cannot write the backup {}", backup.display()));
                }
            }
        }
        bail!("too many backups beside {}", self.path.display())
    }

    fn sibling_path(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(suffix);
        PathBuf::from(name)
    }
}

/// Creates a new file that only its owner can read: it may contain keys.
fn create_private(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

fn read_optional(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Returns the file behind a link, also if it does not exist yet.
fn resolve(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (fs::read_link(path), path.parent()) {
        (Ok(target), Some(directory)) => directory.join(target),
        _ => path.to_owned(),
    }
}
