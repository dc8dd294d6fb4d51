//! Parses a reference as it is printed in a paper. Fields that are uncertain stay empty: a wrong
//! author is worse than none.

mod authors;
mod identifiers;
mod patterns;
mod publication_details;

use deliberate_core::{Article, PartialDate, WorkKind};

use super::text_normalization;
use identifiers::Identifiers;
use patterns::{AUTHOR_YEAR, COLON_TITLE, EDITION, LABEL, PAREN_YEAR, QUOTED, YEAR, captures};

/// Longer than any reference; the rest is ignored.
const MAX_CHARS: usize = 3_000;

/// Parses a printed reference.
pub fn read_reference(text: &str) -> Article {
    let text: String = text.chars().take(MAX_CHARS).collect();
    let text = text_normalization::single_line(&text);
    let text = captures(&LABEL, &text)
        .and_then(|it| it.get(1))
        .map_or(text.as_str(), |it| it.as_str());
    let (ids, text) = Identifiers::extract(text);
    let parts = split_reference(&text);
    let found = publication_details::parse_details(&parts.details);
    let year = parts
        .year
        .or_else(|| find_year(&parts.details))
        .or_else(|| find_year(&parts.authors));
    let mut article = Article {
        title: parts.title,
        authors: authors::parse_authors(&parts.authors).unwrap_or_default(),
        date: year.and_then(|it| PartialDate::new(it, None, None)),
        venue: found.venue,
        volume: found.volume,
        issue: found.issue,
        pages: found.pages,
        doi: ids.doi,
        arxiv_id: ids.arxiv_id,
        pmid: ids.pmid,
        url: ids.url,
        ..Article::default()
    };
    article.kind = guess_kind(&article, &parts.details);
    infer_fields(&mut article);
    article
}

/// Infers fields from each other: a thesis comes from a university, and a reference without a title
/// was not understood.
fn infer_fields(article: &mut Article) {
    if article.title.is_empty() {
        article.venue = None;
        article.kind = WorkKind::Unknown;
    }
    if article.kind == WorkKind::Thesis {
        let place = article.venue.take().unwrap_or_default();
        let is_place = |it: &&str| {
            let lower = it.to_lowercase();
            !lower.contains("thesis") && !lower.contains("dissertation")
        };
        article.publisher = place
            .split(',')
            .find(is_place)
            .and_then(text_normalization::non_empty_line);
    }
}

/// The parts of a reference; empty where a part was not found.
#[derive(Default)]
struct ReferenceParts {
    authors: String,
    title: String,
    details: String,
    year: Option<i32>,
}

fn split_reference(text: &str) -> ReferenceParts {
    split_by_quotes(text)
        .or_else(|| split_by_year(text, captures(&PAREN_YEAR, text)))
        .or_else(|| split_by_year(text, captures(&AUTHOR_YEAR, text)))
        .or_else(|| split_by_colon(text))
        .or_else(|| split_by_sentences(text))
        .unwrap_or_else(|| ReferenceParts {
            details: text.to_owned(),
            ..ReferenceParts::default()
        })
}

/// `J. Doe, "Title," Journal, …`.
fn split_by_quotes(text: &str) -> Option<ReferenceParts> {
    let found = captures(&QUOTED, text)?;
    let (whole, title) = (found.get(0)?, found.get(1)?);
    let authors = text.get(..whole.start())?.to_owned();
    let year = find_year(&authors);
    Some(ReferenceParts {
        authors,
        title: trim_title(title.as_str()),
        details: text.get(whole.end()..)?.to_owned(),
        year,
    })
}

/// `Doe, J. (2020). Title. Journal, …` and `Doe, J. 2020. Title. …`.
fn split_by_year(text: &str, found: Option<regex::Captures<'_>>) -> Option<ReferenceParts> {
    let found = found?;
    let before = found.get(1)?.as_str();
    let year = found.get(2)?.as_str().parse().ok();
    authors::parse_authors(before)?;
    let rest = text.get(found.get(0)?.end()..)?.trim();
    let (title, tail) = first_sentence(rest);
    let is_title = title.split(' ').count() > 1 || !tail.is_empty();
    (is_title && title.chars().any(char::is_alphabetic)).then(|| ReferenceParts {
        authors: before.to_owned(),
        title: trim_title(title),
        details: tail.to_owned(),
        year,
    })
}

