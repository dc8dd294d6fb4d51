//! The similarity of two records, and whether they are the same work.

pub(crate) mod identifiers;
mod similarity;

use deliberate_core::{Article, Author};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text_normalization;

/// Weights of title, authors, year and venue.
const WEIGHTS: [f32; 4] = [0.45, 0.25, 0.15, 0.15];
/// Titles with a lower similarity belong to two works.
const MIN_TITLE_SIMILARITY: f32 = 0.80;
/// Minimum score of the same work.
const SAME_THRESHOLD: f32 = 0.85;
/// Minimum score of probably the same work, if no other candidate is close.
const PROBABLE_THRESHOLD: f32 = 0.70;
/// The lead over the next candidate that "probably" requires.
const MIN_LEAD: f32 = 0.15;
/// Minimum score of possibly the same work.
const DOUBTFUL_THRESHOLD: f32 = 0.50;
/// Maximum score of records that do not both have a title.
const MAX_WITHOUT_TITLE: f32 = 0.69;

/// The similarity of two records, each value from 0 to 1. A field that one side lacks is 0 and
/// its weight goes to the others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Similarity {
    /// The weighted total; 0 if the titles differ too much.
    pub score: f32,
    pub title: f32,
    /// The first author counts three fifths, the others two fifths.
    pub authors: f32,
    pub year: f32,
    /// Journal or conference.
    pub venue: f32,
    /// The fields that both have and that differ.
    pub differs: Vec<Difference>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    pub field: String,
    /// The value of the record in question.
    pub given: String,
    /// The value of the candidate.
    pub found: String,
}

/// The verdict that follows from a similarity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SameWorkVerdict {
    Same,
    /// Probably the same work, and no other candidate is close.
    Probably,
    /// A person has to decide.
    Doubtful,
    Different,
}

/// The candidate that a record most likely is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SameWorkDecision {
    /// The verdict on the best candidate.
    pub verdict: SameWorkVerdict,
    /// The index of the best candidate; absent if none is similar.
    pub best: Option<usize>,
    /// The similarity of the best candidate.
    pub likeness: Similarity,
    /// The score of the next best.
    pub runner_up: f32,
}

/// Compares two records.
pub fn similarity(given: &Article, found: &Article) -> Similarity {
    let title =
        both_non_empty(&given.title, &found.title).map(|(a, b)| similarity::title_similarity(a, b));
    let authors = author_similarity(&given.authors, &found.authors);
    let year = given
        .year()
        .zip(found.year())
        .map(|(a, b)| year_similarity(a, b));
    let venue = given
        .venue
        .as_deref()
        .zip(found.venue.as_deref())
        .and_then(|(a, b)| both_non_empty(a, b));
    let venue = venue.map(|(a, b)| similarity::venue_similarity(a, b));
    let parts = [title, authors, year, venue];
    let (sum, weight) = parts
        .iter()
        .zip(WEIGHTS)
        .fold((0.0, 0.0), |(sum, all), (part, weight)| match part {
            Some(part) => (part.mul_add(weight, sum), all + weight),
            None => (sum, all),
        });
    let score: f32 = if weight > 0.0 {
        (sum / weight).clamp(0.0, 1.0)
    } else {
        0.0
    };
    Similarity {
        score: match title {
            Some(title) if title < MIN_TITLE_SIMILARITY => 0.0,
            Some(_) => score,
            None => score.min(MAX_WITHOUT_TITLE),
        },
        title: title.unwrap_or_default(),
        authors: authors.unwrap_or_default(),
        year: year.unwrap_or_default(),
        venue: venue.unwrap_or_default(),
        differs: differences(given, found, venue),
    }
}

