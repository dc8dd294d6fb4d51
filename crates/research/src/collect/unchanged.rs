//! A file that was read before and has not changed: nothing is read again, and what it is brought
//! with is kept.

use deliberate_toolkit::{Call, ToolError};

use super::{
    Category, Kept, Library, Version,
    ingest::{Ingest, Ingested, What},
    title_key,
};

impl Ingest {
    /// Leaves it as it is; all it may be given is a place it was moved to, and a collection.
    pub(super) async fn unchanged(
        self,
        mut before: Version,
        sha256: &str,
        call: &Call,
    ) -> Result<Ingested, ToolError> {
        let moved = self.follow(&mut before.kept, sha256).await;
        let stays = self.stays_a_paper(&before.kept);
        let another = before.kept.file.as_ref().filter(|it| it.sha256 != sha256);
        let gave_way = another.map(|it| {
            format!(
                "Its text is that of {}; with skip_existing false this file's takes its place.",
                it.path
            )
        });
        let is = title_key(&before.kept.article.title);
        let other = self.title.filter(|it| title_key(it) != is);
        let note = other.map(|_| {
            "It keeps the title it was read under; update_article_metadata gives it another."
                .to_owned()
        });
        let collection = self
            .collection
            .filter(|it| !before.kept.collections.contains(it));
        let differs = moved.is_some() || collection.is_some();
        before.kept.collections.extend(collection);
        let changes = if differs {
            vec![before.put(call.now())]
        } else {
            Vec::new()
        };
        let outline = Library(call.store()).outline(&before.kept.id).await?;
        Ok(Ingested {
            kept: before.kept,
            what: What::Unchanged,
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
    async fn follow(&self, kept: &mut Kept, sha256: &str) -> Option<String> {
        let now = self.file.path.to_string_lossy();
        let file = kept.file_of(sha256).filter(|it| it.path != now)?;
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
    fn stays_a_paper(&self, kept: &Kept) -> Option<String> {
        let name = self.collection.as_ref()?;
        let is_paper = kept.category == Category::ResearchPaper;
        (is_paper && self.category == Category::External).then(|| {
            format!(
                "It was read as a paper before and stays one: search_external_knowledge finds it \
                 with collection_name {name:?}, not without."
            )
        })
    }
}
