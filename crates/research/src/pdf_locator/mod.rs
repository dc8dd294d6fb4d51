//! Where the PDF of a paper may be read by everyone, and fetching it. What is known without asking
//! comes first, then those who keep lists of open copies are asked, all at once; who had nothing
//! and who could not answer is told apart.
//!
//! Nothing here gets around a paywall: a link that nobody says is open is kept apart from those
//! that are.

mod ascii_fold;
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
pub(crate) use source_lookup::{has_pdf_locations, normalize_source_name};
pub use unpaywall::UnpaywallSettings;

use super::http::{HttpClient, HttpClientError};
use crate::sources::{PaperSource, PdfLocation};

/// Finds and fetches PDFs.
#[derive(Clone)]
pub struct PdfLocator {
    /// The way out.
    pub http_client: HttpClient,
    /// Who is asked, in any order.
    pub sources: Vec<Arc<dyn PaperSource>>,
    /// Whether and how Unpaywall is asked; it wants an address to write to.
    pub unpaywall: Option<UnpaywallSettings>,
    /// Where arXiv's PDFs are, in place of `https://arxiv.org/pdf/`.
    pub arxiv_pdf_base: Option<Url>,
}

/// What was found, and who was asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PdfLocations {
    /// Where it may be read by everyone, best first.
    pub places: Vec<PdfLocation>,
    /// Where it is said to be, perhaps behind a paywall: nobody says that it is open.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub doubtful: Vec<PdfLocation>,
    /// Who was asked, and what came of it.
    pub asked: Vec<SourceLookup>,
}

/// Someone who was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceLookup {
    /// Who.
    pub source: String,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: SourceLookupOutcome,
}

/// What came of asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum SourceLookupOutcome {
    /// So many places.
    Found {
        /// How many.
        places: usize,
    },
    /// It knows of none.
    Nothing,
    /// It is asked too often.
    RateLimited {
        /// Ask again in so many seconds.
        wait_seconds: u64,
    },
    /// It could not say.
    Failed {
        /// Why.
        why: String,
    },
}

/// Places beyond these are not tried by anyone.
const MAX_LOCATIONS: usize = 16;

/// Someone's answer.
pub(crate) type SourceLookupFuture<'a> =
    BoxFuture<'a, (String, Result<Vec<PdfLocation>, HttpClientError>)>;

impl PdfLocator {
    /// Asks nobody but arXiv, until it is told of others.
    pub fn new(http_client: HttpClient) -> Self {
        Self {
            http_client,
            sources: Vec::new(),
            unpaywall: None,
            arxiv_pdf_base: None,
        }
    }

    /// What is known without asking anyone.
    pub fn locate_offline(&self, article: &Article) -> PdfLocations {
        let mut located = PdfLocations::default();
        if let Some(place) = derived_urls::arxiv_pdf(article, self.arxiv_pdf_base.as_ref()) {
            located.add_lookup("arxiv", Ok(vec![place]), &self.http_client);
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

    /// Pages where a person may look for a paper of which nobody knows an open PDF, each once.
    pub fn landing_pages(&self, article: &Article) -> Vec<String> {
        let mut pages = derived_urls::landing_pages(article);
        let mut seen = HashSet::new();
        pages.retain(|page| {
            let permitted = Url::parse(page).is_ok_and(|it| self.http_client.permits(&it));
            permitted && url_key(page).is_some_and(|it| seen.insert(it))
        });
        pages
    }

    /// Everywhere the PDF is said to be open. Those who keep lists are asked all at once.
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
    /// Takes over what someone told. Addresses that lead into this machine or its net are left
    /// out: whoever reads the answer may have means of their own to ask them.
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
                    why: "it names only addresses that may not be asked; they are left out"
                        .to_owned(),
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

    /// Drops what is no address, and what is there twice; the first one counts, but what nobody is
    /// known to have told is owed to the one who tells it, too.
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

/// Crossref lists the publisher's file whether it is open or not; a licence for everyone says that
/// it is.
fn is_open_access(place: &PdfLocation) -> bool {
    let licence = place.licence.as_deref().unwrap_or_default();
    place.source != "crossref" || licence.contains("creativecommons.org")
}

/// Whether a place is an address that the guard lets through.
fn is_permitted(web: &HttpClient, place: &PdfLocation) -> bool {
    Url::parse(place.url.trim()).is_ok_and(|it| web.permits(&it))
}

/// The form in which two addresses of one file are the same.
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

/// A place, if the address is one.
pub(crate) fn pdf_location(url: impl Into<String>, source: &str) -> PdfLocation {
    PdfLocation {
        url: url.into(),
        source: source.to_owned(),
        version: None,
        licence: None,
    }
}
