//! Puts what changed into the index, batch by batch.

use std::sync::atomic::Ordering;

use deliberate_index::{Index, IndexError, IndexedDocument};
use deliberate_store::ItemFilter;
use deliberate_toolkit::ToolError;

use super::{
    super::{ARTICLE, Library, behind, indexed},
    KeepError, Keeper, Progress,
};

impl Keeper {
    /// Puts in all that changed, batch by batch.
    pub(super) async fn sync(&self) -> Result<(), KeepError> {
        let index = self.index().await?;
        let whole = self.begin(&index).await?;
        let total = if whole { self.count().await? } else { 0 };
        *self.said() = Progress {
            running: true,
            total,
            ..Progress::default()
        };
        let synced = self.put_changes(&index).await;
        let mut said = self.said();
        said.running = false;
        if let Err(error) = &synced {
            said.problem = Some(error.to_string());
        }
        synced
    }

    /// Whether everything is read, from the first write on.
    async fn begin(&self, index: &Index) -> Result<bool, KeepError> {
        if self.rebuild.load(Ordering::Acquire) {
            index.clear().await?;
            self.rebuild.store(false, Ordering::Release);
        }
        Ok(index.mark()? == 0)
    }

    async fn count(&self) -> Result<u64, KeepError> {
        let all = ItemFilter::of(ARTICLE);
        let count = self.store.count_items(&all).await;
        Ok(count.map_err(ToolError::from)?)
    }

    async fn put_changes(&self, index: &Index) -> Result<(), KeepError> {
        loop {
            let batch = self.batch.load(Ordering::Relaxed);
            let mark = mark_of(index)?;
            let next = behind::next_changes(self.store.as_ref(), mark, batch).await?;
            let Some((ids, mark)) = next else {
                return Ok(());
            };
            self.put_batch(index, ids).await?;
            index.commit(u64::try_from(mark).unwrap_or(0)).await?;
            if self.rebuild.load(Ordering::Acquire) {
                self.begin(index).await?;
            }
        }
    }

    /// Puts articles in as they are now, one after the other: a text may be long.
    async fn put_batch(&self, index: &Index, ids: Vec<String>) -> Result<(), KeepError> {
        for id in ids {
            match self.document(&id).await? {
                Some(document) => match index.put(vec![document]).await {
                    Err(IndexError::Invalid { reason }) => {
                        tracing::warn!(id, reason, "an article can't be put into the index");
                        index.remove(&[id]).await?;
                    }
                    put => put?,
                },
                None => index.remove(&[id]).await?,
            }
            self.said().done += 1;
        }
        Ok(())
    }

    async fn document(&self, id: &str) -> Result<Option<IndexedDocument>, KeepError> {
        let library = Library(self.store.as_ref());
        let Some(found) = library.get(id).await? else {
            return Ok(None);
        };
        let text = library.text(id).await?;
        let cut = self.cut;
        let cutting = move || indexed::document(&found.kept, text.as_ref(), cut);
        let document = tokio::task::spawn_blocking(cutting).await;
        Ok(Some(document.map_err(IndexError::from)?))
    }
}

pub(super) fn mark_of(index: &Index) -> Result<i64, IndexError> {
    Ok(i64::try_from(index.mark()?).unwrap_or(i64::MAX))
}
