//! Articles that passages were found in, and where in their texts the passages stand now.

use deliberate_index::{Hit, Passage};
use deliberate_toolkit::ToolError;

use super::{FoundPassage, Kept, Library, Place, Text};

/// An article that passages were found in.
pub(super) struct Source {
    kept: Option<Kept>,
    /// Its text, and the same as one.
    text: Option<(Text, String)>,
    /// How many passages of it were taken.
    pub(super) taken: usize,
}

impl Source {
    /// The article of that id, as the store has it now.
    pub(super) async fn read(id: &str, library: Library<'_>) -> Result<Self, ToolError> {
        let kept = library.get(id).await?.map(|it| it.kept);
        let text = match &kept {
            Some(kept) if kept.pages > 0 => library.text(id).await?,
            _ => None,
        };
        Ok(Self {
            kept,
            text: text.map(|it| {
                let whole = it.whole();
                (it, whole)
            }),
            taken: 0,
        })
    }

    /// The passage with its place; `None` if it is no longer there.
    pub(super) fn passage(&mut self, hit: Hit) -> Option<FoundPassage> {
        let kept = self.kept.clone()?;
        let place = match &self.text {
            Some((text, whole)) => place_of(text, whole, &hit.passage)?,
            None => whole_of(&hit.passage),
        };
        self.taken += 1;
        Some(FoundPassage {
            kept,
            place,
            passage: hit.passage,
            score: hit.score,
            text_score: hit.text_score,
            similarity: hit.similarity,
            rerank_score: hit.rerank_score,
        })
    }
}

/// Where a passage stands in the text as it is now.
fn place_of(text: &Text, whole: &str, passage: &Passage) -> Option<Place> {
    if passage.page == 0 {
        return None;
    }
    let start = usize::try_from(passage.start).ok()?;
    let end = usize::try_from(passage.end).ok()?;
    if whole.get(start..end) == Some(passage.text.as_str()) {
        return text.place(start, end);
    }
    let start = whole.find(&passage.text)?;
    text.place(start, start + passage.text.len())
}

/// The place of a passage that is a title and an abstract.
fn whole_of(passage: &Passage) -> Place {
    Place {
        page: 0,
        start: 0,
        end_page: 0,
        end: u32::try_from(passage.text.chars().count()).unwrap_or(u32::MAX),
    }
}
