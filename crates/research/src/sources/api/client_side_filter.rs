//! Filters search results by the criteria that a source's API does not support.

use deliberate_core::Article;

use super::{client::clamp_limit, query_terms::QueryTerms, text_folding::fold_text};

/// How many times more papers are requested when some will be filtered out.
const OVERFETCH_FACTOR: usize = 4;

/// The number of papers to request so that `limit` are likely to remain after filtering.
pub(crate) fn overfetch_limit(limit: usize, will_sift: bool) -> usize {
    if will_sift {
        clamp_limit(limit.saturating_mul(OVERFETCH_FACTOR))
    } else {
        limit
    }
}

/// Whether the article has all requested authors.
pub(crate) fn matches_authors(article: &Article, asked: &QueryTerms) -> bool {
    asked.authors.iter().all(|wanted| {
        let family = fold_text(&wanted.family);
        let initial = wanted.given.as_deref().and_then(first_letter);
        article.authors.iter().any(|it| {
            let theirs = it.given.as_deref().and_then(first_letter);
            let fits = initial.is_none() || theirs.is_none() || initial == theirs;
            let theirs = fold_text(&it.family);
            fits && (theirs == family || theirs.ends_with(&format!(" {family}")))
        })
    })
}

/// Whether the article appeared in the requested venue.
pub(crate) fn matches_venue(article: &Article, asked: &QueryTerms) -> bool {
    let Some(venue) = &asked.venue else {
        return true;
    };
    let theirs = fold_text(article.venue.as_deref().unwrap_or_default());
    theirs.contains(&fold_text(venue))
}

/// Scores the match of words and phrases; 0 if a phrase or too many words are missing.
pub(crate) fn match_score(article: &Article, asked: &QueryTerms) -> usize {
    let title = pad_words(&article.title);
    let rest = pad_words(article.summary.as_deref().unwrap_or_default());
    let keywords = pad_words(&article.keywords.join(" "));
    let weight = |it: &str| {
        let it = fold_text(it);
        let begins = format!(" {it}");
        match (
            title.contains(&begins),
            rest.contains(&begins),
            keywords.contains(&begins),
        ) {
            (true, _, _) => 3,
            (_, true, _) | (_, _, true) => 1,
            _ => 0,
        }
    };
    let phrases: usize = asked.phrases.iter().map(|it| weight(it)).sum();
    if !asked.phrases.is_empty() && phrases == 0 {
        return 0;
    }
    let telling = asked.content_words();
    let found: Vec<usize> = telling
        .iter()
        .map(|it| weight(it))
        .filter(|it| *it > 0)
        .collect();
    // A paper that answers a question contains at least two thirds of its words.
    if found.len() * 3 < telling.len() * 2 {
        return 0;
    }
    1 + phrases + found.iter().sum::<usize>()
}

fn pad_words(text: &str) -> String {
    format!(" {} ", fold_text(text))
}

fn first_letter(text: &str) -> Option<char> {
    text.chars()
        .find(|it| it.is_alphabetic())
        .and_then(|it| it.to_lowercase().next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::PaperQuery;
    use deliberate_core::Author;

    fn query_terms(words: &str, phrases: &[&str], authors: &[&str]) -> QueryTerms {
        let all = |them: &[&str]| them.iter().map(|it| (*it).to_owned()).collect();
        QueryTerms::from_query(&PaperQuery {
            words: words.to_owned(),
            phrases: all(phrases),
            authors: all(authors),
            ..PaperQuery::default()
        })
    }

    #[test]
    fn words_and_phrases_are_found() {
        let paper = Article {
            title: "Single-cell sequencing of neurons".to_owned(),
            summary: Some("We study the mouse brain.".to_owned()),
            ..Article::default()
        };
        assert!(match_score(&paper, &query_terms("mouse neuron", &[], &[])) > 0);
        assert_eq!(
            match_score(&paper, &query_terms("quantum gravity", &[], &[])),
            0
        );
        assert!(match_score(&paper, &query_terms("", &["single cell"], &[])) > 0);
        assert_eq!(
            match_score(&paper, &query_terms("mouse", &["cell single"], &[])),
            0
        );
        assert!(match_score(&paper, &query_terms("", &[], &[])) > 0);
    }

    #[test]
    fn authors_are_found_by_initial() {
        let paper = Article {
            authors: vec![Author::person("van der Maaten", "Laurens")],
            ..Article::default()
        };
        for (name, found) in [
            ("Maaten", true),
            ("L. van der Maaten", true),
            ("Paul Maaten", false),
            ("Aaten", false),
            ("Máaten", true),
        ] {
            assert_eq!(
                matches_authors(&paper, &query_terms("", &[], &[name])),
                found,
                "{name}"
            );
        }
    }
}