/// Decides which of the candidates a record is.
pub fn decide_same_work<'a>(
    article: &Article,
    candidates: impl IntoIterator<Item = &'a Article>,
) -> SameWorkDecision {
    let mut all: Vec<(usize, Similarity)> = candidates
        .into_iter()
        .map(|it| similarity(article, it))
        .enumerate()
        .collect();
    all.sort_by(|a, b| b.1.score.total_cmp(&a.1.score));
    let mut all = all.into_iter();
    let best = all.next();
    let runner_up = all.next().map_or(0.0, |it| it.1.score);
    let score = best.as_ref().map_or(0.0, |it| it.1.score);
    let verdict = if score >= SAME_THRESHOLD {
        SameWorkVerdict::Same
    } else if score >= PROBABLE_THRESHOLD && score - runner_up >= MIN_LEAD {
        SameWorkVerdict::Probably
    } else if score >= DOUBTFUL_THRESHOLD {
        SameWorkVerdict::Doubtful
    } else {
        SameWorkVerdict::Different
    };
    SameWorkDecision {
        verdict,
        best: best.as_ref().map(|it| it.0).filter(|_| score > 0.0),
        likeness: best.map(|it| it.1).unwrap_or_default(),
        runner_up,
    }
}

/// Whether two names are of one venue, also if one abbreviates the other.
pub(crate) fn is_same_venue(a: &str, b: &str) -> bool {
    similarity::venue_similarity(a, b) >= SAME_THRESHOLD
}

/// Returns both texts if neither is empty.
fn both_non_empty<'a>(a: &'a str, b: &'a str) -> Option<(&'a str, &'a str)> {
    let has = |it: &str| it.chars().any(char::is_alphanumeric);
    (has(a) && has(b)).then_some((a, b))
}

fn year_similarity(a: u16, b: u16) -> f32 {
    match a.abs_diff(b) {
        0 => 1.0,
        1 => 0.8,
        2 => 0.4,
        _ => 0.0,
    }
}

fn author_similarity(authors: &[Author], found: &[Author]) -> Option<f32> {
    let first = similarity::person_similarity(authors.first()?, found.first()?);
    let families = |all: &[Author]| {
        all.iter()
            .map(|it| text_normalization::fold_text(&it.family))
            .collect::<std::collections::HashSet<_>>()
    };
    let (a, b) = (families(authors), families(found));
    // A reference may stop at "et al.", so only the names that both have count.
    let fewest = a.len().min(b.len()).max(1);
    let overlap = a.intersection(&b).count() as f32 / fewest as f32;
    Some((0.6 * first + 0.4 * overlap).clamp(0.0, 1.0))
}

fn differences(article: &Article, found: &Article, venue: Option<f32>) -> Vec<Difference> {
    let mut all = Vec::new();
    let mut put = |field: &str, given: &str, found: &str| {
        let cut =
            |it: &str| deliberate_core::truncate_chars(&text_normalization::single_line(it), 300);
        all.push(Difference {
            field: field.to_owned(),
            given: cut(given),
            found: cut(found),
        });
    };
    if both_non_empty(&article.title, &found.title)
        .is_some_and(|(a, b)| text_normalization::fold_text(a) != text_normalization::fold_text(b))
    {
        put("title", &article.title, &found.title);
    }
    if similarity::authors_differ(&article.authors, &found.authors) {
        put(
            "authors",
            &similarity::family_names(&article.authors),
            &similarity::family_names(&found.authors),
        );
    }
    if let Some((a, b)) = article.year().zip(found.year()).filter(|(a, b)| a != b) {
        put("year", &a.to_string(), &b.to_string());
    }
    // Abbreviations of one venue are not a difference.
    if venue.is_some_and(|it| it < SAME_THRESHOLD) {
        put(
            "venue",
            article.venue.as_deref().unwrap_or_default(),
            found.venue.as_deref().unwrap_or_default(),
        );
    }
    for (field, a, b) in [
        ("volume", &article.volume, &found.volume),
        ("issue", &article.issue, &found.issue),
        ("pages", &article.pages, &found.pages),
    ] {
        if let Some((a, b)) = a
            .as_deref()
            .zip(b.as_deref())
            .filter(|(a, b)| text_normalization::fold_text(a) != text_normalization::fold_text(b))
        {
            put(field, a, b);
        }
    }
    if let Some((a, b)) = article
        .doi
        .as_ref()
        .zip(found.doi.as_ref())
        .filter(|(a, b)| a != b)
    {
        put("doi", a.as_str(), b.as_str());
    }
    if let Some((a, b)) = article
        .arxiv_id
        .as_ref()
        .zip(found.arxiv_id.as_ref())
        .filter(|(a, b)| a != b)
    {
        put("arxiv_id", a.as_str(), b.as_str());
    }
    all
}
