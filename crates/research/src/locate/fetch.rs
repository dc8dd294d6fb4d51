//! Fetching the file: one place after another until one has it.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use deliberate_core::Article;
use url::Url;

use super::{Located, Locator};
use crate::{
    sources::PdfPlace,
    web::{Download, Downloaded, Pace, WebError},
};

/// How large a file may be and how long it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// The largest file.
    pub most_bytes: u64,
    /// The longest one place may take.
    pub time: Duration,
}

/// A file that was fetched, and how it was found.
#[derive(Debug, Clone)]
pub struct Obtained {
    /// The place that had it.
    pub place: PdfPlace,
    /// The file.
    pub file: Downloaded,
    /// Everything that was found out on the way.
    pub located: Located,
    /// The places that were tried in vain.
    pub failed: Vec<(PdfPlace, WebError)>,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            most_bytes: 100 * 1024 * 1024,
            time: Duration::from_mins(5),
        }
    }
}

/// What is told while a file comes.
type Progress<'a> = &'a (dyn Fn(u64, Option<u64>) + Send + Sync);

impl Locator {
    /// Tries the places in order, until one has it or they took twice the time of one.
    pub async fn fetch(
        &self,
        places: &[PdfPlace],
        to: &Path,
        limits: FetchLimits,
        progress: Progress<'_>,
    ) -> Result<(PdfPlace, Downloaded), Vec<(PdfPlace, WebError)>> {
        let mut failed = Vec::new();
        let begun = Instant::now();
        for place in places {
            if begun.elapsed() > limits.time.saturating_mul(2) {
                break;
            }
            match self.fetch_one(place, to, limits, progress).await {
                Ok(file) => return Ok((place.clone(), file)),
                Err(error) => failed.push((place.clone(), error)),
            }
        }
        Err(failed)
    }

    /// Finds and fetches: first where it is known to be, and only if that fails by asking around.
    /// What nobody says is open is tried last, unless it is said not to be: the publisher names it,
    /// and gives it or does not.
    pub async fn obtain(
        &self,
        article: &Article,
        to: &Path,
        limits: FetchLimits,
        progress: Progress<'_>,
    ) -> Result<Obtained, (Located, Vec<(PdfPlace, WebError)>)> {
        let near = self.nearest(article);
        let mut failed = match self.fetch(&near.places, to, limits, progress).await {
            Ok((place, file)) => {
                return Ok(Obtained {
                    place,
                    file,
                    located: near,
                    failed: Vec::new(),
                });
            }
            Err(failed) => failed,
        };
        let located = self.locate(article).await;
        let doubtful = located.doubtful.iter();
        let doubtful = doubtful.filter(|_| article.open_access != Some(false));
        let untried: Vec<PdfPlace> = (located.places.iter().chain(doubtful))
            .filter(|it| !failed.iter().any(|(tried, _)| tried.url == it.url))
            .cloned()
            .collect();
        match self.fetch(&untried, to, limits, progress).await {
            Ok((place, file)) => Ok(Obtained {
                place,
                file,
                located,
                failed,
            }),
            Err(more) => {
                failed.extend(more);
                Err((located, failed))
            }
        }
    }

    async fn fetch_one(
        &self,
        place: &PdfPlace,
        to: &Path,
        limits: FetchLimits,
        progress: Progress<'_>,
    ) -> Result<Downloaded, WebError> {
        let url = Url::parse(place.url.trim()).map_err(|error| WebError::Forbidden {
            address: deliberate_core::cut_to_chars(&place.url, 200),
            reason: format!("it is no address: {error}"),
        })?;
        let request = Download::pdf(url.clone(), pace_of(&url))
            .at_most(limits.most_bytes)
            .within(limits.time);
        self.web.download(request, to, progress).await
    }
}

/// How long a file waits for its turn: batches queue up at one host.
const PATIENCE: Duration = Duration::from_mins(1);

/// One file a second from each host; arXiv has terms of its own, which hold for its files too.
fn pace_of(url: &Url) -> Pace {
    let host = url.host_str().unwrap_or_default();
    let pace = if host == "arxiv.org" || host.ends_with(".arxiv.org") {
        Pace::new("arxiv", Duration::from_secs(3))
    } else {
        Pace::new(format!("files of {host}"), Duration::from_secs(1)).at_once(2)
    };
    pace.patience(PATIENCE)
}
