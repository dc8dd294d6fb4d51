//! The login at one server, stored in a file that only its owner can read. The content is opaque
//! here: it is neither interpreted nor displayed.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io::{self, ErrorKind, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use deliberate_mcp_client::oauth::{LoginError, TokenStore};
use futures::future::BoxFuture;
use secrecy::{ExposeSecret as _, SecretString};

/// Largest file that is read. Tokens have a few thousand characters.
const MAX_BYTES: u64 = 256 * 1024;

/// Longest server name that is used as a file name.
const MAX_NAME_CHARS: usize = 64;

/// Suffix of an incomplete file.
const TEMP_SUFFIX: &str = ".tmp";

/// Stores one login in a file.
#[derive(Debug)]
pub(crate) struct LoginTokenFile {
    path: PathBuf,
    /// Whether this instance has stored anything.
    is_saved: AtomicBool,
}

impl LoginTokenFile {
    /// Returns the token file of a server in a folder. Reads and creates nothing.
    pub(super) fn new(folder: &Path, name: &str) -> Result<Self, LoginError> {
        let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if name.is_empty() || name.len() > MAX_NAME_CHARS || !name.chars().all(fine) {
            return Err(LoginError::new(
                "the name of the server is not valid; a name may contain only letters, digits, `-` and `_`",
            ));
        }
        Ok(Self {
            path: folder.join(format!("{name}.json")),
            is_saved: AtomicBool::new(false),
        })
    }

    /// Returns whether a login is stored. It may have expired.
    pub(crate) async fn exists(&self) -> bool {
        tokio::fs::try_exists(&self.path).await.unwrap_or(false)
    }

    /// Returns whether this instance has stored anything.
    pub(crate) fn is_saved(&self) -> bool {
        self.is_saved.load(Ordering::Acquire)
    }

    /// Runs a function on a thread that may block.
    fn run_blocking<'a, T: Send + 'static>(
        &'a self,
        what: &'static str,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, LoginError>> {
        let path = self.path.clone();
        Box::pin(async move {
            let done = tokio::task::spawn_blocking(move || work(&path)).await;
            let done = done.unwrap_or_else(|_| Err(io::Error::other("it was cancelled")));
            done.map_err(|error| {
                let place = self.path.display();
                LoginError::new(format!("the login in {place} cannot be {what}: {error}"))
            })
        })
    }
}

impl TokenStore for LoginTokenFile {
    fn load(&self) -> BoxFuture<'_, Result<Option<SecretString>, LoginError>> {
        self.run_blocking("read", read)
    }

    fn save(&self, text: SecretString) -> BoxFuture<'_, Result<(), LoginError>> {
        let saved = self.run_blocking("written", move |path| write(path, &text));
        Box::pin(async move {
            saved.await?;
            self.is_saved.store(true, Ordering::Release);
            Ok(())
        })
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), LoginError>> {
        self.run_blocking("removed", remove)
    }
}

fn read(path: &Path) -> io::Result<Option<SecretString>> {
    let file = match fs::metadata(path) {
        // Opening anything but a file may block forever.
        Ok(about) if about.is_file() => File::open(path)?,
        Ok(_) => return Err(io::Error::other("it is not a file")),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(invalid_file_error(&format!(
            "it is larger than {MAX_BYTES} bytes"
        )));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(SecretString::from(text))),
        Err(_) => Err(invalid_file_error("it is not text")),
    }
}

fn invalid_file_error(what: &str) -> io::Error {
    io::Error::other(format!("{what}; log out, then log in again"))
}

