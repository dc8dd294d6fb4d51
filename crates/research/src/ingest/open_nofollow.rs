//! Opens files without following links, so that the file that is read is the one whose path was
//! checked, even if a link is put in its place meanwhile.

use std::{fs::File, io, path::Path};

/// Opens `below` within `root`, or `root` itself if `below` is empty. No part of `below` may be a
/// link, and opening never blocks.
#[cfg(unix)]
pub(crate) fn open_nofollow(root: &Path, below: &Path) -> io::Result<File> {
    use std::path::Component;

    use rustix::fs::{CWD, Mode, OFlags, openat};

    // A folder may be traversable without being listable.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const PASS: OFlags = OFlags::PATH;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const PASS: OFlags = OFlags::RDONLY;
    let folder = PASS | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let last = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let last = last | OFlags::CLOEXEC;
    let Some(name) = below.file_name() else {
        return Ok(openat(CWD, root, last, Mode::empty())?.into());
    };
    let mut at = openat(CWD, root, folder, Mode::empty())?;
    for part in below.parent().iter().flat_map(|it| it.components()) {
        let Component::Normal(part) = part else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        at = openat(&at, part, folder | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(openat(&at, name, last, Mode::empty())?.into())
}

/// Opens `below` within `root`.
#[cfg(not(unix))]
pub(crate) fn open_nofollow(root: &Path, below: &Path) -> io::Result<File> {
    if below.as_os_str().is_empty() {
        return File::open(root);
    }
    File::open(root.join(below))
}

#[cfg(all(test, unix))]
mod tests {
    use std::{fs, io::Read as _, os::unix::fs::symlink};

    use super::*;

    fn text(file: io::Result<File>) -> io::Result<String> {
        let mut text = String::new();
        file?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn links_are_not_followed_wherever_they_stand() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("papers");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::write(root.join("a/b/paper.md"), "of the folder").unwrap();
        fs::write(folder.path().join("outside/paper.md"), "secret").unwrap();
        let open = |below: &str| text(open_nofollow(&root, Path::new(below)));
        assert_eq!(open("a/b/paper.md").unwrap(), "of the folder");
        symlink(folder.path().join("outside/paper.md"), root.join("link.md")).unwrap();
        assert!(open("link.md").is_err());
        symlink(folder.path().join("outside"), root.join("linked")).unwrap();
        assert!(open("linked/paper.md").is_err());
        assert!(open("../outside/paper.md").is_err());
        // The folder is replaced by a link after the check.
        fs::remove_dir_all(root.join("a/b")).unwrap();
        symlink(folder.path().join("outside"), root.join("a/b")).unwrap();
        assert!(open("a/b/paper.md").is_err());
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        if made.is_ok_and(|it| it.success()) {
            let file = open_nofollow(folder.path(), Path::new("pipe")).unwrap();
            assert!(!file.metadata().unwrap().is_file());
        }
    }
}
