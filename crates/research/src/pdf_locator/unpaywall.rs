//! Unpaywall: finds open-access copies of a work by its DOI.

use std::time::Duration;

use deliberate_core::{Doi, truncate_chars};
use futures::FutureExt as _;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use super::{SourceLookupFuture, pdf_location};
use crate::{
    http::{FetchRequest, HttpClient, HttpClientError, SourceRateLimit},
    sources::PdfLocation,
};

/// The settings of Unpaywall.
#[derive(Debug, Clone)]
pub struct UnpaywallSettings {
    /// The address of the API in place of `https://api.unpaywall.org/v2/`.
    pub base_url: Option<Url>,
    /// The contact address that Unpaywall requires.
    pub email: String,
}

pub(super) const NAME: &str = "unpaywall";
const BASE_URL: &str = "https://api.unpaywall.org/v2";
/// A short time, because a copy may appear any day.
const CACHE_TTL: Duration = Duration::from_hours(1);
/// Unpaywall's terms allow 100,000 requests a day.
const REQUEST_INTERVAL: Duration = Duration::from_millis(900);
const MAX_BYTES: u64 = 2 * 1024 * 1024;
/// Unpaywall gives short names such as `cc-by`.
const MAX_LICENSE_CHARS: usize = 100;

#[derive(Deserialize)]
struct UnpaywallWork {
    /// Always present; a response without it is invalid.
    is_oa: bool,
    #[serde(default)]
    best_oa_location: Option<UnpaywallLocation>,
    #[serde(default)]
    oa_locations: Option<Vec<UnpaywallLocation>>,
}

#[derive(Deserialize)]
struct UnpaywallLocation {
    #[serde(default)]
    url_for_pdf: Option<String>,
    #[serde(default)]
    version: Option<String>,
    #[serde(default)]
    license: Option<String>,
}

/// Looks up one work.
pub(super) fn look_up<'a>(
    web: &'a HttpClient,
    settings: &'a UnpaywallSettings,
    doi: &'a Doi,
) -> SourceLookupFuture<'a> {
    async move { (NAME.to_owned(), fetch_locations(web, settings, doi).await) }.boxed()
}

async fn fetch_locations(
    web: &HttpClient,
    settings: &UnpaywallSettings,
    doi: &Doi,
) -> Result<Vec<PdfLocation>, HttpClientError> {
    let Some(url) = work_url(settings, doi) else {
        return Ok(Vec::new());
    };
    let request = FetchRequest::new(
        url,
        SourceRateLimit::new(NAME, REQUEST_INTERVAL).max_concurrent(2),
    )
    .secret_parameter("email", SecretString::from(settings.email.clone()))
    .cache_for(CACHE_TTL)
    .max_bytes(MAX_BYTES);
    let work: UnpaywallWork = web.get(request).await?.json()?;
    if !work.is_oa {
        return Ok(Vec::new());
    }
    let copies = work.best_oa_location.into_iter();
    let copies = copies.chain(work.oa_locations.into_iter().flatten());
    let mut places: Vec<PdfLocation> = copies.filter_map(parse_location).collect();
    let mut seen = std::collections::HashSet::new();
    places.retain(|it| seen.insert(it.url.clone()));
    Ok(places)
}

fn parse_location(copy: UnpaywallLocation) -> Option<PdfLocation> {
    let url = copy.url_for_pdf.filter(|it| Url::parse(it).is_ok())?;
    let version = match copy.version.as_deref() {
        Some("publishedVersion") => Some("published".to_owned()),
        Some("acceptedVersion") => Some("accepted".to_owned()),
        Some("submittedVersion") => Some("submitted".to_owned()),
        _ => None,
    };
    Some(PdfLocation {
        version,
        licence: copy
            .license
            .map(|it| truncate_chars(&it, MAX_LICENSE_CHARS)),
        ..pdf_location(url, NAME)
    })
}

/// The characters of a DOI that must be encoded in a path.
pub(super) const PATH_ENCODE_SET: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// The URL of a work; `None` for a DOI with path segments that would leave its folder.
fn work_url(settings: &UnpaywallSettings, doi: &Doi) -> Option<Url> {
    if doi.as_str().split('/').any(|it| matches!(it, "." | "..")) {
        return None;
    }
    let base = settings.base_url.as_ref().map_or(BASE_URL, Url::as_str);
    let doi = utf8_percent_encode(doi.as_str(), PATH_ENCODE_SET);
    Url::parse(&format!("{}/{doi}", base.trim_end_matches('/'))).ok()
}
