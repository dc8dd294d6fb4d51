//! Which files of watched folders were read, or could not be: those are not looked into again until
//! they change. It is kept in a file beside the database, which may be put back or be another one,
//! so it counts only as far as the database has seen the same.

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

/// What a file looked like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileFingerprint {
    pub(crate) bytes: u64,
    /// When it was last written, in milliseconds since 1970.
    written: u64,
}

impl FileFingerprint {
    /// How the file of that path looks, if it is a plain one.
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

/// What came of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SeenFile {
    /// How it looked then.
    #[serde(flatten)]
    look: FileFingerprint,
    /// The article it was read for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    article: Option<String>,
    /// Whether it could not be read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
}

/// Files that are done with.
#[derive(Debug)]
pub(crate) struct SeenFiles {
    path: Option<PathBuf>,
    files: BTreeMap<PathBuf, SeenFile>,
}

impl SeenFiles {
    /// What is remembered at that path, if anything is.
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

    /// Whether a file was done with when it looked so.
    pub(crate) fn contains(&self, path: &Path, look: FileFingerprint) -> bool {
        self.files.get(path).is_some_and(|it| it.look == look)
    }

    /// Notes that a file is done with: the article it was read for, or none if it could not be read.
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

    /// Forgets files that were read for articles the store has never had. One that was deleted since
    /// it has had, and its file is not read again.
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

    /// Keeps it, so that what was read is not looked into again after a start.
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
            tracing::debug!(%error, "what was read of watched folders can't be remembered");
        }
    }
}

/// The articles that a store has or has had.
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
