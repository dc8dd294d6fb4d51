//! The places papers are found at, one file each. A source turns a question into its own request
//! and the answer into [`Article`]s; what it can't do it says. Several are asked together in
//! `discover`.

pub(crate) mod api;
mod arxiv;
mod biorxiv;
mod crossref;
mod europe_pmc;
mod openalex;
mod pubmed;
mod semantic_scholar;

use std::{sync::Arc, time::Duration};

use deliberate_core::{Article, ArxivId, Doi, PartialDate};
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::http::{HttpClient, HttpClientError};

pub use arxiv::Arxiv;
pub use biorxiv::Biorxiv;
pub use crossref::Crossref;
pub use europe_pmc::EuropePmc;
pub use openalex::OpenAlex;
pub use pubmed::Pubmed;
pub use semantic_scholar::SemanticScholar;

/// What a source promises.
pub type SourceFuture<'a, T> = BoxFuture<'a, Result<T, HttpClientError>>;

/// A place papers are found at. Keeps no state of a question.
pub trait PaperSource: Send + Sync {
    /// Its name and what it can do.
    fn info(&self) -> SourceInfo;

    /// Papers that fit the question, best first.
    fn search<'a>(&'a self, query: &'a PaperQuery) -> SourceFuture<'a, SourceResult>;

    /// The paper of that name; `None` if the source does not know it, or knows no such names.
    fn look_up<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Option<Article>>;

    /// Papers that cite it, or that it cites. `None` if the source knows no citations.
    fn citation_links<'a>(
        &'a self,
        _id: &'a PaperId,
        _direction: CitationDirection,
        _limit: usize,
    ) -> SourceFuture<'a, Option<Vec<CitationLink>>> {
        Box::pin(async { Ok(None) })
    }

    /// What became of the paper since: corrections, retractions. `None` if the source does not say.
    fn notices<'a>(&'a self, _id: &'a PaperId) -> SourceFuture<'a, Option<Vec<PaperNotice>>> {
        Box::pin(async { Ok(None) })
    }

    /// Where its PDF may be read by everyone, if the source says; best first.
    fn open_pdfs<'a>(&'a self, _id: &'a PaperId) -> SourceFuture<'a, Vec<PdfLocation>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// What a source is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceInfo {
    /// Its name: `arxiv`.
    pub name: String,
    /// Its name for people: `arXiv`.
    pub title: String,
    /// What is in it, in one line.
    pub description: String,
    /// Whether it is searched by words; one that is not is read by dates and sifted here.
    pub by_words: bool,
    /// Whether a key was given.
    pub has_key: bool,
    /// What a key would change, if one can be had.
    pub key_hint: Option<String>,
}

/// What is asked of sources.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PaperQuery {
    /// Words of a question or a topic, as a person would type them. May be empty if there are
    /// `phrases` or `authors`.
    pub words: String,
    /// Keywords or phrases, any of which will do.
    pub phrases: Vec<String>,
    /// Names of authors, all of whom must have written it.
    pub authors: Vec<String>,
    /// The journal or conference.
    pub venue: Option<String>,
    /// Subject classes of the source: `cs.LG` of arXiv. Others pass over what they do not know.
    pub categories: Vec<String>,
    /// Not older than this.
    pub from: Option<PartialDate>,
    /// Not younger than this.
    pub to: Option<PartialDate>,
    /// How many at the most.
    pub limit: usize,
    /// In which order the source is asked for them.
    pub order: PaperOrder,
}

/// In which order papers are asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum PaperOrder {
    /// Those that fit best first.
    #[default]
    Relevance,
    /// The newest first.
    Newest,
}

/// What a source found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SourceResult {
    /// The papers, best first. Each names the source in [`Article::sources`].
    pub articles: Vec<Article>,
    /// How many there are in all, if it says.
    pub total: Option<u64>,
    /// What of the question it could not take into account: `venue`.
    pub ignored: Vec<&'static str>,
    /// How many of its records could not be read.
    pub skipped: u32,
    /// Whether all of it was kept from before.
    pub from_cache: bool,
}

/// What a paper is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PaperId {
    /// By its DOI.
    Doi(Doi),
    /// By its arXiv id.
    Arxiv(ArxivId),
    /// By its `PubMed` id.
    Pubmed(String),
    /// By its `PubMed` Central id, as `PMC123`.
    Pmc(String),
    /// By Semantic Scholar's id, 40 hex digits.
    SemanticScholar(String),
    /// By `OpenAlex`'s id, as `W123`.
    OpenAlex(String),
}

/// Which way citations are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CitationDirection {
    /// Papers that cite it.
    Citing,
    /// Papers it cites.
    Cited,
}

/// A paper at the other end of a citation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CitationLink {
    /// The paper.
    pub article: Article,
    /// The sentences in which it is cited, if the source has them.
    pub contexts: Vec<String>,
    /// Whether the source holds the citation for an important one.
    pub influential: Option<bool>,
}

/// Something that became of a paper.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PaperNotice {
    /// What.
    pub kind: PaperNoticeKind,
    /// When.
    pub date: Option<PartialDate>,
    /// The notice's own DOI.
    pub doi: Option<Doi>,
    /// Who says so.
    pub source: String,
}

/// What can become of a paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PaperNoticeKind {
    /// Taken back.
    Retraction,
    /// Taken back by the publisher or its authors under another name.
    Withdrawal,
    /// Doubted.
    ExpressionOfConcern,
    /// Mended.
    Correction,
    /// Something else, such as a new edition.
    Other,
}

/// Where a PDF is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PdfLocation {
    /// Its address.
    pub url: String,
    /// Who says so.
    pub source: String,
    /// Which version it is: `published`, `accepted`, `submitted`.
    pub version: Option<String>,
    /// Under which licence, if it is said.
    pub licence: Option<String>,
}

/// How a source is reached: what the settings say of it.
#[derive(Debug, Clone)]
pub struct SourceSettings {
    /// Its address in place of the usual one.
    pub base_url: Option<url::Url>,
    /// A key.
    pub key: Option<secrecy::SecretString>,
    /// An address to write to, for sources that ask for one.
    pub contact: Option<String>,
    /// How long answers are used again.
    pub cache_ttl: Duration,
}

/// Every source there is, each with what the settings say of its name.
pub fn all_sources(
    web: &HttpClient,
    settings: impl Fn(&str) -> SourceSettings,
) -> Vec<Arc<dyn PaperSource>> {
    let web = || web.clone();
    vec![
        Arc::new(Arxiv::new(web(), settings("arxiv"))),
        Arc::new(SemanticScholar::new(web(), settings("semantic_scholar"))),
        Arc::new(OpenAlex::new(web(), settings("openalex"))),
        Arc::new(Crossref::new(web(), settings("crossref"))),
        Arc::new(Pubmed::new(web(), settings("pubmed"))),
        Arc::new(EuropePmc::new(web(), settings("europe_pmc"))),
        Arc::new(Biorxiv::new(web(), settings("biorxiv"))),
        Arc::new(Biorxiv::new_medrxiv(web(), settings("medrxiv"))),
    ]
}

impl PaperId {
    /// Reads any of the names, in any of the forms people write them in.
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

/// The name of a paper out of the address of its page at one of the sources.
fn id_from_page_url(address: &str) -> Option<String> {
    let url = url::Url::parse(address).ok()?;
    // `…/PMC123?pdf=render` is the file.
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
