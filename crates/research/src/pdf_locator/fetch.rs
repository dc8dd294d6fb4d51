//! Downloads a PDF: tries one location after another.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use deliberate_core::Article;
use url::Url;

use super::{PdfLocations, PdfLocator};
use crate::{
    http::{DownloadRequest, DownloadResult, HttpClientError, SourceRateLimit},
    sources::{PdfLocation, arxiv},
};

/// The limits of a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PdfFetchLimits {
    /// The largest accepted file.
    pub max_bytes: u64,
    /// The timeout of one location.
    pub timeout: Duration,
}

/// A downloaded PDF and how it was found.
#[derive(Debug, Clone)]
pub struct FetchedPdf {
    /// The location that supplied the file.
    pub location: PdfLocation,
    pub file: DownloadResult,
    /// All known locations.
    pub locations: PdfLocations,
    /// The locations that failed before.
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

/// The callback for the progress of a download.
type DownloadProgress<'a> = &'a (dyn Fn(u64, Option<u64>) + Send + Sync);

impl PdfLocator {
    /// Tries the locations in order until one succeeds or twice the timeout has passed.
    pub async fn fetch(
        &self,
        locations: &[PdfLocation],
        to: &Path,
        limits: PdfFetchLimits,
        progress: DownloadProgress<'_>,
    ) -> Result<(PdfLocation, DownloadResult), Vec<(PdfLocation, HttpClientError)>> {
        let mut failed = Vec::new();
        let begun = Instant::now();
        for place in locations {
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

    /// Locates and downloads a PDF. Locations known from the metadata come first; the sources are
    /// asked only if these fail. Locations of unknown access are tried last, unless the record says
    /// that the paper is not open: the publisher's server decides whether to supply the file.
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
        location: &PdfLocation,
        to: &Path,
        limits: PdfFetchLimits,
        progress: DownloadProgress<'_>,
    ) -> Result<DownloadResult, HttpClientError> {
        let url = Url::parse(location.url.trim()).map_err(|error| HttpClientError::Forbidden {
            url: deliberate_core::truncate_chars(&location.url, 200),
            reason: format!("it is not a valid URL: {error}"),
        })?;
        let request = DownloadRequest::pdf(url.clone(), rate_limit_for(&url))
            .max_bytes(limits.max_bytes)
            .timeout(limits.timeout);
        self.http_client.download(request, to, progress).await
    }
}

/// How long a download waits for its rate limit, because batches queue up at one host.
const QUEUE_TIMEOUT: Duration = Duration::from_mins(1);

/// One file per second from each host, except arXiv, whose terms cover its files, too.
fn rate_limit_for(url: &Url) -> SourceRateLimit {
    let host = url.host_str().unwrap_or_default();
    let pace = if host == "arxiv.org" || host.ends_with(".arxiv.org") {
        arxiv::rate_limit()
    } else {
        SourceRateLimit::new(format!("files of {host}"), Duration::from_secs(1)).max_concurrent(2)
    };
    pace.max_wait(QUEUE_TIMEOUT)
}
