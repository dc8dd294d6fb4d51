//! What all sources need to make sense of answers: asking, text, JSON, XML, and what several say
//! in the same way. Knows no source by name.

pub(super) mod ask;
pub(super) mod clean;
pub(crate) mod fold;
pub(super) mod gather;
pub(super) mod json;
pub(super) mod names;
pub(super) mod sift;
pub(super) mod words;
pub(super) mod xml;

use deliberate_core::Article;

/// The last touch to every record: its source, what follows from what is known, and the bounds.
/// One without a title is none.
pub(super) fn finish_article(mut article: Article, source: &str) -> Option<Article> {
    if article.title.is_empty() {
        return None;
    }
    article.authors.truncate(clean::MAX_AUTHORS);
    article.keywords.truncate(clean::MAX_KEYWORDS);
    if article.arxiv_id.is_none() {
        article.arxiv_id = article
            .doi
            .as_ref()
            .and_then(deliberate_core::Doi::arxiv_id);
    }
    if clean::is_marked_retracted(&article.title) {
        article.retracted = Some(true);
    }
    article.pages = article.pages.as_deref().map(clean::normalize_pages);
    article.venue = article.venue.as_deref().map(clean::normalize_venue);
    article.language = article.language.as_deref().map(clean::normalize_language);
    article.url = article
        .url
        .or_else(|| article.doi.as_ref().map(deliberate_core::Doi::url));
    article.sources = vec![source.to_owned()];
    Some(article)
}
