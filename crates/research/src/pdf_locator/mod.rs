//! Locates and downloads open-access PDFs. Locations known from the metadata come first; then the
//! sources and Unpaywall are asked concurrently. Sources that found nothing and sources that failed
//! are reported separately.
//!
//! It must not circumvent paywalls: locations that no source calls open are listed separately.

mod derived_urls;
mod fetch;
mod file_name;
mod source_lookup;
mod unpaywall;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use deliberate_core::Article;
use futures::future::{BoxFuture, join_all};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

pub use fetch::{FetchedPdf, PdfFetchLimits};
pub use file_name::{file_name_for, safe_file_name};
pub(crate) use source_lookup::normalize_source_name;
pub use unpaywall::UnpaywallSettings;

use super::http::{HttpClient, HttpClientError};
use crate::sources::{PaperSource, PdfLocation, arxiv, find_definition};

/// Locates and downloads PDFs.
#[derive(Clone)]
pub struct PdfLocator {
    pub http_client: HttpClient,
    /// The sources to ask, in any order.
    pub sources: Vec<Arc<dyn PaperSource>>,
    /// The settings of Unpaywall, which needs a contact address; `None` skips it.
    pub unpaywall: Option<UnpaywallSettings>,
    /// The base address of arXiv's PDFs in place of `https://arxiv.org/pdf/`.
    pub arxiv_pdf_base: Option<Url>,
}

/// The locations of a PDF and the outcome of each lookup.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PdfLocations {
    /// Open-access locations, best first.
    pub places: Vec<PdfLocation>,
    /// Locations that may be behind a paywall.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub doubtful: Vec<PdfLocation>,
    /// The sources asked and their outcomes.
    pub asked: Vec<SourceLookup>,
}

/// A lookup at one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceLookup {
    pub source: String,
    #[serde(flatten)]
    pub outcome: SourceLookupOutcome,
}

/// The outcome of a lookup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum SourceLookupOutcome {
    /// It has locations.
    Found {
        /// How many.
        places: usize,
    },
    /// It has none.
    Nothing,
    /// It is rate limited.
    RateLimited {
        /// Seconds to wait.
        wait_seconds: u64,
    },
    /// It failed.
    Failed {
        /// The reason.
        why: String,
    },
}

/// The most locations that are kept.
const MAX_LOCATIONS: usize = 16;

/// A running lookup: the source's name and its locations.
pub(crate) type SourceLookupFuture<'a> =
    BoxFuture<'a, (String, Result<Vec<PdfLocation>, HttpClientError>)>;

impl PdfLocator {
    /// A locator without sources, which derives arXiv's locations only.
    pub fn new(http_client: HttpClient) -> Self {
        Self {
            http_client,
            sources: Vec::new(),
            unpaywall: None,
            arxiv_pdf_base: None,
        }
    }

    /// The names of everything that is asked for PDFs, whether or not it is a source of papers.
    pub(crate) fn source_names(&self) -> Vec<String> {
        let mut names = vec![arxiv::DEFINITION.name.to_owned()];
        names.extend(self.unpaywall.as_ref().map(|_| unpaywall::NAME.to_owned()));
        let with_pdfs = self.sources.iter().filter(|it| it.pdf_rank().is_some());
        names.extend(with_pdfs.map(|it| it.info().name));
        names
    }

    /// The locations that are known without a request.
    pub fn locate_offline(&self, article: &Article) -> PdfLocations {
        let mut located = PdfLocations::default();
        if let Some(place) = derived_urls::arxiv_pdf(article, self.arxiv_pdf_base.as_ref()) {
            located.add_lookup(arxiv::DEFINITION.name, Ok(vec![place]), &self.http_client);
        }
        let (open, doubtful) = derived_urls::record_urls(article);
        located.places.extend(open);
        located.doubtful.extend(doubtful);
        located.places.extend(derived_urls::derive_urls(article));
        located
            .places
            .retain(|it| is_permitted(&self.http_client, it));
        located
            .doubtful
            .retain(|it| is_permitted(&self.http_client, it));
        located.deduplicate();
        located
    }

    /// The web pages for a paper without a known open PDF, without duplicates.
    pub fn landing_pages(&self, article: &Article) -> Vec<String> {
        let mut pages = derived_urls::landing_pages(article);
        let mut seen = HashSet::new();
        pages.retain(|page| {
            let permitted = Url::parse(page).is_ok_and(|it| self.http_client.permits(&it));
            permitted && url_key(page).is_some_and(|it| seen.insert(it))
        });
        pages
    }

