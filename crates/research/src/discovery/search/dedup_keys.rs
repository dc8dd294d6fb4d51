//! The keys by which two records of the same paper are recognized: its identifiers, or its title
//! with the first author.

use deliberate_core::Article;

use crate::sources::api::text_folding::fold_text;

/// Many papers share a shorter title (`Editorial`); then the year must be the same, too.
const MIN_TITLE_WORDS: usize = 4;

/// All keys of a record. Two records that share one describe the same paper.
pub fn dedup_keys(article: &Article) -> Vec<String> {
    let arxiv = article.arxiv_id.clone();
    let arxiv = arxiv.or_else(|| {
        article
            .doi
            .as_ref()
            .and_then(deliberate_core::Doi::arxiv_id)
    });
    let named = |kind: &str, id: Option<&str>| id.map(|id| format!("{kind}:{id}"));
    let mut keys = Vec::new();
    keys.extend(named(
        "doi",
        article.doi.as_ref().map(deliberate_core::Doi::as_str),
    ));
    keys.extend(named(
        "arxiv",
        arxiv.as_ref().map(deliberate_core::ArxivId::as_str),
    ));
    keys.extend(named("pmid", article.pmid.as_deref()));
    keys.extend(named("pmcid", article.pmcid.as_deref()));
    keys.extend(named("s2", article.s2_id.as_deref()));
    keys.extend(named("openalex", article.openalex_id.as_deref()));
    keys.extend(title_key(article));
    keys
}

fn title_key(article: &Article) -> Option<String> {
    let title = fold_text(&article.title);
    let title = ["retracted article ", "retracted "]
        .iter()
        .find_map(|it| title.strip_prefix(it))
        .unwrap_or(&title);
    if title.is_empty() {
        return None;
    }
    let family = article.authors.first().map(|it| fold_text(&it.family));
    // Sources differ in whether they write name particles.
    let last = family
        .as_deref()
        .and_then(|it| it.rsplit(' ').find(|it| !is_suffix(it)));
    let words = title.split(' ').count();
    match last {
        Some(last) if words >= MIN_TITLE_WORDS => Some(format!("title:{title}|{last}")),
        Some(last) => Some(format!("title:{title}|{last}|{}", article.year()?)),
        // Without an author only a long title identifies a paper.
        None if words >= 2 * MIN_TITLE_WORDS => Some(format!("title:{title}|")),
        None => None,
    }
}

fn is_suffix(word: &str) -> bool {
    matches!(word, "jr" | "sr" | "ii" | "iii" | "iv")
}

#[cfg(test)]
mod tests {
    use super::*;
    use deliberate_core::{Author, PartialDate};

    fn paper(title: &str, family: &str, year: &str) -> Article {
        Article {
            title: title.to_owned(),
            authors: vec![Author::person(family, "A.")],
            date: PartialDate::parse(year),
            ..Article::default()
        }
    }

    #[test]
    fn titles_are_compared_without_their_dress() {
        let a = paper(
            "RETRACTED: Über die  Näherung — von O’Brien",
            "van der Müller",
            "2001",
        );
        let b = paper(
            "Uber die naherung von O'Brien.",
            "Mu\u{308}ller Jr.",
            "2002",
        );
        assert_eq!(dedup_keys(&a), dedup_keys(&b));
    }

    #[test]
    fn short_titles_need_the_year() {
        let same = |a: &Article, b: &Article| dedup_keys(a) == dedup_keys(b);
        let old = paper("Editorial", "Smith", "2001");
        assert!(!same(&old, &paper("Editorial", "Smith", "2002")));
        assert!(same(&old, &paper("EDITORIAL", "Smith", "2001-05")));
        assert!(dedup_keys(&paper("Editorial", "Smith", "")).is_empty());
    }

    #[test]
    fn arxiv_dois_are_arxiv_ids() {
        let by_doi = Article {
            doi: deliberate_core::Doi::parse("10.48550/arXiv.1706.03762"),
            ..Article::default()
        };
        assert!(dedup_keys(&by_doi).contains(&"arxiv:1706.03762".to_owned()));
    }
}
