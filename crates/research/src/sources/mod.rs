//! The sources of papers, one file each. A source turns a [`PaperQuery`] into a request to its own
//! API and the response into [`Article`]s. Searching several sources together is the task of
//! `discovery`; a source must not know the others.

pub(crate) mod api;
pub(crate) mod arxiv;
pub(crate) mod biorxiv;
pub(crate) mod crossref;
mod definition;
pub(crate) mod europe_pmc;
pub(crate) mod openalex;
pub(crate) mod pubmed;
pub(crate) mod semantic_scholar;

use std::{sync::Arc, time::Duration};

use deliberate_core::{Article, ArxivId, Doi, PartialDate};
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::http::HttpClientError;

pub use arxiv::Arxiv;
pub use biorxiv::Biorxiv;
pub use crossref::Crossref;
pub use definition::{SOURCE_NAMES, SOURCES, SourceDefinition, all_sources, find_definition};
pub use europe_pmc::EuropePmc;
pub use openalex::OpenAlex;
pub use pubmed::Pubmed;
pub use semantic_scholar::SemanticScholar;

/// The future returned by the methods of [`PaperSource`].
pub type SourceFuture<'a, T> = BoxFuture<'a, Result<T, HttpClientError>>;

/// A source of papers. It keeps no state between requests.
pub trait PaperSource: Send + Sync {
    /// The source's name and description.
    fn info(&self) -> SourceInfo;

    /// Finds papers that match the query, best match first.
    fn search<'a>(&'a self, query: &'a PaperQuery) -> SourceFuture<'a, SourceResult>;

    /// Finds the paper with this identifier; `None` if the source does not know it or its kind.
    fn look_up<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Option<Article>>;

    /// Finds the papers that cite a paper or that it cites; `None` if the source does not know.
    fn citation_links<'a>(
        &'a self,
        _id: &'a PaperId,
        _direction: CitationDirection,
        _limit: usize,
    ) -> SourceFuture<'a, Option<Vec<CitationLink>>> {
        Box::pin(async { Ok(None) })
    }

    /// Finds corrections and retractions of a paper; `None` if the source does not know.
    fn notices<'a>(&'a self, _id: &'a PaperId) -> SourceFuture<'a, Option<Vec<PaperNotice>>> {
        Box::pin(async { Ok(None) })
    }

    /// Finds the open-access PDFs of a paper, best first.
    fn open_pdfs<'a>(&'a self, _id: &'a PaperId) -> SourceFuture<'a, Vec<PdfLocation>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// The key of the rate limit that the source's requests share, by default the source's name.
    fn rate_limit_key(&self) -> String {
        self.info().name
    }

    /// How far the source's metadata is trusted for a paper with this identifier: 0 is merged
    /// first. `None` if the source is not asked for such identifiers.
    fn metadata_rank(&self, _id: &PaperId) -> Option<u8> {
        None
    }

    /// The source's place, from 0, among those that confirm citations: they are searched by title
    /// and asked for notices. `None` if the source takes no part in it.
    fn citation_check_rank(&self) -> Option<u8> {
        None
    }

    /// Whether the source answers [`citation_links`](Self::citation_links).
    fn has_citation_links(&self) -> bool {
        false
    }

    /// Whether the source's citation links come with the citing sentences.
    fn has_citation_contexts(&self) -> bool {
        false
    }

    /// How far the source's [`open_pdfs`](Self::open_pdfs) are trusted: 0 comes first. `None` if
    /// the source need not be asked: it has no PDFs, or their URLs follow from the identifier.
    fn pdf_rank(&self) -> Option<u8> {
        None
    }

    /// The identifier under which the source is asked for a paper's PDFs.
    fn pdf_lookup_id(&self, article: &Article) -> Option<PaperId> {
        let doi = article.doi.clone().map(PaperId::Doi);
        let arxiv = article.arxiv_id.clone().map(PaperId::Arxiv);
        let pubmed = article.pmid.clone().map(PaperId::Pubmed);
        let pmc = article.pmcid.clone().map(PaperId::Pmc);
        doi.or(arxiv).or(pubmed).or(pmc)
    }
}

/// Selects the sources that have a rank and sorts them by it; equal ranks keep their order.
pub(crate) fn rank_sources(
    sources: &[Arc<dyn PaperSource>],
    rank: impl Fn(&dyn PaperSource) -> Option<u8>,
) -> Vec<&Arc<dyn PaperSource>> {
    let mut ranked: Vec<(u8, &Arc<dyn PaperSource>)> = sources
        .iter()
        .filter_map(|source| Some((rank(source.as_ref())?, source)))
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, source)| source).collect()
}

/// The description of a source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceInfo {
    /// Its name: `arxiv`.
    pub name: String,
    /// Its display name: `arXiv`.
    pub title: String,
    /// Its content, in one line.
    pub description: String,
    /// Searched by words; otherwise read by date and filtered here.
    pub by_words: bool,
    /// Whether an API key is set.
    pub has_key: bool,
    /// The effect of an API key, if there is one.
    pub key_hint: Option<String>,
}

/// A search for papers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PaperQuery {
    /// The words of a question or topic, as a person would type them. May be empty if there are
    /// `phrases` or `authors`.
    pub words: String,
    /// Keywords or phrases, any of which suffices.
    pub phrases: Vec<String>,
    /// Names of authors, all of whom are required.
    pub authors: Vec<String>,
    /// The journal or conference.
    pub venue: Option<String>,
    /// Subject classes such as arXiv's `cs.LG`. Sources ignore classes that they do not know.
    pub categories: Vec<String>,
    /// The earliest date of publication.
    pub from: Option<PartialDate>,
    /// The latest date of publication.
    pub to: Option<PartialDate>,
    /// The most papers to return.
    pub limit: usize,
    pub order: PaperOrder,
}