    /// All open locations of a PDF. The sources are asked concurrently.
    pub async fn locate(&self, article: &Article) -> PdfLocations {
        let mut located = self.locate_offline(article);
        let mut asking: Vec<SourceLookupFuture<'_>> = Vec::new();
        if let Some(settings) = &self.unpaywall
            && let Some(doi) = &article.doi
        {
            asking.push(unpaywall::look_up(&self.http_client, settings, doi));
        }
        asking.extend(source_lookup::query_sources(&self.sources, article));
        for (source, told) in join_all(asking).await {
            located.add_lookup(&source, told, &self.http_client);
        }
        located.deduplicate();
        located
    }
}

impl PdfLocations {
    /// Adds the result of a lookup. URLs of this machine or its network are omitted, because the
    /// caller could request them itself.
    fn add_lookup(
        &mut self,
        source: &str,
        told: Result<Vec<PdfLocation>, HttpClientError>,
        web: &HttpClient,
    ) {
        let outcome = match told {
            Ok(places) if places.is_empty() => SourceLookupOutcome::Nothing,
            Ok(places) if !places.iter().any(|it| is_permitted(web, it)) => {
                SourceLookupOutcome::Failed {
                    why: "it names only blocked URLs; they are omitted".to_owned(),
                }
            }
            Ok(mut places) => {
                places.retain(|it| is_permitted(web, it));
                let count = places.len();
                let (open, doubtful): (Vec<_>, Vec<_>) =
                    places.into_iter().partition(is_open_access);
                self.places.extend(open);
                self.doubtful.extend(doubtful);
                SourceLookupOutcome::Found { places: count }
            }
            Err(HttpClientError::NotFound { .. }) => SourceLookupOutcome::Nothing,
            Err(HttpClientError::RateLimited { wait, .. }) => SourceLookupOutcome::RateLimited {
                wait_seconds: wait.as_secs().max(1),
            },
            Err(error) => SourceLookupOutcome::Failed {
                why: error.to_string(),
            },
        };
        self.asked.push(SourceLookup {
            source: source.to_owned(),
            outcome,
        });
    }

    /// Removes invalid URLs and duplicates. The first location of a URL is kept, except that a
    /// source replaces [`derived_urls::RECORD_SOURCE`].
    fn deduplicate(&mut self) {
        let told = std::mem::take(&mut self.places);
        let mut seen: HashMap<String, usize> = HashMap::new();
        for place in told {
            let Some(form) = url_key(&place.url) else {
                continue;
            };
            let at = *seen.entry(form).or_insert(self.places.len());
            match self.places.get_mut(at) {
                Some(known) if known.source == derived_urls::RECORD_SOURCE => *known = place,
                Some(_) => {}
                None => self.places.push(place),
            }
        }
        self.doubtful.retain(|place| {
            let form = url_key(&place.url);
            form.is_some_and(|it| seen.insert(it, usize::MAX).is_none())
        });
        self.places.truncate(MAX_LOCATIONS);
        self.doubtful.truncate(MAX_LOCATIONS);
    }
}

/// Whether a location is open. Some sources list the publisher's PDF even behind a paywall; there
/// only a Creative Commons licence shows that it is open.
fn is_open_access(location: &PdfLocation) -> bool {
    let licence = location.licence.as_deref().unwrap_or_default();
    !lists_paywalled_pdfs(&location.source) || licence.contains("creativecommons.org")
}

/// Whether a source lists the publisher's PDF even if it is behind a paywall.
fn lists_paywalled_pdfs(source: &str) -> bool {
    find_definition(source).is_some_and(|it| it.lists_paywalled_pdfs)
}

/// Whether a location is a URL that the SSRF guard permits.
fn is_permitted(web: &HttpClient, location: &PdfLocation) -> bool {
    Url::parse(location.url.trim()).is_ok_and(|it| web.permits(&it))
}

/// The normalized form of a URL, by which duplicates are found.
fn url_key(url: &str) -> Option<String> {
    let url = Url::parse(url.trim()).ok()?;
    matches!(url.scheme(), "http" | "https").then_some(())?;
    let host = url.host_str()?;
    let host = host.strip_prefix("www.").unwrap_or(host);
    let path = url.path().trim_end_matches('/');
    let path = match host {
        "arxiv.org" | "export.arxiv.org" => path.strip_suffix(".pdf").unwrap_or(path),
        _ => path,
    };
    let port = url.port().unwrap_or_default();
    Some(format!(
        "{host}:{port}{path}?{}",
        url.query().unwrap_or_default()
    ))
}

/// A location without version and licence.
pub(crate) fn pdf_location(url: impl Into<String>, source: &str) -> PdfLocation {
    PdfLocation {
        url: url.into(),
        source: source.to_owned(),
        version: None,
        licence: None,
    }
}
