//! Fetching the file: one place after another until one has it.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use deliberate_core::Article;
use url::Url;

use super::{PdfLocations, PdfLocator};
use crate::{
    http::{DownloadRequest, DownloadResult, HttpClientError, SourceRateLimit},
    sources::PdfLocation,
};

/// How large a file may be and how long it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PdfFetchLimits {
    /// The largest file.
    pub max_bytes: u64,
    /// The longest one place may take.
    pub timeout: Duration,
}

/// A file that was fetched, and how it was found.
#[derive(Debug, Clone)]
pub struct FetchedPdf {
    /// The place that had it.
    pub location: PdfLocation,
    /// The file.
    pub file: DownloadResult,
    /// Everything that was found out on the way.
    pub locations: PdfLocations,
    /// The places that were tried in vain.
    pub failures: Vec<(PdfLocation, HttpClientError)>,
}

impl Default for PdfFetchLimits {
    fn default() -> Self {
        Self {
            max_bytes: 100 * 1024 * 1024,
            timeout: Duration::from_mins(5),
        }
    }
}

/// What is told while a file comes.
type DownloadProgress<'a> = &'a (dyn Fn(u64, Option<u64>) + Send + Sync);

impl PdfLocator {
    /// Tries the places in order, until one has it or they took twice the time of one.
    pub async fn fetch(
        &self,
        places: &[PdfLocation],
        to: &Path,
        limits: PdfFetchLimits,
        progress: DownloadProgress<'_>,
    ) -> Result<(PdfLocation, DownloadResult), Vec<(PdfLocation, HttpClientError)>> {
        let mut failed = Vec::new();
        let begun = Instant::now();
        for place in places {
            if begun.elapsed() > limits.timeout.saturating_mul(2) {
                break;
            }
            match self.fetch_location(place, to, limits, progress).await {
                Ok(file) => return Ok((place.clone(), file)),
                Err(error) => failed.push((place.clone(), error)),
            }
        }
        Err(failed)
    }

    /// Finds and fetches: first where it is known to be, and only if that fails by asking around.
    /// What nobody says is open is tried last, unless it is said not to be: the publisher names it,
    /// and gives it or does not.
    pub async fn locate_and_fetch(
        &self,
        article: &Article,
        to: &Path,
        limits: PdfFetchLimits,
        progress: DownloadProgress<'_>,
    ) -> Result<FetchedPdf, (PdfLocations, Vec<(PdfLocation, HttpClientError)>)> {
        let near = self.locate_offline(article);
        let mut failed = match self.fetch(&near.places, to, limits, progress).await {
            Ok((place, file)) => {
                return Ok(FetchedPdf {
                    location: place,
                    file,
                    locations: near,
                    failures: Vec::new(),
                });
            }
            Err(failed) => failed,
        };
        let located = self.locate(article).await;
        let doubtful = located.doubtful.iter();
        let doubtful = doubtful.filter(|_| article.open_access != Some(false));
        let untried: Vec<PdfLocation> = (located.places.iter().chain(doubtful))
            .filter(|it| !failed.iter().any(|(tried, _)| tried.url == it.url))
            .cloned()
            .collect();
        match self.fetch(&untried, to, limits, progress).await {
            Ok((place, file)) => Ok(FetchedPdf {
                location: place,
                file,
                locations: located,
                failures: failed,
            }),
            Err(more) => {
                failed.extend(more);
                Err((located, failed))
            }
        }
    }

    async fn fetch_location(
        &self,
        place: &PdfLocation,
        to: &Path,
        limits: PdfFetchLimits,
        progress: DownloadProgress<'_>,
    ) -> Result<DownloadResult, HttpClientError> {
        let url = Url::parse(place.url.trim()).map_err(|error| HttpClientError::Forbidden {
            url: deliberate_core::truncate_chars(&place.url, 200),
            reason: format!("it is no address: {error}"),
        })?;
        let request = DownloadRequest::pdf(url.clone(), rate_limit_for(&url))
            .max_bytes(limits.max_bytes)
            .timeout(limits.timeout);
        self.http_client.download(request, to, progress).await
    }
}

/// How long a file waits for its turn: batches queue up at one host.
const QUEUE_TIMEOUT: Duration = Duration::from_mins(1);

/// One file a second from each host; arXiv has terms of its own, which hold for its files too.
fn rate_limit_for(url: &Url) -> SourceRateLimit {
    let host = url.host_str().unwrap_or_default();
    let pace = if host == "arxiv.org" || host.ends_with(".arxiv.org") {
        SourceRateLimit::new("arxiv", Duration::from_secs(3))
    } else {
        SourceRateLimit::new(format!("files of {host}"), Duration::from_secs(1)).max_concurrent(2)
    };
    pace.max_wait(QUEUE_TIMEOUT)
}
