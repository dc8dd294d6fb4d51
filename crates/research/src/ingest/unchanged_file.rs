//! Handles a file that was read before and has not changed: it is not read again, and only new
//! information from the request is stored.

use deliberate_toolkit::{ToolContext, ToolError};

use super::{IngestOutcome, IngestRequest, IngestResult};
use crate::articles::{
    ArticleCategory, ArticleRecord, ArticleRepository, VersionedArticle, title_key,
};

impl IngestRequest {
    /// Keeps the article; only a moved file's path and a collection are updated.
    pub(crate) async fn keep_unchanged(
        self,
        mut before: VersionedArticle,
        sha256: &str,
        call: &ToolContext,
    ) -> Result<IngestResult, ToolError> {
        let moved = self.update_moved_path(&mut before.record, sha256).await;
        let stays = self.category_note(&before.record);
        let another = before.record.file.as_ref().filter(|it| it.sha256 != sha256);
        let gave_way = another.map(|it| {
            format!(
                "The text is that of {}; skip_existing false replaces it with this file's.",
                it.path
            )
        });
        let is = title_key(&before.record.article.title);
        let other = self.title.filter(|it| title_key(it) != is);
        let note =
            other.map(|_| "It keeps its title; update_article_metadata changes it.".to_owned());
        let collection = self
            .collection
            .filter(|it| !before.record.collections.contains(it));
        let differs = moved.is_some() || collection.is_some();
        before.record.collections.extend(collection);
        let changes = if differs {
            vec![before.put_change(call.now())]
        } else {
            Vec::new()
        };
        let outline = ArticleRepository(call.store())
            .outline(&before.record.id)
            .await?;
        Ok(IngestResult {
            record: before.record,
            outcome: IngestOutcome::Unchanged,
            changes,
            notes: [note, gave_way, stays, moved]
                .into_iter()
                .flatten()
                .collect(),
            outline: outline.unwrap_or_default().counts(),
        })
    }

    /// Updates the path of a file that is no longer where it was read; returns a note if it did.
    async fn update_moved_path(&self, record: &mut ArticleRecord, sha256: &str) -> Option<String> {
        let now = self.file.path.to_string_lossy();
        let file = record.file_by_hash(sha256).filter(|it| it.path != now)?;
        // A file whose existence can't be checked may be there.
        if tokio::fs::try_exists(&file.path).await.unwrap_or(true) {
            return None;
        }
        let before = std::mem::replace(&mut file.path, now.into_owned());
        Some(format!("Its file was {before}; the new path is stored."))
    }

    /// The note if a paper is ingested as an external document, which does not change its category.
    fn category_note(&self, record: &ArticleRecord) -> Option<String> {
        let name = self.collection.as_ref()?;
        let is_paper = record.category == ArticleCategory::ResearchPaper;
        (is_paper && self.category == ArticleCategory::External).then(|| {
            format!(
                "It was read as a paper before and stays one, so search_external_knowledge finds it \
               only with collection_name {name:?}."
            )
        })
    }
}
