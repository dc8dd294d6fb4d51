//! Identifies records of the same work by their keys, without comparing their texts.

use deliberate_core::{Article, ArxivId, Doi};

use crate::text_normalization;

/// A key that two records of the same work share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MergeKey {
    Doi(Doi),
    /// The arXiv id without version; arXiv's own DOIs become this key too.
    Arxiv(ArxivId),
    /// The title and the first author's family name, folded to letters and digits.
    Title {
        title: String,
        /// Empty if there is no author.
        family: String,
    },
}

/// Words that a title needs to identify a work by itself; many works without authors are called
/// `Editorial`.
const MIN_TITLE_WORDS: usize = 4;

/// All keys of a record, the best first: its DOI, its arXiv id, its title and first author. Records
/// with the same best key are the same work.
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
    // One registrant does not give one work two numbers, so two editorials of the same name are two
    // works. A journal's DOI and a repository's may be of one work.
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

/// The DOI, unless it is arXiv's.
fn publisher_doi(article: &Article) -> Option<&Doi> {
    article.doi.as_ref().filter(|it| it.arxiv_id().is_none())
}

fn arxiv_id(article: &Article) -> Option<ArxivId> {
    article
        .arxiv_id
        .clone()
        .or_else(|| article.doi.as_ref()?.arxiv_id())
}
