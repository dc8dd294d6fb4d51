//! A private temporary folder that is deleted on drop.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use deliberate_core::{IdSource as _, SystemIds};

/// A folder that only this user can read.
pub(super) struct TempFolder {
    path: PathBuf,
}

impl TempFolder {
    /// Creates a folder in the system's temporary directory.
    pub(super) fn new() -> anyhow::Result<Self> {
        let place = std::env::temp_dir();
        let path = place.join(format!("deliberate-demo-{}", SystemIds.new_id()));
        create_private(&path).with_context(|| {
            format!(
                "no temporary folder can be created in {}; set TMPDIR to a folder you can write to, \
                 or use your own database with `deliberate demo --keep`",
                place.display()
            )
        })?;
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Deletes the folder and reports a failure to do so.
    pub(super) fn remove(self) -> anyhow::Result<()> {
        fs::remove_dir_all(&self.path).with_context(|| {
            let path = self.path.display();
            format!("the demo's folder {path} cannot be deleted; delete it yourself")
        })
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        // Already deleted, or there is nobody to report to.
        drop(fs::remove_dir_all(&self.path));
    }
}

fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
