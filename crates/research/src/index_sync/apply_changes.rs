//! Applies changed articles to the index in batches.

use std::sync::atomic::Ordering;

use deliberate_index::{Index, IndexError, IndexedDocument};
use deliberate_store::DocumentFilter;
use deliberate_toolkit::ToolError;

use super::{IndexSyncError, IndexSyncProgress, IndexSynchronizer, document, lag};
use crate::articles::{ARTICLE, ArticleRepository};

impl IndexSynchronizer {
    /// Applies all outstanding changes, batch by batch.
    pub(super) async fn sync(&self) -> Result<(), IndexSyncError> {
        let index = self.index().await?;
        let whole = self.prepare_sync(&index).await?;
        let total = if whole {
            self.count_articles().await?
        } else {
            0
        };
        *self.lock_progress() = IndexSyncProgress {
            running: true,
            total,
            ..IndexSyncProgress::default()
        };
        let synced = self.apply_changes(&index).await;
        let mut said = self.lock_progress();
        said.running = false;
        if let Err(error) = &synced {
            said.problem = Some(error.to_string());
        }
        synced
    }

    /// Returns whether everything must be read again from the first write.
    async fn prepare_sync(&self, index: &Index) -> Result<bool, IndexSyncError> {
        if self.rebuild.load(Ordering::Acquire) {
            index.clear().await?;
            self.rebuild.store(false, Ordering::Release);
        }
        Ok(index.mark()? == 0)
    }

    async fn count_articles(&self) -> Result<u64, IndexSyncError> {
        let all = DocumentFilter::of_kind(ARTICLE);
        let count = self.store.count_documents(&all).await;
        Ok(count.map_err(ToolError::from)?)
    }

    async fn apply_changes(&self, index: &Index) -> Result<(), IndexSyncError> {
        loop {
            let batch = self.batch_size.load(Ordering::Relaxed);
            let mark = index_mark(index)?;
            let next = lag::next_changes(self.store.as_ref(), mark, batch).await?;
            let Some((ids, mark)) = next else {
                return Ok(());
            };
            self.apply_batch(index, ids).await?;
            index.commit(u64::try_from(mark).unwrap_or(0)).await?;
            if self.rebuild.load(Ordering::Acquire) {
                self.prepare_sync(index).await?;
            }
        }
    }

    /// Indexes articles in their current form, one at a time because a text may be long.
    async fn apply_batch(&self, index: &Index, ids: Vec<String>) -> Result<(), IndexSyncError> {
        for id in ids {
            match self.load_document(&id).await? {
                Some(document) => match index.put(vec![document]).await {
                    Err(IndexError::Invalid { reason }) => {
                        tracing::warn!(id, reason, "an article can't be indexed");
                        index.remove(&[id]).await?;
                    }
                    put => put?,
                },
                None => index.remove(&[id]).await?,
            }
            self.lock_progress().done += 1;
        }
        Ok(())
    }

    async fn load_document(&self, id: &str) -> Result<Option<IndexedDocument>, IndexSyncError> {
        let library = ArticleRepository(self.store.as_ref());
        let Some(found) = library.get(id).await? else {
            return Ok(None);
        };
        let text = library.text(id).await?;
        let cut = self.chunk_options;
        let cutting = move || document::build_document(&found.record, text.as_ref(), cut);
        let document = tokio::task::spawn_blocking(cutting).await;
        Ok(Some(document.map_err(IndexError::from)?))
    }
}

pub(super) fn index_mark(index: &Index) -> Result<i64, IndexError> {
    Ok(i64::try_from(index.mark()?).unwrap_or(i64::MAX))
}
