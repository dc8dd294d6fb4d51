//! Records of the same work, put together.

use std::collections::HashSet;

use deliberate_core::{Article, ArxivId, Author, Doi, WorkKind};

use crate::clean;

/// By what two records are known to be of the same work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MergeKey {
    /// The DOI.
    Doi(Doi),
    /// The arXiv id, without version; arXiv's own DOIs are this too.
    Arxiv(ArxivId),
    /// The title and the first author's family name, letters and digits only.
    Title {
        /// The title.
        title: String,
        /// The family name; empty if there is no author.
        family: String,
    },
}

/// As many words of a title as tell a work by themselves; many a work without authors is called
/// `Editorial`.
const WORDS_ALONE: usize = 4;

/// The best key of a record: its DOI, else its arXiv id, else its title and first author.
/// Records with the same one are the same work.
pub fn merge_key(article: &Article) -> Option<MergeKey> {
    merge_keys(article).into_iter().next()
}

/// Every key of a record, the best first.
pub fn merge_keys(article: &Article) -> Vec<MergeKey> {
    let mut keys = Vec::new();
    keys.extend(own_doi(article).cloned().map(MergeKey::Doi));
    keys.extend(arxiv_id(article).map(MergeKey::Arxiv));
    let title = clean::folded(&article.title);
    let says_something = !title.is_empty()
        && (!article.authors.is_empty() || title.split(' ').count() >= WORDS_ALONE);
    if says_something {
        let family = article
            .authors
            .first()
            .map(|it| clean::folded(&it.family))
            .unwrap_or_default();
        keys.push(MergeKey::Title { title, family });
    }
    keys
}

/// Whether two records are of the same work: by DOI, by arXiv id, else by title and first author.
pub fn same_work(a: &Article, b: &Article) -> bool {
    let (doi_a, doi_b) = (own_doi(a), own_doi(b));
    let (arxiv_a, arxiv_b) = (arxiv_id(a), arxiv_id(b));
    let equal = doi_a.is_some() && doi_a == doi_b || arxiv_a.is_some() && arxiv_a == arxiv_b;
    if equal {
        return true;
    }
    // One publisher, or arXiv, does not give one work two numbers: two editorials of a name are
    // two works. A journal's DOI and a repository's may well be of one.
    let registrant = |doi: &Doi| doi.as_str().split('/').next().map(str::to_owned);
    let two_of_one = doi_a
        .zip(doi_b)
        .is_some_and(|(a, b)| registrant(a) == registrant(b));
    if two_of_one || arxiv_a.is_some() && arxiv_b.is_some() {
        return false;
    }
    let title = |it: &Article| {
        merge_keys(it)
            .into_iter()
            .find(|it| matches!(it, MergeKey::Title { .. }))
    };
    title(a).is_some() && title(a) == title(b)
}

/// Puts what `other` says of the work into `into`: the longer title and abstract, of every other
/// field what is more complete, all sources and keywords, the highest count of citations, and a
/// retraction if either knows of one. What was published counts over its preprint.
pub fn merge(into: &mut Article, other: &Article) {
    if rank(other.kind) > rank(into.kind) {
        published(into, other);
    }
    let longer = |a: &str, b: &str| clean::line(b).chars().count() > clean::line(a).chars().count();
    // A title in capitals throughout is how some print it, not how it is written.
    let quiet = |it: &str| it.chars().any(char::is_lowercase);
    let (ours, theirs) = (quiet(&into.title), quiet(&other.title));
    if theirs && !ours || theirs == ours && longer(&into.title, &other.title) {
        into.title.clone_from(&other.title);
    }
    if longer(
        into.summary.as_deref().unwrap_or_default(),
        other.summary.as_deref().unwrap_or_default(),
    ) {
        into.summary.clone_from(&other.summary);
    }
    if !same_names(&into.authors, &other.authors)
        && fullness(&other.authors) > fullness(&into.authors)
    {
        let before = std::mem::replace(&mut into.authors, other.authors.clone());
        add_orcids(&mut into.authors, &before);
    } else {
        add_orcids(&mut into.authors, &other.authors);
    }
    merge_date(into, other);
    // An arXiv DOI says no more than the id; a journal's says more.
    if own_doi(into).is_none()
        && other.doi.is_some()
        && (into.doi.is_none() || own_doi(other).is_some())
    {
        into.doi.clone_from(&other.doi);
    }
    fill(&mut into.arxiv_id, other.arxiv_id.as_ref());
    for (mine, theirs) in text_fields(into, other) {
        let blank = mine.as_deref().is_none_or(|it| it.trim().is_empty());
        if blank && theirs.is_some() {
            mine.clone_from(theirs);
        }
    }
    add_new(&mut into.keywords, &other.keywords);
    add_new(&mut into.sources, &other.sources);
    into.citation_count = into.citation_count.max(other.citation_count);
    into.retracted = either(into.retracted, other.retracted);
    into.open_access = either(into.open_access, other.open_access);
}

