//! The parts that all sources share: API client, text cleanup, JSON, XML, pagination, query terms.
//! It must not know any source by name.

pub(super) mod author_names;
pub(super) mod client;
pub(super) mod client_side_filter;
pub(super) mod json;
pub(super) mod pagination;
pub(super) mod query_terms;
pub(super) mod text_cleanup;
pub(crate) mod text_folding;
pub(super) mod xml;

use deliberate_core::Article;

/// Completes a record: adds its source and derived fields, and applies the length limits. `None` if
/// the record has no title.
pub(super) fn finish_article(mut article: Article, source: &str) -> Option<Article> {
    if article.title.is_empty() {
        return None;
    }
    article.authors.truncate(text_cleanup::MAX_AUTHORS);
    article.keywords.truncate(text_cleanup::MAX_KEYWORDS);
    if article.arxiv_id.is_none() {
        article.arxiv_id = article
            .doi
            .as_ref()
            .and_then(deliberate_core::Doi::arxiv_id);
    }
    if text_cleanup::is_marked_retracted(&article.title) {
        article.retracted = Some(true);
    }
    article.pages = article.pages.as_deref().map(text_cleanup::normalize_pages);
    article.venue = article.venue.as_deref().map(text_cleanup::normalize_venue);
    article.language = article
        .language
        .as_deref()
        .map(text_cleanup::normalize_language);
    article.url = article
        .url
        .or_else(|| article.doi.as_ref().map(deliberate_core::Doi::url));
    article.sources = vec![source.to_owned()];
    Some(article)
}
