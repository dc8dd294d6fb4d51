//! A temporary folder of one's own, gone when it is dropped.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use deliberate_core::{IdSource as _, SystemIds};

/// A folder that only this user can look into.
pub(super) struct TempFolder {
    path: PathBuf,
}

impl TempFolder {
    /// Makes one where the system keeps temporary things.
    pub(super) fn new() -> anyhow::Result<Self> {
        let place = std::env::temp_dir();
        let path = place.join(format!("deliberate-demo-{}", SystemIds.new_id()));
        create_private(&path).with_context(|| {
            format!(
                "no temporary folder can be made in {}; set TMPDIR to a folder you can write to, \
                 or use your own database with `deliberate demo --keep`",
                place.display()
            )
        })?;
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it, and says so if that can't be done.
    pub(super) fn remove(self) -> anyhow::Result<()> {
        fs::remove_dir_all(&self.path).with_context(|| {
            let path = self.path.display();
            format!("the demo's folder {path} can't be removed; remove it yourself")
        })
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        // Removed already, or nobody left to tell.
        drop(fs::remove_dir_all(&self.path));
    }
}

fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
