//! Merges records of one work: the most complete value of each field, the metadata of the
//! published version, and what only one record has. Does not decide which records belong together.

use std::{cmp::Reverse, collections::HashSet};

use deliberate_core::{Article, Author, Doi, PartialDate, WorkKind};

use super::{same_work::is_same_venue, text_normalization};

/// DOI prefixes of preprint servers.
const PREPRINTS: &[&str] = &[
    "10.48550/",
    "10.64898/",
    "10.21203/rs.",
    "10.2139/ssrn.",
    "10.26434/",
    "10.31234/",
    "10.31219/",
    "10.31235/",
    "10.20944/preprints",
    "10.36227/",
    "10.22541/",
];
/// Limit of keywords, unless one record alone has more.
const MAX_KEYWORDS: usize = 50;

/// Merges `other` into `into`, which has precedence unless the other is closer to publication: the
/// longer title and abstract, the more complete value of every other field, all sources and
/// keywords, the highest citation count, and a retraction if either has one.
pub fn merge(into: &mut Article, other: &Article) {
    let mut sources = into.sources.clone();
    add_new(&mut sources, &other.sources, usize::MAX);
    let article = if publication_stage(other) > publication_stage(into) {
        merge_ranked(&[other, into])
    } else {
        merge_ranked(&[into, other])
    };
    *into = Article { sources, ..article };
}

/// Merges all records as [`merge`] merges two. Their order does not matter.
pub fn merge_all(records: &[Article]) -> Article {
    let mut ranked: Vec<&Article> = records.iter().collect();
    ranked.sort_by_cached_key(|it| merge_order(it));
    let mut sources: Vec<String> = ranked.iter().flat_map(|it| it.sources.clone()).collect();
    sources.sort();
    sources.dedup();
    // Precedence says nothing about the spelling of a title: of equal ones take the first by order.
    let mut titles: Vec<&String> = records.iter().map(|it| &it.title).collect();
    titles.sort();
    Article {
        sources,
        title: best_title(titles.into_iter()),
        ..merge_ranked(&ranked)
    }
}

/// The publication stage that a record describes.
fn publication_stage(article: &Article) -> u8 {
    let kind = match article.kind {
        WorkKind::Unknown => 0,
        WorkKind::Document | WorkKind::WebPage => 1,
        WorkKind::Preprint => 2,
        _ => 3,
    };
    if article.doi.as_ref().is_some_and(is_preprint_doi) {
        kind.min(2)
    } else {
        kind
    }
}

/// The precedence of records: published before preprint, more complete before less complete.
fn merge_order(article: &Article) -> (u8, Reverse<usize>, String) {
    let preprint = article.kind == WorkKind::Preprint;
    let version = match &article.doi {
        Some(doi) if !is_preprint_doi(doi) => u8::from(preprint),
        // Some sources call everything an article.
        Some(_) => 3 - u8::from(preprint),
        None => 4 + u8::from(preprint),
    };
    // The fields of a reference.
    let fields = [
        &article.venue,
        &article.volume,
        &article.issue,
        &article.pages,
        &article.publisher,
    ];
    let full = fields.iter().filter(|it| it.is_some()).count();
    let text = serde_json::to_string(article).unwrap_or_default();
    (version, Reverse(full), text)
}

fn is_preprint_doi(doi: &Doi) -> bool {
    let doi = doi.as_str();
    // bioRxiv shares its prefix with journals, whose suffixes start with letters.
    let biorxiv = doi
        .strip_prefix("10.1101/")
        .is_some_and(|it| it.starts_with(|it: char| it.is_ascii_digit()));
    biorxiv || PREPRINTS.iter().any(|it| doi.starts_with(it))
}

/// Merges records in order of precedence; all fields but the sources.
fn merge_ranked(ranked: &[&Article]) -> Article {
    let text = |field: fn(&Article) -> Option<&String>| first_value(ranked, field);
    let venue = text(|it| it.venue.as_ref());
    // Volume and pages of one venue must not be combined with the name of another.
    let there: Vec<&Article> = ranked
        .iter()
        .filter(|it| has_venue(it, venue.as_deref()))
        .copied()
        .collect();
    let of_venue = |field: fn(&Article) -> Option<&String>| first_value(&there, field);
    let dois = || ranked.iter().filter_map(|it| it.doi.as_ref());
    let yes = |field: fn(&Article) -> Option<bool>| ranked.iter().filter_map(|it| field(it)).max();
    let kinds = || ranked.iter().map(|it| it.kind);
    Article {
        title: best_title(ranked.iter().map(|it| &it.title)),
        authors: merge_authors(ranked),
        kind: kinds()
            .find(|it| *it != WorkKind::Unknown)
            .unwrap_or_default(),
        summary: best_summary(ranked),
        date: best_date(ranked),
        volume: of_venue(|it| it.volume.as_ref()),
        issue: of_venue(|it| it.issue.as_ref()),
        pages: of_venue(|it| it.pages.as_ref()),
        publisher: of_venue(|it| it.publisher.as_ref()),
        issn: of_venue(|it| it.issn.as_ref()),
        isbn: of_venue(|it| it.isbn.as_ref()),
        venue,
        doi: dois()
            .find(|it| !is_preprint_doi(it))
            .or_else(|| dois().next())
            .cloned(),
        // An arXiv DOI that is replaced by a journal's still yields the arXiv id.
        arxiv_id: ranked
            .iter()
            .find_map(|it| it.arxiv_id.clone())
            .or_else(|| dois().find_map(Doi::arxiv_id)),
        pmid: text(|it| it.pmid.as_ref()),
        pmcid: text(|it| it.pmcid.as_ref()),
        s2_id: text(|it| it.s2_id.as_ref()),
        openalex_id: text(|it| it.openalex_id.as_ref()),
        url: text(|it| it.url.as_ref()),
        pdf_url: text(|it| it.pdf_url.as_ref()),
        keywords: merge_keywords(ranked),
        language: text(|it| it.language.as_ref()),
        citation_count: ranked.iter().filter_map(|it| it.citation_count).max(),
        retracted: yes(|it| it.retracted),
        open_access: yes(|it| it.open_access),
        sources: Vec::new(),
    }
}

