//! Sorts results by another order than relevance. More candidates are examined than wanted, and
//! weak matches are dropped: the most cited work of a collection is seldom the one that is wanted.

use std::{cmp::Reverse, collections::BTreeMap};

use deliberate_core::PartialDate;

use super::retriever::MAX_PASSAGES;
use crate::articles::ArticleRecord;

/// A match is weak below this share of the best score.
const MIN_SCORE_SHARE: f32 = 0.02;

/// The order of results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OrderBy {
    /// Best match first.
    #[default]
    Relevance,
    /// Newest first.
    Date,
    /// Most cited first.
    Citations,
    /// By title.
    Title,
    /// By relevance, date and citations together.
    Overall,
}

impl OrderBy {
    /// The number of candidates to examine for this many results.
    pub(crate) fn candidate_count(self, wanted: usize) -> usize {
        match self {
            Self::Relevance => wanted,
            _ => wanted.max(MAX_PASSAGES),
        }
    }

    /// Sorts results that come best first and keeps `wanted` of them. Unknown values come last.
    pub(crate) fn apply<T>(
        self,
        mut found: Vec<T>,
        most: usize,
        about: impl Fn(&T) -> (&ArticleRecord, f32),
        notes: &mut Vec<String>,
    ) -> Vec<T> {
        if self != Self::Relevance {
            drop_low_scores(&mut found, |it| about(it).1);
            if found.len() >= MAX_PASSAGES {
                notes.push(format!(
                    "Only the {} best matches were sorted; there may be more.",
                    found.len()
                ));
            }
            self.sort(&mut found, |it| about(it).0);
        }
        found.truncate(most);
        found
    }

    fn sort<T>(self, found: &mut [T], kept: impl Fn(&T) -> &ArticleRecord) {
        match self {
            Self::Relevance => {}
            Self::Date => found.sort_by_key(|it| Reverse(date(kept(it)))),
            Self::Citations => found.sort_by_key(|it| Reverse(citations(kept(it)))),
            Self::Title => found.sort_by_cached_key(|it| kept(it).article.title.to_lowercase()),
            Self::Overall => {
                let places = rank_sums(found, &kept);
                found.sort_by_key(|it| places.get(&kept(it).id).copied());
            }
        }
    }
}

/// Drops weak matches by their scores.
pub(crate) fn drop_low_scores<T>(found: &mut Vec<T>, score: impl Fn(&T) -> f32) {
    let best = found.iter().map(&score).fold(0.0, f32::max);
    found.retain(|it| score(it) >= best * MIN_SCORE_SHARE);
}

/// The sums of the ranks by relevance, date and citations, by article ID.
fn rank_sums<T>(found: &[T], kept: impl Fn(&T) -> &ArticleRecord) -> BTreeMap<String, usize> {
    let all: Vec<&ArticleRecord> = found.iter().map(kept).collect();
    let place = |(at, it): (usize, &&ArticleRecord)| {
        let newer = all.iter().filter(|other| date(other) > date(it));
        let cited = all.iter().filter(|other| citations(other) > citations(it));
        (it.id.clone(), at + newer.count() + cited.count())
    };
    all.iter().enumerate().map(place).collect()
}

fn date(record: &ArticleRecord) -> Option<i64> {
    record.article.date.map(PartialDate::as_number)
}

fn citations(record: &ArticleRecord) -> Option<u64> {
    record.article.citation_count
}

#[cfg(test)]
mod tests {
    use deliberate_core::Timestamp;

    use super::*;

    fn scored_record(id: &str, score: f32, year: i32, cited: u64) -> (ArticleRecord, f32) {
        let mut kept = ArticleRecord::empty(Timestamp::from_micros(1));
        id.clone_into(&mut kept.id);
        id.clone_into(&mut kept.article.title);
        kept.article.date = PartialDate::new(year, None, None);
        kept.article.citation_count = Some(cited);
        (kept, score)
    }

    fn ids(by: OrderBy, most: usize) -> Vec<String> {
        let all = vec![
            scored_record("best", 1.0, 2001, 3),
            scored_record("good", 0.5, 2010, 57),
            scored_record("fair", 0.2, 2020, 133),
            scored_record("poor", 0.01, 2024, 9_000),
        ];
        let some = by.apply(all, most, |it| (&it.0, it.1), &mut Vec::new());
        some.into_iter().map(|it| it.0.id).collect()
    }

    #[test]
    fn what_fits_is_put_in_order_before_it_is_cut() {
        assert_eq!(ids(OrderBy::Relevance, 4), ["best", "good", "fair", "poor"]);
        assert_eq!(ids(OrderBy::Citations, 2), ["fair", "good"]);
        assert_eq!(ids(OrderBy::Date, 1), ["fair"]);
        assert_eq!(ids(OrderBy::Title, 9), ["best", "fair", "good"]);
        assert_eq!(ids(OrderBy::Overall, 9), ["fair", "good", "best"]);
    }

    #[test]
    fn that_more_may_fit_is_told() {
        let many: Vec<_> = (0..MAX_PASSAGES)
            .map(|at| scored_record(&at.to_string(), 1.0, 2020, 1))
            .collect();
        let mut notes = Vec::new();
        OrderBy::Date.apply(many, 3, |it| (&it.0, it.1), &mut notes);
        assert!(notes[0].contains("there may be more"), "{notes:?}");
    }
}