/// `Doe, J., Roe, A.: Title. In: …`.
fn split_by_colon(text: &str) -> Option<ReferenceParts> {
    let found = captures(&COLON_TITLE, text)?;
    let before = found.get(1)?.as_str();
    authors::parse_authors(before)?;
    let (title, tail) = first_sentence(text.get(found.get(0)?.end()..)?.trim());
    Some(ReferenceParts {
        authors: before.to_owned(),
        title: trim_title(title),
        details: tail.to_owned(),
        year: None,
    })
}

/// `J. Doe, A. Roe. Title. Venue …`: splits at the first full stop after a complete author list.
fn split_by_sentences(text: &str) -> Option<ReferenceParts> {
    for (at, _) in text.match_indices(". ").take(60) {
        let (before, after) = (text.get(..at + 1)?, text.get(at + 2..)?.trim_start());
        let goes_on = patterns::starts_with_initial(after)
            || after.starts_with(['&', ','])
            || after.starts_with("and ");
        if goes_on || authors::parse_authors(before).is_none() {
            continue;
        }
        let (title, tail) = first_sentence(after);
        return Some(ReferenceParts {
            authors: before.to_owned(),
            title: trim_title(title),
            details: tail.to_owned(),
            year: None,
        });
    }
    None
}

/// Splits off the first sentence. A full stop after a single letter or an abbreviation does not
/// end it.
fn first_sentence(text: &str) -> (&str, &str) {
    let ends = text
        .char_indices()
        .filter(|(_, it)| matches!(it, '.' | '?' | '!'));
    for (at, mark) in ends {
        let (before, after) = (
            text.get(..at).unwrap_or_default(),
            text.get(at + 1..).unwrap_or_default(),
        );
        if !after.is_empty() && !after.starts_with([' ', '”', '"']) {
            continue;
        }
        let word = before.rsplit([' ', '-', '(']).next().unwrap_or_default();
        let one_letter = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
        let abbreviation = matches!(
            word,
            "vs" | "et" | "al" | "cf" | "e.g" | "i.e" | "St" | "Dr" | "No" | "Vol"
        );
        if mark == '.' && (one_letter || abbreviation) && !after.is_empty() {
            continue;
        }
        let end = if mark == '.' { at } else { at + 1 };
        return (text.get(..end).unwrap_or_default(), after.trim());
    }
    (text, "")
}

fn trim_title(title: &str) -> String {
    let edition = EDITION.as_ref().and_then(|it| it.find(title));
    let title = edition
        .and_then(|it| title.get(..it.start()))
        .unwrap_or(title);
    title
        .trim_matches([' ', ',', '.', ';', ':', '“', '”', '"'])
        .to_owned()
}

/// The last number that can be a year and does not end a page range.
fn find_year(text: &str) -> Option<i32> {
    let pattern = YEAR.as_ref()?;
    let is_dash = |it: char| matches!(it, '-' | '–' | '—');
    let alone = |found: &regex::Match<'_>| {
        let before = text
            .get(..found.start())
            .is_some_and(|it| it.ends_with(is_dash));
        let after = text
            .get(found.end()..)
            .is_some_and(|it| it.starts_with(is_dash));
        !before && !after
    };
    let years = pattern.find_iter(text).filter(alone);
    years.last().and_then(|it| it.as_str().parse().ok())
}

fn guess_kind(article: &Article, tail: &str) -> WorkKind {
    let lower = tail.trim_start_matches(['.', ',', ' ']).to_lowercase();
    let says = |any: &[&str]| any.iter().any(|it| lower.contains(it));
    if says(&["thesis", "dissertation"]) {
        WorkKind::Thesis
    } else if says(&["technical report", "tech. rep"]) {
        WorkKind::Report
    } else if says(&["proceedings of the national academy"]) {
        WorkKind::JournalArticle
    } else if says(&[
        "proceedings",
        "proc.",
        "conference",
        "symposium",
        "workshop",
    ]) {
        WorkKind::ConferencePaper
    } else if lower.starts_with("in ") || lower.starts_with("in: ") {
        let edited = says(&["(ed", "eds.", "edited by", "handbook"]);
        if edited {
            WorkKind::Chapter
        } else {
            WorkKind::ConferencePaper
        }
    } else if article.arxiv_id.is_some() && article.venue.is_none() {
        WorkKind::Preprint
    } else if article.venue.is_some() && (article.volume.is_some() || article.issue.is_some()) {
        WorkKind::JournalArticle
    } else {
        WorkKind::Unknown
    }
}