/// The first non-empty value, else the first.
fn first_value(ranked: &[&Article], field: fn(&Article) -> Option<&String>) -> Option<String> {
    let mut values = ranked.iter().filter_map(|it| field(it));
    let first = values.clone().next();
    values.find(|it| !it.trim().is_empty()).or(first).cloned()
}

/// Whether a record names this venue or none.
fn has_venue(article: &Article, venue: Option<&str>) -> bool {
    let own = article.venue.as_deref().unwrap_or_default();
    own.trim().is_empty() || venue.is_none_or(|it| it == own || is_same_venue(it, own))
}

/// The longest title, preferring those that are not all capitals, which is a print style.
fn best_title<'a>(titles: impl DoubleEndedIterator<Item = &'a String>) -> String {
    let quiet = |it: &str| it.chars().any(char::is_lowercase);
    let best = max_by_key_first(titles, |it| (quiet(it), letter_count(it)));
    best.cloned().unwrap_or_default()
}

fn best_summary(ranked: &[&Article]) -> Option<String> {
    let all = ranked.iter().filter_map(|it| it.summary.as_ref());
    max_by_key_first(all, |it| letter_count(it)).cloned()
}

fn letter_count(text: &str) -> usize {
    text_normalization::single_line(text).chars().count()
}

/// The item with the highest key; of equal ones the first, where `max_by_key` returns the last.
fn max_by_key_first<T, K: Ord>(
    all: impl DoubleEndedIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Option<T> {
    all.rev().max_by_key(key)
}

/// The date of the first record that has one, as precise as another record of the same time has it.
fn best_date(ranked: &[&Article]) -> Option<PartialDate> {
    let dates = ranked.iter().filter_map(|it| it.date);
    let first = dates.clone().next()?;
    let finer = dates.filter(|it| {
        it.year == first.year
            && (first.month.is_none() || it.month == first.month)
            && (first.day.is_none() || it.day == first.day)
    });
    max_by_key_first(finer, |it| (it.month.is_some(), it.day.is_some()))
}

/// The longest author list with the most complete names, and ORCIDs from any record.
fn merge_authors(ranked: &[&Article]) -> Vec<Author> {
    let full = |it: &&&Article| {
        let given = it.authors.iter().filter_map(|it| it.given.as_ref());
        let given: usize = given.map(|it| it.chars().count()).sum();
        // Of the same words, a list that assigns more of them to the family name is more careful than one
        // that takes the last word.
        let family: usize = it.authors.iter().map(|it| it.family.chars().count()).sum();
        let loud = it
            .authors
            .iter()
            .filter(|it| is_all_caps(&it.family))
            .count();
        (it.authors.len(), Reverse(loud), given + family, family)
    };
    let best = max_by_key_first(ranked.iter(), full);
    let mut authors = best.map(|it| it.authors.clone()).unwrap_or_default();
    for (at, author) in authors
        .iter_mut()
        .enumerate()
        .filter(|(_, it)| it.orcid.is_none())
    {
        let family = text_normalization::fold_text(&author.family);
        author.orcid = ranked
            .iter()
            .filter_map(|it| it.authors.get(at))
            .filter(|it| it.orcid.is_some())
            .find(|it| text_normalization::fold_text(&it.family) == family)
            .and_then(|it| it.orcid.clone());
    }
    authors
}

/// `HARRIS` is a print style, not a spelling.
fn is_all_caps(name: &str) -> bool {
    let letters = name.chars().filter(|it| it.is_alphabetic());
    letters.clone().count() > 1
        && letters.clone().any(char::is_uppercase)
        && !letters.clone().any(char::is_lowercase)
}

fn merge_keywords(ranked: &[&Article]) -> Vec<String> {
    let mut all = Vec::new();
    for (at, article) in ranked.iter().enumerate() {
        if at == 0 {
            all.clone_from(&article.keywords);
        } else {
            add_new(&mut all, &article.keywords, MAX_KEYWORDS);
        }
    }
    all
}

/// Adds values that are not there yet, ignoring case, up to a total of `most`.
fn add_new(into: &mut Vec<String>, other: &[String], most: usize) {
    let mut there: HashSet<String> = into.iter().map(|it| it.to_lowercase()).collect();
    for it in other {
        if into.len() < most && there.insert(it.to_lowercase()) {
            into.push(it.clone());
        }
    }
}
