//! By what two records are known to be of the same work, without looking at how like they are.

use deliberate_core::{Article, ArxivId, Doi};

use crate::text_normalization;

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
const MIN_TITLE_WORDS: usize = 4;

/// The best key of a record: its DOI, else its arXiv id, else its title and first author.
/// Records with the same one are the same work.
pub fn merge_key(article: &Article) -> Option<MergeKey> {
    merge_keys(article).into_iter().next()
}

/// Every key of a record, the best first.
pub fn merge_keys(article: &Article) -> Vec<MergeKey> {
    let mut keys = Vec::new();
    keys.extend(publisher_doi(article).cloned().map(MergeKey::Doi));
    keys.extend(arxiv_id(article).map(MergeKey::Arxiv));
    let title = text_normalization::fold_text(&article.title);
    let says_something = !title.is_empty()
        && (!article.authors.is_empty() || title.split(' ').count() >= MIN_TITLE_WORDS);
    if says_something {
        let family = article
            .authors
            .first()
            .map(|it| text_normalization::fold_text(&it.family))
            .unwrap_or_default();
        keys.push(MergeKey::Title { title, family });
    }
    keys
}

/// Whether two records are of the same work: by DOI, by arXiv id, else by title and first author.
pub fn is_same_work(a: &Article, b: &Article) -> bool {
    let (doi_a, doi_b) = (publisher_doi(a), publisher_doi(b));
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

/// The DOI that is not arXiv's.
fn publisher_doi(article: &Article) -> Option<&Doi> {
    article.doi.as_ref().filter(|it| it.arxiv_id().is_none())
}

fn arxiv_id(article: &Article) -> Option<ArxivId> {
    article
        .arxiv_id
        .clone()
        .or_else(|| article.doi.as_ref()?.arxiv_id())
}
