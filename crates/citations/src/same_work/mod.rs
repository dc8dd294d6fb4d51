//! How like two records are, and whether they are the same work.

pub(crate) mod identifiers;
mod similarity;

use deliberate_core::{Article, Author};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text_normalization;

/// What a title, the authors, the year and the venue weigh.
const WEIGHTS: [f32; 4] = [0.45, 0.25, 0.15, 0.15];
/// Titles less alike than this are those of two works.
const MIN_TITLE_SIMILARITY: f32 = 0.80;
/// From here on it is the same work.
const SAME_THRESHOLD: f32 = 0.85;
/// From here on it probably is, if nothing else comes near.
const PROBABLE_THRESHOLD: f32 = 0.70;
/// How far ahead of the next one it has to be for that.
const MIN_LEAD: f32 = 0.15;
/// From here on it may be.
const DOUBTFUL_THRESHOLD: f32 = 0.50;
/// As like as records can be that don't both have a title.
const MAX_WITHOUT_TITLE: f32 = 0.69;

/// How like two records are, each from 0 to 1. A part that a side lacks is 0, takes no part, and
/// its weight goes to the others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Similarity {
    /// All in all; 0 if the titles differ too much.
    pub score: f32,
    /// The titles.
    pub title: f32,
    /// The authors: the first one three fifths, the rest of them two.
    pub authors: f32,
    /// The years.
    pub year: f32,
    /// The journals or conferences.
    pub venue: f32,
    /// The fields that both have and that are not the same.
    pub differs: Vec<Difference>,
}

/// A field that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The field.
    pub field: String,
    /// What the record in question says.
    pub given: String,
    /// What the one it is compared with says.
    pub found: String,
}

/// What a likeness comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SameWorkVerdict {
    /// The same work.
    Same,
    /// The same work, as far as can be told, and nothing else comes near.
    Probably,
    /// Someone has to look.
    Doubtful,
    /// Another work.
    Different,
}

/// Which of several candidates a record is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SameWorkDecision {
    /// What to make of the best one.
    pub verdict: SameWorkVerdict,
    /// The place of the best one among the candidates; absent if none is like it at all.
    pub best: Option<usize>,
    /// How like it the best one is.
    pub likeness: Similarity,
    /// How like it the next best is.
    pub runner_up: f32,
}

/// How like two records are.
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

/// Which of the candidates a record is, and how sure that is.
pub fn decide_same_work<'a>(
    given: &Article,
    candidates: impl IntoIterator<Item = &'a Article>,
) -> SameWorkDecision {
    let mut all: Vec<(usize, Similarity)> = candidates
        .into_iter()
        .map(|it| similarity(given, it))
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

/// Whether two names are of one venue, be it that one abbreviates the other.
pub(crate) fn is_same_venue(a: &str, b: &str) -> bool {
    similarity::venue_similarity(a, b) >= SAME_THRESHOLD
}

/// Two texts, if there is something to compare in both.
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

fn author_similarity(given: &[Author], found: &[Author]) -> Option<f32> {
    let first = similarity::person_similarity(given.first()?, found.first()?);
    let families = |all: &[Author]| {
        all.iter()
            .map(|it| text_normalization::fold_text(&it.family))
            .collect::<std::collections::HashSet<_>>()
    };
    let (a, b) = (families(given), families(found));
    // A reference may stop at "et al.": those that are named count.
    let fewest = a.len().min(b.len()).max(1);
    let overlap = a.intersection(&b).count() as f32 / fewest as f32;
    Some((0.6 * first + 0.4 * overlap).clamp(0.0, 1.0))
}

fn differences(given: &Article, found: &Article, venue: Option<f32>) -> Vec<Difference> {
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
    if both_non_empty(&given.title, &found.title)
        .is_some_and(|(a, b)| text_normalization::fold_text(a) != text_normalization::fold_text(b))
    {
        put("title", &given.title, &found.title);
    }
    if similarity::authors_differ(&given.authors, &found.authors) {
        put(
            "authors",
            &similarity::family_names(&given.authors),
            &similarity::family_names(&found.authors),
        );
    }
    if let Some((a, b)) = given.year().zip(found.year()).filter(|(a, b)| a != b) {
        put("year", &a.to_string(), &b.to_string());
    }
    // Abbreviations of one venue are no difference.
    if venue.is_some_and(|it| it < SAME_THRESHOLD) {
        put(
            "venue",
            given.venue.as_deref().unwrap_or_default(),
            found.venue.as_deref().unwrap_or_default(),
        );
    }
    for (field, a, b) in [
        ("volume", &given.volume, &found.volume),
        ("issue", &given.issue, &found.issue),
        ("pages", &given.pages, &found.pages),
    ] {
        if let Some((a, b)) = a
            .as_deref()
            .zip(b.as_deref())
            .filter(|(a, b)| text_normalization::fold_text(a) != text_normalization::fold_text(b))
        {
            put(field, a, b);
        }
    }
    if let Some((a, b)) = given
        .doi
        .as_ref()
        .zip(found.doi.as_ref())
        .filter(|(a, b)| a != b)
    {
        put("doi", a.as_str(), b.as_str());
    }
    if let Some((a, b)) = given
        .arxiv_id
        .as_ref()
        .zip(found.arxiv_id.as_ref())
        .filter(|(a, b)| a != b)
    {
        put("arxiv_id", a.as_str(), b.as_str());
    }
    all
}
