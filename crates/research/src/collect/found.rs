//! Articles that passages were found in, and where in their texts the passages stand now. Reads the
//! pages that a passage is on, not the whole text: there may be many articles, and long ones.

use std::collections::{BTreeMap, BTreeSet};

use deliberate_index::{Hit, Hits, Passage};
use deliberate_toolkit::ToolError;

use super::{FoundPassage, Kept, Library, Place, Text};

/// A passage that is on more pages is looked for in the whole text.
const MOST_PAGES: u32 = 50;

/// How much is taken of what is found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taking {
    /// How many passages.
    pub(super) k: usize,
    /// The most of one article.
    pub(super) per_article: Option<usize>,
}

/// What was taken so far.
#[derive(Default)]
pub(super) struct Taken {
    /// The passages, best first.
    pub(super) found: Vec<FoundPassage>,
    /// Whether some are no longer where they were.
    pub(super) stale: bool,
    sources: BTreeMap<String, Source>,
}

impl Taken {
    /// Takes more, all of them behind those that were taken before.
    pub(super) async fn take(
        &mut self,
        hits: Hits,
        taking: Taking,
        library: Library<'_>,
    ) -> Result<(), ToolError> {
        let lowest = self.found.last().map_or(f32::INFINITY, |it| it.score);
        for mut hit in hits.hits {
            if self.found.len() >= taking.k {
                break;
            }
            if !self.sources.contains_key(&hit.document) {
                let source = Source::read(&hit.document, library).await?;
                self.sources.insert(hit.document.clone(), source);
            }
            let Some(source) = self.sources.get_mut(&hit.document) else {
                continue;
            };
            if source.has_given(taking) {
                continue;
            }
            // Scores are by rank within one round, and what is in a later one ranks lower.
            hit.score = hit.score.min(lowest);
            match source.passage(hit, library).await? {
                Some(passage) => self.found.push(passage),
                None => self.stale = true,
            }
        }
        Ok(())
    }

    /// Articles of which no more is taken.
    pub(super) fn exhausted(&self, taking: Taking) -> BTreeSet<String> {
        let all = self.sources.iter().filter(|(_, it)| it.has_given(taking));
        all.map(|(id, _)| id.clone()).collect()
    }
}

/// An article that passages were found in.
struct Source {
    kept: Option<Kept>,
    /// How many passages of it were taken.
    taken: usize,
}

impl Source {
    /// The article of that id, as the store has it now.
    async fn read(id: &str, library: Library<'_>) -> Result<Self, ToolError> {
        Ok(Self {
            kept: library.get(id).await?.map(|it| it.kept),
            taken: 0,
        })
    }

    fn has_given(&self, taking: Taking) -> bool {
        taking.per_article.is_some_and(|most| self.taken >= most)
    }

    /// The passage with its place; `None` if it is no longer there.
    async fn passage(
        &mut self,
        hit: Hit,
        library: Library<'_>,
    ) -> Result<Option<FoundPassage>, ToolError> {
        let Some(kept) = self.kept.clone() else {
            return Ok(None);
        };
        let place = if kept.pages > 0 {
            place_of(&kept.id, &hit.passage, library).await?
        } else {
            Some(whole_of(&hit.passage))
        };
        let Some(place) = place else {
            return Ok(None);
        };
        self.taken += 1;
        Ok(Some(FoundPassage {
            kept,
            place,
            passage: hit.passage,
            score: hit.score,
            text_score: hit.text_score,
            similarity: hit.similarity,
            rerank_score: hit.rerank_score,
        }))
    }
}

/// Where a passage stands in the text as it is now.
async fn place_of(
    id: &str,
    passage: &Passage,
    library: Library<'_>,
) -> Result<Option<Place>, ToolError> {
    let (first, last) = (passage.page, passage.end_page);
    if first == 0 {
        return Ok(None);
    }
    if last >= first && last - first < MOST_PAGES {
        let pages = library.pages(id, first, last).await?;
        if let Some(place) = only_place(pages, first, &passage.text) {
            return Ok(Some(place));
        }
    }
    // It stands there twice, or the text was written again since.
    let text = library.text(id).await?;
    Ok(text.and_then(|text| place_in(&text, passage)))
}

/// Where something stands on some pages, if it stands there once; the first has that number.
fn only_place(pages: Vec<String>, first: u32, passage: &str) -> Option<Place> {
    let some = Text {
        pages,
        ..Text::default()
    };
    let whole = some.whole();
    let start = whole.find(passage)?;
    if whole.rfind(passage) != Some(start) {
        return None;
    }
    let place = some.place(start, start + passage.len())?;
    Some(Place {
        page: place.page + first - 1,
        end_page: place.end_page + first - 1,
        ..place
    })
}

fn place_in(text: &Text, passage: &Passage) -> Option<Place> {
    let whole = text.whole();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passage_is_found_on_its_pages_if_it_stands_there_once() {
        let pages = || vec!["été and".to_owned(), "more. more.".to_owned()];
        let place = only_place(pages(), 7, "and\u{c}more").expect("it stands there");
        assert_eq!((place.page, place.start), (7, 4));
        assert_eq!((place.end_page, place.end), (8, 4));
        assert_eq!(only_place(pages(), 7, "more."), None);
        assert_eq!(only_place(pages(), 7, "less"), None);
    }
}
