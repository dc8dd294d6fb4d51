//! A directory of this run, removed at its end.

use std::{
    fs,
    path::{Path, PathBuf},
};

pub(crate) struct SoakDirectory(PathBuf);

impl SoakDirectory {
    pub(crate) fn new(parent: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(parent)?;
        let parent = parent.canonicalize()?;
        let directory = parent.join(format!("soak-{}", std::process::id()));
        fs::create_dir(&directory)?;
        Ok(Self(directory))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SoakDirectory {
    fn drop(&mut self) {
        // Files that remain in a scratch directory are not a reason to fail.
        let _ = fs::remove_dir_all(&self.0);
    }
}
