//! Resolves paths that must stay in a folder, whatever links and dots they contain.

use std::path::{Path, PathBuf};

use super::ProcessError;

/// Returns the real path of `path` in `folder`, or of the folder itself; an error if the path leads
/// out of the folder or does not exist.
pub(super) async fn resolve_inside(
    folder: &Path,
    path: Option<&str>,
    what: &'static str,
    inside: &'static str,
) -> Result<PathBuf, ProcessError> {
    let given = path.unwrap_or(".");
    let outside = || ProcessError::OutsideFolder {
        what,
        path: given.chars().take(200).collect(),
        inside,
    };
    let root = tokio::fs::canonicalize(folder)
        .await
        .map_err(|_| outside())?;
    let real = tokio::fs::canonicalize(root.join(given))
        .await
        .map_err(|_| outside())?;
    if real.starts_with(&root) {
        Ok(real)
    } else {
        Err(outside())
    }
}
