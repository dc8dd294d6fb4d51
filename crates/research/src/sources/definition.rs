//! The list of sources. Adding a source takes one file beside this one and one entry in
//! [`SOURCES`].

use std::sync::Arc;

use super::{
    PaperSource, SourceSettings, arxiv, biorxiv, crossref, europe_pmc, openalex, pubmed,
    semantic_scholar,
};
use crate::http::HttpClient;

/// The constructor of a source and the facts that are needed while the source is disabled.
///
/// Articles in the collection keep the names of the sources that found them, whether or not these
/// are still enabled. Everything else a source can do is a method of [`PaperSource`].
#[derive(Debug, Clone, Copy)]
pub struct SourceDefinition {
    /// The source's name in settings, arguments and articles, such as `arxiv`.
    pub name: &'static str,
    /// The address of the source's API when the settings name no other.
    pub default_url: &'static str,
    /// Whether the source is searched by words. The others are read by date and filtered here.
    pub by_words: bool,
    /// Whether the source has subject classes such as arXiv's `cs.LG`.
    pub has_categories: bool,
    /// Whether the source lists the publisher's PDF even if it is behind a paywall.
    pub lists_paywalled_pdfs: bool,
    pub(super) create: fn(HttpClient, SourceSettings) -> Arc<dyn PaperSource>,
}

/// All sources, in the order in which they are listed and searched.
pub const SOURCES: &[SourceDefinition] = &[
    arxiv::DEFINITION,
    semantic_scholar::DEFINITION,
    openalex::DEFINITION,
    crossref::DEFINITION,
    pubmed::DEFINITION,
    europe_pmc::DEFINITION,
    biorxiv::DEFINITION,
    biorxiv::MEDRXIV,
];

/// The names of all sources, in the order of [`SOURCES`].
#[expect(
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where a wrong index is a build error"
)]
pub static SOURCE_NAMES: [&str; SOURCES.len()] = {
    let mut names = [""; SOURCES.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = SOURCES[at].name;
        at += 1;
    }
    names
};

impl SourceDefinition {
    /// A source that is searched by words, has no subject classes, and lists open PDFs only.
    pub(super) const fn new(
        name: &'static str,
        default_url: &'static str,
        create: fn(HttpClient, SourceSettings) -> Arc<dyn PaperSource>,
    ) -> Self {
        Self {
            name,
            default_url,
            by_words: true,
            has_categories: false,
            lists_paywalled_pdfs: false,
            create,
        }
    }
}

/// Creates every source with the settings for its name.
pub fn all_sources(
    http_client: &HttpClient,
    settings: impl Fn(&str) -> SourceSettings,
) -> Vec<Arc<dyn PaperSource>> {
    let create = |it: &SourceDefinition| (it.create)(http_client.clone(), settings(it.name));
    SOURCES.iter().map(create).collect()
}

/// Finds the definition of the source with exactly this name.
pub fn find_definition(name: &str) -> Option<&'static SourceDefinition> {
    SOURCES.iter().find(|it| it.name == name)
}
