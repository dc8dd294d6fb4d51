//! Asks the sources for PDFs, in the order in which they are trusted.

use std::sync::Arc;

use deliberate_core::Article;
use futures::FutureExt as _;

use super::SourceLookupFuture;
use crate::sources::{PaperSource, rank_sources};

/// Asks every source that has PDFs and knows the paper by one of its identifiers.
pub(super) fn query_sources<'a>(
    sources: &'a [Arc<dyn PaperSource>],
    article: &Article,
) -> Vec<SourceLookupFuture<'a>> {
    let ranked = rank_sources(sources, |it| it.pdf_rank()).into_iter();
    let ask = |source: &'a Arc<dyn PaperSource>| {
        let id = source.pdf_lookup_id(article)?;
        Some(async move { (source.info().name, source.open_pdfs(&id).await) }.boxed())
    };
    ranked.filter_map(ask).collect()
}

/// Normalizes a source's name for comparison: people write `Semantic Scholar`, `semantic-scholar`
/// and `arXiv`.
pub(crate) fn normalize_source_name(name: &str) -> String {
    let joins = |it: char| it.is_whitespace() || matches!(it, '-' | '_');
    let letters = name.chars().filter(|it| !joins(*it));
    letters.flat_map(char::to_lowercase).collect()
}
