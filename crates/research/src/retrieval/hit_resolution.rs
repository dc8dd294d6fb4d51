//! Resolves index hits to articles and to the current positions of their passages. It reads only
//! the pages of a passage, because there may be many articles with long texts.

use std::collections::{BTreeMap, BTreeSet};

use deliberate_index::{Passage, PassageHit, PassageHits};
use deliberate_toolkit::ToolError;

use super::query::RetrievedPassage;
use crate::articles::{ArticleRecord, ArticleRepository, FullText, TextSpan};

/// A passage on more pages is searched for in the whole text.
const MAX_PASSAGE_PAGES: u32 = 50;

/// The limits of a result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HitLimits {
    /// The number of passages.
    pub(crate) k: usize,
    /// The most passages of one article.
    pub(crate) per_article: Option<usize>,
}

/// The hits resolved so far.
#[derive(Default)]
pub(crate) struct ResolvedHits {
    /// The passages, best first.
    pub(crate) passages: Vec<RetrievedPassage>,
    /// Whether some hits are outdated: their passages changed or are gone.
    pub(crate) stale: bool,
    articles: BTreeMap<String, HitArticle>,
}

impl ResolvedHits {
    /// Adds hits of a further round, all ranked after the earlier ones.
    pub(crate) async fn add_hits(
        &mut self,
        hits: PassageHits,
        taking: HitLimits,
        library: ArticleRepository<'_>,
    ) -> Result<(), ToolError> {
        let lowest = self.passages.last().map_or(f32::INFINITY, |it| it.score);
        for mut hit in hits.hits {
            if self.passages.len() >= taking.k {
                break;
            }
            if !self.articles.contains_key(&hit.document) {
                let source = HitArticle::read(&hit.document, library).await?;
                self.articles.insert(hit.document.clone(), source);
            }
            let Some(source) = self.articles.get_mut(&hit.document) else {
                continue;
            };
            if source.is_exhausted(taking) {
                continue;
            }
            // Scores depend on the rank within a round, and hits of a later round rank lower.
            hit.score = hit.score.min(lowest);
            match source.resolve_passage(hit, library).await? {
                Some(passage) => self.passages.push(passage),
                None => self.stale = true,
            }
        }
        Ok(())
    }

    /// The articles that have reached the limit per article.
    pub(crate) fn exhausted_articles(&self, taking: HitLimits) -> BTreeSet<String> {
        let all = self
            .articles
            .iter()
            .filter(|(_, it)| it.is_exhausted(taking));
        all.map(|(id, _)| id.clone()).collect()
    }
}

/// An article with hits.
struct HitArticle {
    record: Option<ArticleRecord>,
    /// The number of passages taken from the article.
    passage_count: usize,
}

impl HitArticle {
    /// Loads the current article with this ID.
    async fn read(id: &str, library: ArticleRepository<'_>) -> Result<Self, ToolError> {
        Ok(Self {
            record: library.get(id).await?.map(|it| it.record),
            passage_count: 0,
        })
    }

    fn is_exhausted(&self, taking: HitLimits) -> bool {
        taking
            .per_article
            .is_some_and(|most| self.passage_count >= most)
    }

    /// Resolves a passage to its position; `None` if it is gone.
    async fn resolve_passage(
        &mut self,
        hit: PassageHit,
        library: ArticleRepository<'_>,
    ) -> Result<Option<RetrievedPassage>, ToolError> {
        let Some(kept) = self.record.clone() else {
            return Ok(None);
        };
        let place = if kept.pages > 0 {
            locate_passage(&kept.id, &hit.passage, library).await?
        } else {
            Some(abstract_span(&hit.passage))
        };
        let Some(place) = place else {
            return Ok(None);
        };
        self.passage_count += 1;
        Ok(Some(RetrievedPassage {
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

/// The position of a passage in the current text.
async fn locate_passage(
    id: &str,
    passage: &Passage,
    library: ArticleRepository<'_>,
) -> Result<Option<TextSpan>, ToolError> {
    let (first, last) = (passage.page, passage.end_page);
    if first == 0 {
        return Ok(None);
    }
    if last >= first && last - first < MAX_PASSAGE_PAGES {
        let pages = library.pages(id, first, last).await?;
        if let Some(place) = unique_span(pages, first, &passage.text) {
            return Ok(Some(place));
        }
    }
    // The passage occurs more than once on these pages, or the text was replaced.
    let text = library.text(id).await?;
    Ok(text.and_then(|text| find_span(&text, passage)))
}

/// The position of a passage on some pages if it occurs exactly once; `first` is the first page.
fn unique_span(pages: Vec<String>, first: u32, passage: &str) -> Option<TextSpan> {
    let some = FullText {
        pages,
        ..FullText::default()
    };
    let whole = some.join_pages();
    let start = whole.find(passage)?;
    if whole.rfind(passage) != Some(start) {
        return None;
    }
    let place = some.span(start, start + passage.len())?;
    Some(TextSpan {
        page: place.page + first - 1,
        end_page: place.end_page + first - 1,
        ..place
    })
}

fn find_span(text: &FullText, passage: &Passage) -> Option<TextSpan> {
    let whole = text.join_pages();
    let start = usize::try_from(passage.start).ok()?;
    let end = usize::try_from(passage.end).ok()?;
    if whole.get(start..end) == Some(passage.text.as_str()) {
        return text.span(start, end);
    }
    let start = whole.find(&passage.text)?;
    text.span(start, start + passage.text.len())
}

/// The position of a passage made from title and abstract.
fn abstract_span(passage: &Passage) -> TextSpan {
    TextSpan {
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
        let place = unique_span(pages(), 7, "and\u{c}more").expect("it stands there");
        assert_eq!((place.page, place.start), (7, 4));
        assert_eq!((place.end_page, place.end), (8, 4));
        assert_eq!(unique_span(pages(), 7, "more."), None);
        assert_eq!(unique_span(pages(), 7, "less"), None);
    }
}