/// The DOI that is not arXiv's.
fn own_doi(article: &Article) -> Option<&Doi> {
    article.doi.as_ref().filter(|it| it.arxiv_id().is_none())
}

fn arxiv_id(article: &Article) -> Option<ArxivId> {
    article
        .arxiv_id
        .clone()
        .or_else(|| article.doi.as_ref()?.arxiv_id())
}

/// How much a kind says.
fn rank(kind: WorkKind) -> u8 {
    match kind {
        WorkKind::Unknown => 0,
        WorkKind::Document | WorkKind::WebPage => 1,
        WorkKind::Preprint => 2,
        _ => 3,
    }
}

/// Takes over where and when it was published: volume and pages of one place don't go with the
/// name of another.
fn published(into: &mut Article, other: &Article) {
    into.kind = other.kind;
    if other.venue.is_some() {
        into.venue.clone_from(&other.venue);
        into.volume.clone_from(&other.volume);
        into.issue.clone_from(&other.issue);
        into.pages.clone_from(&other.pages);
        into.publisher.clone_from(&other.publisher);
    }
    into.date = other.date.or(into.date);
    if own_doi(other).is_some() {
        into.doi.clone_from(&other.doi);
    }
}

/// Whether both lists name the same people in the same words, however those are parted. Then what
/// was there first stays, unless the other parts them so that more is the family's: who guesses
/// takes the last word for it.
fn same_names(ours: &[Author], theirs: &[Author]) -> bool {
    let whole = |it: &Author| clean::folded(&it.full_name());
    let family = |all: &[Author]| {
        all.iter()
            .map(|it| it.family.chars().count())
            .sum::<usize>()
    };
    ours.len() == theirs.len()
        && ours
            .iter()
            .zip(theirs)
            .all(|(one, other)| whole(one) == whole(other))
        && family(ours) >= family(theirs)
}

/// More authors are more, then longer given names.
fn fullness(authors: &[Author]) -> (usize, usize) {
    let given = authors
        .iter()
        .filter_map(|it| it.given.as_ref())
        .map(|it| it.chars().count())
        .sum();
    (authors.len(), given)
}

fn add_orcids(into: &mut [Author], other: &[Author]) {
    for (mine, theirs) in into.iter_mut().zip(other) {
        if mine.orcid.is_none() && clean::folded(&mine.family) == clean::folded(&theirs.family) {
            mine.orcid.clone_from(&theirs.orcid);
        }
    }
}

/// A date of the same year that has more of its parts is the better one.
fn merge_date(into: &mut Article, other: &Article) {
    let parts = |it: deliberate_core::PartialDate| {
        usize::from(it.month.is_some()) + usize::from(it.day.is_some())
    };
    into.date = match (into.date, other.date) {
        (Some(mine), Some(theirs)) if mine.year == theirs.year && parts(theirs) > parts(mine) => {
            Some(theirs)
        }
        (mine, theirs) => mine.or(theirs),
    };
}

type TextPair<'a, 'b> = (&'a mut Option<String>, &'b Option<String>);

fn text_fields<'a, 'b>(into: &'a mut Article, other: &'b Article) -> [TextPair<'a, 'b>; 14] {
    [
        (&mut into.venue, &other.venue),
        (&mut into.volume, &other.volume),
        (&mut into.issue, &other.issue),
        (&mut into.pages, &other.pages),
        (&mut into.publisher, &other.publisher),
        (&mut into.issn, &other.issn),
        (&mut into.isbn, &other.isbn),
        (&mut into.pmid, &other.pmid),
        (&mut into.pmcid, &other.pmcid),
        (&mut into.s2_id, &other.s2_id),
        (&mut into.openalex_id, &other.openalex_id),
        (&mut into.url, &other.url),
        (&mut into.pdf_url, &other.pdf_url),
        (&mut into.language, &other.language),
    ]
}

fn fill<T: Clone>(mine: &mut Option<T>, theirs: Option<&T>) {
    if mine.is_none() {
        *mine = theirs.cloned();
    }
}

/// Adds what is not there in any case of letters.
fn add_new(into: &mut Vec<String>, other: &[String]) {
    let mut there: HashSet<String> = into.iter().map(|it| it.to_lowercase()).collect();
    for it in other {
        if there.insert(it.to_lowercase()) {
            into.push(it.clone());
        }
    }
}

/// Yes if either says so, no if one says so and none says yes.
fn either(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (None, None) => None,
        _ => Some(a == Some(true) || b == Some(true)),
    }
}
