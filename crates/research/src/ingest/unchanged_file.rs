//! A file that was read before and has not changed: nothing is read again, and what it is brought
//! with is kept.

use deliberate_toolkit::{ToolContext, ToolError};

use super::{IngestOutcome, IngestRequest, IngestResult};
use crate::articles::{
    ArticleCategory, ArticleRecord, ArticleRepository, VersionedArticle, title_key,
};

impl IngestRequest {
    /// Leaves it as it is; all it may be given is a place it was moved to, and a collection.
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
                "Its text is that of {}; with skip_existing false this file's takes its place.",
                it.path
            )
        });
        let is = title_key(&before.record.article.title);
        let other = self.title.filter(|it| title_key(it) != is);
        let note = other.map(|_| {
            "It keeps the title it was read under; update_article_metadata gives it another."
                .to_owned()
        });
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

    /// Has an article know where a file of it is by now, if it is no longer where it was read; what to
    /// say then.
    async fn update_moved_path(&self, kept: &mut ArticleRecord, sha256: &str) -> Option<String> {
        let now = self.file.path.to_string_lossy();
        let file = kept.file_by_hash(sha256).filter(|it| it.path != now)?;
        // What can't be asked for may be there.
        if tokio::fs::try_exists(&file.path).await.unwrap_or(true) {
            return None;
        }
        let before = std::mem::replace(&mut file.path, now.into_owned());
        Some(format!(
            "Its file was {before}, and is known where it is now."
        ))
    }

    /// What to say if a paper is brought as something from elsewhere, for which it is not taken.
    fn category_note(&self, kept: &ArticleRecord) -> Option<String> {
        let name = self.collection.as_ref()?;
        let is_paper = kept.category == ArticleCategory::ResearchPaper;
        (is_paper && self.category == ArticleCategory::External).then(|| {
            format!(
                "It was read as a paper before and stays one: search_external_knowledge finds it \
                 with collection_name {name:?}, not without."
            )
        })
    }
}
