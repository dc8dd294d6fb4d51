//! Several records of one paper made one: of each field the fullest value, of the paper the
//! published version, and what only the preprint has beside it.

use std::cmp::Reverse;

use deliberate_core::{Article, Author, Doi, PartialDate, WorkKind};

use crate::sources::reading::fold::folded;

/// What preprints are registered under.
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
    "10.1101/20",
];
/// The most keywords of a paper.
const KEYWORDS: usize = 50;

/// One record of all. The order in which they come does not matter.
pub fn merge(records: &[Article]) -> Article {
    let mut all: Vec<&Article> = records.iter().collect();
    all.sort_by_cached_key(|it| order(it));
    let Some(lead) = all.first() else {
        return Article::default();
    };
    let first =
        |field: fn(&Article) -> Option<&String>| all.iter().find_map(|it| field(it)).cloned();
    let longest = |field: fn(&Article) -> Option<&String>| {
        let texts = all.iter().filter_map(|it| field(it));
        texts
            .max_by_key(|it| (it.chars().count(), Reverse(*it)))
            .cloned()
    };
    let yes = |field: fn(&Article) -> Option<bool>| all.iter().filter_map(|it| field(it)).max();
    let arxiv = |it: &&Article| it.arxiv_id.clone();
    let by_doi = |it: &&Article| it.doi.as_ref().and_then(Doi::arxiv_id);
    let kind = |it: &&Article| Some(it.kind).filter(|it| *it != WorkKind::Unknown);
    Article {
        title: title(&all),
        authors: authors(&all),
        kind: all.iter().find_map(kind).unwrap_or_default(),
        summary: longest(|it| it.summary.as_ref()),
        date: date(&all),
        venue: first(|it| it.venue.as_ref()),
        volume: first(|it| it.volume.as_ref()),
        issue: first(|it| it.issue.as_ref()),
        pages: first(|it| it.pages.as_ref()),
        publisher: first(|it| it.publisher.as_ref()),
        issn: first(|it| it.issn.as_ref()),
        isbn: first(|it| it.isbn.as_ref()),
        doi: lead
            .doi
            .clone()
            .or_else(|| all.iter().find_map(|it| it.doi.clone())),
        arxiv_id: all
            .iter()
            .find_map(arxiv)
            .or_else(|| all.iter().find_map(by_doi)),
        pmid: first(|it| it.pmid.as_ref()),
        pmcid: first(|it| it.pmcid.as_ref()),
        s2_id: first(|it| it.s2_id.as_ref()),
        openalex_id: first(|it| it.openalex_id.as_ref()),
        url: first(|it| it.url.as_ref()),
        pdf_url: first(|it| it.pdf_url.as_ref()),
        keywords: keywords(&all),
        language: first(|it| it.language.as_ref()),
        citation_count: all.iter().filter_map(|it| it.citation_count).max(),
        retracted: yes(|it| it.retracted),
        open_access: yes(|it| it.open_access),
        sources: sources(&all),
    }
}

/// The longest, of those that are not in capitals throughout if there is one.
fn title(all: &[&Article]) -> String {
    let quiet = |it: &str| it.chars().any(char::is_lowercase);
    let titles = all.iter().map(|it| &it.title);
    let best = titles.max_by_key(|it| (quiet(it), it.chars().count(), Reverse(*it)));
    best.cloned().unwrap_or_default()
}

/// Which record speaks first: the published before the preprint, the fuller before the emptier.
fn order(article: &Article) -> (u8, Reverse<usize>, String) {
    let version = match &article.doi {
        Some(doi) if PREPRINTS.iter().any(|it| doi.as_str().starts_with(it)) => 2,
        Some(_) if article.kind != WorkKind::Preprint => 0,
        Some(_) => 1,
        None if article.kind == WorkKind::Preprint => 4,
        None => 3,
    };
    // The fields that a reference is made of.
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

/// The date of the first that has one, as exactly as another of the same time knows it.
fn date(all: &[&Article]) -> Option<PartialDate> {
    let first = all.iter().find_map(|it| it.date)?;
    let finer = |it: &PartialDate| {
        it.year == first.year
            && (first.month.is_none() || it.month == first.month)
            && (first.day.is_none() || it.day == first.day)
    };
    let exact = |it: &PartialDate| (it.month.is_some(), it.day.is_some(), Reverse(*it));
    all.iter()
        .filter_map(|it| it.date)
        .filter(finer)
        .max_by_key(exact)
}

/// The longest list, with the fullest names; ORCIDs from whoever has them.
fn authors(all: &[&Article]) -> Vec<Author> {
    let full = |it: &&Article| {
        let given = it.authors.iter().filter_map(|it| it.given.as_ref());
        let given: usize = given.map(|it| it.chars().count()).sum();
        // Of the same words, those who give more of them to the family know better than those who
        // take the last for it.
        let family: usize = it.authors.iter().map(|it| it.family.chars().count()).sum();
        let letters = (given + family, family);
        // `HARRIS` is how some print a name, not how it is written.
        let loud = it
            .authors
            .iter()
            .filter(|it| it.family.chars().all(char::is_uppercase));
        (it.authors.len(), Reverse(loud.count()), letters)
    };
    // Of equals the first: `max_by_key` takes the last.
    let best = all.iter().rev().max_by_key(|it| full(it));
    let mut authors = best.map(|it| it.authors.clone()).unwrap_or_default();
    for (at, author) in authors
        .iter_mut()
        .enumerate()
        .filter(|(_, it)| it.orcid.is_none())
    {
        let same = |it: &&Author| folded(&it.family) == folded(&author.family);
        let known = all.iter().filter_map(|it| it.authors.get(at)).filter(same);
        author.orcid = known.filter_map(|it| it.orcid.clone()).min();
    }
    authors
}

fn keywords(all: &[&Article]) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    let words = all.iter().flat_map(|it| &it.keywords);
    let fresh = words.filter(|it| seen.insert(it.to_lowercase()));
    fresh.take(KEYWORDS).cloned().collect()
}

fn sources(all: &[&Article]) -> Vec<String> {
    let mut sources: Vec<String> = all.iter().flat_map(|it| it.sources.clone()).collect();
    sources.sort();
    sources.dedup();
    sources
}