/// The order of search results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum PaperOrder {
    /// Best match first.
    #[default]
    Relevance,
    /// Newest first.
    Newest,
}

/// The result of a search of one source.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SourceResult {
    /// The papers, best match first. Each names the source in [`Article::sources`].
    pub articles: Vec<Article>,
    /// The number of matches at the source, if it says.
    pub total: Option<u64>,
    /// The criteria of the query that the source could not apply, such as `venue`.
    pub ignored: Vec<&'static str>,
    /// The number of records that could not be read.
    pub skipped: u32,
    /// Whether all responses came from the cache.
    pub from_cache: bool,
}

/// An identifier of a paper.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PaperId {
    Doi(Doi),
    Arxiv(ArxivId),
    /// A `PubMed` ID.
    Pubmed(String),
    /// A `PubMed` Central ID such as `PMC123`.
    Pmc(String),
    /// A Semantic Scholar ID, 40 hex digits.
    SemanticScholar(String),
    /// An `OpenAlex` ID such as `W123`.
    OpenAlex(String),
}

/// The direction in which citations are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CitationDirection {
    /// The papers that cite the given one.
    Citing,
    /// The papers that the given one cites.
    Cited,
}

/// A paper that cites the given one or is cited by it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CitationLink {
    pub article: Article,
    /// The citing sentences, if the source has them.
    pub contexts: Vec<String>,
    /// Whether the source regards the citation as influential.
    pub influential: Option<bool>,
}

/// A correction or retraction of a paper.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PaperNotice {
    pub kind: PaperNoticeKind,
    pub date: Option<PartialDate>,
    /// The notice's own DOI.
    pub doi: Option<Doi>,
    /// The source that reports it.
    pub source: String,
}

/// The kind of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PaperNoticeKind {
    Retraction,
    /// A retraction under another name, by the publisher or the authors.
    Withdrawal,
    ExpressionOfConcern,
    Correction,
    /// Anything else, such as a new edition.
    Other,
}

/// The location of a PDF.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PdfLocation {
    pub url: String,
    /// The source that reports it.
    pub source: String,
    /// `published`, `accepted` or `submitted`.
    pub version: Option<String>,
    /// The licence, if it is known.
    pub licence: Option<String>,
}

/// The settings of one source.
#[derive(Debug, Clone)]
pub struct SourceSettings {
    /// The address of the API in place of the default one.
    pub base_url: Option<url::Url>,
    /// The API key.
    pub key: Option<secrecy::SecretString>,
    /// The e-mail address that is sent to sources that ask for one.
    pub contact: Option<String>,
    /// How long responses stay in the cache.
    pub cache_ttl: Duration,
}

impl PaperId {
    /// Parses an identifier of any kind in any common form.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(doi) = Doi::parse(text) {
            return Some(doi.arxiv_id().map_or(Self::Doi(doi), Self::Arxiv));
        }
        if let Some(id) = ArxivId::parse(text) {
            return Some(Self::Arxiv(id));
        }
        let lower = text.to_lowercase();
        let digits =
            |it: &str| !it.is_empty() && it.len() < 12 && it.bytes().all(|it| it.is_ascii_digit());
        if let Some(number) = lower.strip_prefix("pmc").filter(|it| digits(it)) {
            return Some(Self::Pmc(format!("PMC{number}")));
        }
        if let Some(number) = lower
            .strip_prefix("pmid:")
            .map(str::trim)
            .filter(|it| digits(it))
        {
            return Some(Self::Pubmed(number.to_owned()));
        }
        if let Some(number) = lower
            .strip_prefix('w')
            .filter(|it| digits(it) && it.len() > 5)
        {
            return Some(Self::OpenAlex(format!("W{number}")));
        }
        let hex = lower.len() == 40 && lower.bytes().all(|it| it.is_ascii_hexdigit());
        if hex {
            return Some(Self::SemanticScholar(lower));
        }
        id_from_page_url(text).and_then(|it| Self::parse(&it))
    }
}

/// Extracts the identifier from the URL of a paper's page at one of the sources.
fn id_from_page_url(address: &str) -> Option<String> {
    let url = url::Url::parse(address).ok()?;
    // `…/PMC123?pdf=render` is the file, not the page.
    if url.query().is_some_and(|it| it.contains("pdf")) {
        return None;
    }
    let host = url.host_str()?;
    let host = host.strip_prefix("www.").unwrap_or(host);
    let mut parts = url.path_segments()?.rev().filter(|it| !it.is_empty());
    let last = parts.next()?;
    let medical = || last.starts_with(|it: char| it.is_ascii_digit());
    match host {
        "pubmed.ncbi.nlm.nih.gov" => Some(format!("pmid:{last}")),
        "europepmc.org" if medical() && parts.next() == Some("MED") => Some(format!("pmid:{last}")),
        "europepmc.org"
        | "pmc.ncbi.nlm.nih.gov"
        | "ncbi.nlm.nih.gov"
        | "openalex.org"
        | "api.openalex.org"
        | "semanticscholar.org" => Some(last.to_owned()),
        _ => None,
    }
}
