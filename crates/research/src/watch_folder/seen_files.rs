//! Remembers which files of watched folders were read or can't be read, so that they are skipped
//! until they change. The list is stored in a file next to the database. The database may be
//! restored or replaced, so an entry counts only if the database knows its article.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use deliberate_store::{Pagination, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::articles::ARTICLE;

/// The most files that are remembered.
const MAX_SEEN_FILES: usize = 100_000;

/// The size and modification time of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileFingerprint {
    pub(crate) bytes: u64,
    /// The modification time in milliseconds since 1970.
    written: u64,
}

impl FileFingerprint {
    /// The fingerprint of a path if it is a regular file.
    pub(crate) async fn from_path(path: &Path) -> Option<Self> {
        let about = tokio::fs::symlink_metadata(path).await.ok()?;
        if !about.is_file() {
            return None;
        }
        let written = about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(Self {
            bytes: about.len(),
            written: u64::try_from(written.as_millis()).unwrap_or(u64::MAX),
        })
    }
}

/// The outcome for a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SeenFile {
    #[serde(flatten)]
    look: FileFingerprint,
    /// The ID of the article that the file was read for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    article: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
}

/// The files that need no further attempt.
#[derive(Debug)]
pub(crate) struct SeenFiles {
    path: Option<PathBuf>,
    files: BTreeMap<PathBuf, SeenFile>,
}

impl SeenFiles {
    /// Loads the list from a path, if it exists.
    pub(crate) async fn open(path: Option<PathBuf>) -> Self {
        let json = match &path {
            Some(path) => tokio::fs::read(path).await.unwrap_or_default(),
            None => Vec::new(),
        };
        Self {
            path,
            files: serde_json::from_slice(&json).unwrap_or_default(),
        }
    }

    /// Whether a file with this fingerprint was already handled.
    pub(crate) fn contains(&self, path: &Path, look: FileFingerprint) -> bool {
        self.files.get(path).is_some_and(|it| it.look == look)
    }

    /// Adds a handled file with the ID of its article; `None` if it can't be read.
    pub(crate) fn insert(&mut self, path: PathBuf, look: FileFingerprint, article: Option<String>) {
        if self.files.len() < MAX_SEEN_FILES {
            let failed = article.is_none();
            self.files.insert(
                path,
                SeenFile {
                    look,
                    article,
                    failed,
                },
            );
        }
    }

    /// Removes files whose articles the store has never had. It did have a deleted article, so the
    /// file of a deleted article is not read again.
    pub(crate) async fn remove_unknown(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        if self.files.values().all(|it| it.failed) {
            return Ok(());
        }
        let had = all_article_ids(store).await?;
        self.files.retain(|_, it| {
            let article = it.article.as_ref();
            it.failed || article.is_some_and(|it| had.contains(it))
        });
        Ok(())
    }

    /// Saves the list, so that the files are not read again after a restart.
    pub(crate) async fn save(&self) {
        let Some(path) = &self.path else {
            return;
        };
        let Ok(json) = serde_json::to_vec(&self.files) else {
            return;
        };
        if let Some(folder) = path.parent() {
            let _ = tokio::fs::create_dir_all(folder).await;
        }
        if let Err(error) = tokio::fs::write(path, json).await {
            tracing::debug!(%error, "the list of seen files can't be saved");
        }
    }
}

/// The IDs of all articles that a store has or has had.
async fn all_article_ids(store: &dyn Store) -> Result<BTreeSet<String>, StoreError> {
    let mut had = BTreeSet::new();
    let mut seen = 0;
    loop {
        let changes = store
            .changed_documents(ARTICLE, seen, Pagination::MAX)
            .await?;
        let Some(last) = changes.last() else {
            return Ok(had);
        };
        seen = last.seq;
        had.extend(changes.into_iter().map(|it| it.id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_older_version_remembered_is_read() {
        let older = r#"{ "/papers/a.pdf": { "bytes": 5, "written": 7 } }"#;
        let done: BTreeMap<PathBuf, SeenFile> = serde_json::from_str(older).unwrap();
        let look = FileFingerprint {
            bytes: 5,
            written: 7,
        };
        let expected = SeenFile {
            look,
            article: None,
            failed: false,
        };
        assert_eq!(done.get(Path::new("/papers/a.pdf")), Some(&expected));
        let again = serde_json::to_string(&expected).unwrap();
        assert_eq!(again, r#"{"bytes":5,"written":7}"#);
    }
}
