//! Where the PDF of a paper may be read by everyone, and fetching it. What is known without asking
//! comes first, then those who keep lists of open copies are asked, all at once; who had nothing
//! and who could not answer is told apart.
//!
//! Nothing here gets around a paywall: a link that nobody says is open is kept apart from those
//! that are.

mod ask;
mod derive;
mod fetch;
mod file_name;
mod fold;
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

pub(crate) use ask::{knows_files, letters_of};
pub use fetch::{FetchLimits, Obtained};
pub use file_name::{file_name_for, safe_file_name};
pub use unpaywall::UnpaywallSettings;

use crate::{
    sources::{PdfPlace, Source},
    web::{Web, WebError},
};

/// Finds and fetches PDFs.
#[derive(Clone)]
pub struct Locator {
    /// The way out.
    pub web: Web,
    /// Who is asked, in any order.
    pub sources: Vec<Arc<dyn Source>>,
    /// Whether and how Unpaywall is asked; it wants an address to write to.
    pub unpaywall: Option<UnpaywallSettings>,
    /// Where arXiv's PDFs are, in place of `https://arxiv.org/pdf/`.
    pub arxiv_pdfs: Option<Url>,
}

/// What was found, and who was asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Located {
    /// Where it may be read by everyone, best first.
    pub places: Vec<PdfPlace>,
    /// Where it is said to be, perhaps behind a paywall: nobody says that it is open.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub doubtful: Vec<PdfPlace>,
    /// Who was asked, and what came of it.
    pub asked: Vec<Asked>,
}

/// Someone who was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// Who.
    pub source: String,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What came of asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
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
const MOST_PLACES: usize = 16;

/// Someone's answer.
pub(crate) type Told<'a> = BoxFuture<'a, (String, Result<Vec<PdfPlace>, WebError>)>;

impl Locator {
    /// Asks nobody but arXiv, until it is told of others.
    pub fn new(web: Web) -> Self {
        Self {
            web,
            sources: Vec::new(),
            unpaywall: None,
            arxiv_pdfs: None,
        }
    }

    /// What is known without asking anyone.
    pub fn nearest(&self, article: &Article) -> Located {
        let mut located = Located::default();
        if let Some(place) = derive::arxiv(article, self.arxiv_pdfs.as_ref()) {
            located.add("arxiv", Ok(vec![place]), &self.web);
        }
        let (open, doubtful) = derive::given(article);
        located.places.extend(open);
        located.doubtful.extend(doubtful);
        located.places.extend(derive::derived(article));
        located.places.retain(|it| may_be_asked(&self.web, it));
        located.doubtful.retain(|it| may_be_asked(&self.web, it));
        located.tidy();
        located
    }

    /// Pages where a person may look for a paper of which nobody knows an open PDF, each once.
    pub fn pages(&self, article: &Article) -> Vec<String> {
        let mut pages = derive::pages(article);
        let mut seen = HashSet::new();
        pages.retain(|page| {
            let permitted = Url::parse(page).is_ok_and(|it| self.web.permits(&it));
            permitted && same_form(page).is_some_and(|it| seen.insert(it))
        });
        pages
    }

    /// Everywhere the PDF is said to be open. Those who keep lists are asked all at once.
    pub async fn locate(&self, article: &Article) -> Located {
        let mut located = self.nearest(article);
        let mut asking: Vec<Told<'_>> = Vec::new();
        if let Some(settings) = &self.unpaywall
            && let Some(doi) = &article.doi
        {
            asking.push(unpaywall::ask(&self.web, settings, doi));
        }
        asking.extend(ask::all(&self.sources, article));
        for (source, told) in join_all(asking).await {
            located.add(&source, told, &self.web);
        }
        located.tidy();
        located
    }
}

impl Located {
    /// Takes over what someone told. Addresses that lead into this machine or its net are left
    /// out: whoever reads the answer may have means of their own to ask them.
    fn add(&mut self, source: &str, told: Result<Vec<PdfPlace>, WebError>, web: &Web) {
        let outcome = match told {
            Ok(places) if places.is_empty() => Outcome::Nothing,
            Ok(places) if !places.iter().any(|it| may_be_asked(web, it)) => Outcome::Failed {
                why: "it names only addresses that may not be asked; they are left out".to_owned(),
            },
            Ok(mut places) => {
                places.retain(|it| may_be_asked(web, it));
                let count = places.len();
                let (open, doubtful): (Vec<_>, Vec<_>) =
                    places.into_iter().partition(is_said_to_be_open);
                self.places.extend(open);
                self.doubtful.extend(doubtful);
                Outcome::Found { places: count }
            }
            Err(WebError::NotThere { .. }) => Outcome::Nothing,
            Err(WebError::RateLimited { wait, .. }) => Outcome::RateLimited {
                wait_seconds: wait.as_secs().max(1),
            },
            Err(error) => Outcome::Failed {
                why: error.to_string(),
            },
        };
        self.asked.push(Asked {
            source: source.to_owned(),
            outcome,
        });
    }

    /// Drops what is no address, and what is there twice; the first one counts, but what nobody is
    /// known to have told is owed to the one who tells it, too.
    fn tidy(&mut self) {
        let told = std::mem::take(&mut self.places);
        let mut seen: HashMap<String, usize> = HashMap::new();
        for place in told {
            let Some(form) = same_form(&place.url) else {
                continue;
            };
            let at = *seen.entry(form).or_insert(self.places.len());
            match self.places.get_mut(at) {
                Some(known) if known.source == derive::RECORD => *known = place,
                Some(_) => {}
                None => self.places.push(place),
            }
        }
        self.doubtful.retain(|place| {
            let form = same_form(&place.url);
            form.is_some_and(|it| seen.insert(it, usize::MAX).is_none())
        });
        self.places.truncate(MOST_PLACES);
        self.doubtful.truncate(MOST_PLACES);
    }
}

/// Crossref lists the publisher's file whether it is open or not; a licence for everyone says that
/// it is.
fn is_said_to_be_open(place: &PdfPlace) -> bool {
    let licence = place.licence.as_deref().unwrap_or_default();
    place.source != "crossref" || licence.contains("creativecommons.org")
}

/// Whether a place is an address that the guard lets through.
fn may_be_asked(web: &Web, place: &PdfPlace) -> bool {
    Url::parse(place.url.trim()).is_ok_and(|it| web.permits(&it))
}

/// The form in which two addresses of one file are the same.
fn same_form(url: &str) -> Option<String> {
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
pub(crate) fn place(url: impl Into<String>, source: &str) -> PdfPlace {
    PdfPlace {
        url: url.into(),
        source: source.to_owned(),
        version: None,
        licence: None,
    }
}