/// Replaces the content, completely or not at all.
fn write(path: &Path, text: &SecretString) -> io::Result<()> {
    let folder = path.parent().ok_or(ErrorKind::NotFound)?;
    create_folder(folder)?;
    // Other programs may write the same file at the same time.
    let number = RandomState::new().build_hasher().finish();
    let unfinished = path.with_extension(format!("{number:016x}{TEMP_SUFFIX}"));
    let written = create(&unfinished, text).and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// Creates the folder, or makes it private to its owner.
fn create_folder(folder: &Path) -> io::Result<()> {
    if let Some(above) = folder.parent() {
        fs::create_dir_all(above)?;
    }
    #[cfg_attr(
        not(unix),
        expect(unused_mut, reason = "this system has no file modes")
    )]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        made => return made,
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let permissions = fs::metadata(folder)?.permissions();
        if permissions.mode() & 0o077 != 0 {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
        }
    }
    Ok(())
}

fn create(path: &Path, text: &SecretString) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.expose_secret().as_bytes())?;
    file.sync_all()
}

/// Removes the file and the remains of incomplete writes, which contain tokens too.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let start = format!("{stem}.");
    let folder = path.parent().map(fs::read_dir);
    for entry in folder.into_iter().flatten().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(&start) && name.ends_with(TEMP_SUFFIX) {
            fs::remove_file(entry.path())?;
        }
    }
    removed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expose_text(kept: Option<SecretString>) -> Option<String> {
        kept.map(|kept| kept.expose_secret().to_owned())
    }

    #[test]
    fn a_name_leads_nowhere_else() {
        let folder = Path::new("logins");
        let long = "x".repeat(MAX_NAME_CHARS + 1);
        for name in [
            "", ".", "..", "../up", "a/b", "a\\b", "a.b", "c:", "é", &long,
        ] {
            assert!(LoginTokenFile::new(folder, name).is_err(), "{name:?}");
        }
        let tokens = LoginTokenFile::new(folder, "a-B_9").unwrap();
        assert_eq!(tokens.path, folder.join("a-B_9.json"));
    }

    #[tokio::test]
    async fn what_is_saved_is_loaded_until_it_is_cleared() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("deliberate/logins");
        let tokens = LoginTokenFile::new(&folder, "a").unwrap();
        assert!(!tokens.exists().await);
        assert_eq!(expose_text(tokens.load().await.unwrap()), None);
        tokens.clear().await.unwrap();
        assert!(!tokens.is_saved());
        for kept in ["first", "second"] {
            tokens.save(SecretString::from(kept)).await.unwrap();
            assert_eq!(
                expose_text(tokens.load().await.unwrap()).as_deref(),
                Some(kept)
            );
        }
        assert!(tokens.exists().await && tokens.is_saved());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        // Another server's login, and the remains of a crash.
        fs::write(folder.join("ab.json"), "theirs").unwrap();
        fs::write(folder.join("a.00ff.tmp"), "ours").unwrap();
        tokens.clear().await.unwrap();
        assert_eq!(expose_text(tokens.load().await.unwrap()), None);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn a_file_that_can_not_be_a_login_is_refused_and_not_shown() {
        let place = tempfile::tempdir().unwrap();
        let tokens = LoginTokenFile::new(place.path(), "a").unwrap();
        let file = place.path().join("a.json");
        let large = "hush".repeat(100_000);
        for content in [large.as_bytes(), b"hush\xff"] {
            fs::write(&file, content).unwrap();
            let error = tokens.load().await.unwrap_err().to_string();
            assert!(error.contains("log out"), "{error}");
            assert!(!error.contains("hush"), "{error}");
        }
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert!(tokens.load().await.is_err());
        assert!(tokens.save(SecretString::from("hush")).await.is_err());
        assert!(!tokens.is_saved());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn nobody_else_may_read_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("logins");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        let tokens = LoginTokenFile::new(&folder, "a").unwrap();
        fs::write(&tokens.path, "old").unwrap();
        fs::set_permissions(&tokens.path, fs::Permissions::from_mode(0o644)).unwrap();
        tokens.save(SecretString::from("hush")).await.unwrap();
        assert_eq!((mode(&folder), mode(&tokens.path)), (0o700, 0o600));
    }
}
