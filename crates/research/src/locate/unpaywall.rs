//! Unpaywall: which copies of a work, named by its DOI, may be read by everyone.

use std::time::Duration;

use deliberate_core::{Doi, cut_to_chars};
use futures::FutureExt as _;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use super::{Told, place};
use crate::{
    sources::PdfPlace,
    web::{Pace, Request, Web, WebError},
};

/// How Unpaywall is asked.
#[derive(Debug, Clone)]
pub struct UnpaywallSettings {
    /// Its address in place of `https://api.unpaywall.org/v2/`.
    pub base_url: Option<Url>,
    /// The address to write to that it wants from everyone.
    pub email: String,
}

const NAME: &str = "unpaywall";
const BASE: &str = "https://api.unpaywall.org/v2";
/// A copy may turn up any day, so what was said is not believed for long.
const KEEP: Duration = Duration::from_hours(1);
/// Its terms: 100,000 a day.
const EVERY: Duration = Duration::from_millis(900);
const MOST_BYTES: u64 = 2 * 1024 * 1024;
/// It gives short names: `cc-by`.
const LONGEST_LICENCE: usize = 100;

#[derive(Deserialize)]
struct Work {
    /// Always there: an answer without it is none.
    is_oa: bool,
    #[serde(default)]
    best_oa_location: Option<Copy>,
    #[serde(default)]
    oa_locations: Option<Vec<Copy>>,
}

#[derive(Deserialize)]
struct Copy {
    #[serde(default)]
    url_for_pdf: Option<String>,
    #[serde(default)]
    version: Option<String>,
    #[serde(default)]
    license: Option<String>,
}

/// Asks for one work.
pub(super) fn ask<'a>(web: &'a Web, settings: &'a UnpaywallSettings, doi: &'a Doi) -> Told<'a> {
    async move { (NAME.to_owned(), places(web, settings, doi).await) }.boxed()
}

async fn places(
    web: &Web,
    settings: &UnpaywallSettings,
    doi: &Doi,
) -> Result<Vec<PdfPlace>, WebError> {
    let Some(url) = address(settings, doi) else {
        return Ok(Vec::new());
    };
    let request = Request::new(url, Pace::new(NAME, EVERY).at_once(2))
        .secret_parameter("email", SecretString::from(settings.email.clone()))
        .kept_for(KEEP)
        .at_most(MOST_BYTES);
    let work: Work = web.get(request).await?.json()?;
    if !work.is_oa {
        return Ok(Vec::new());
    }
    let copies = work.best_oa_location.into_iter();
    let copies = copies.chain(work.oa_locations.into_iter().flatten());
    let mut places: Vec<PdfPlace> = copies.filter_map(read).collect();
    let mut seen = std::collections::HashSet::new();
    places.retain(|it| seen.insert(it.url.clone()));
    Ok(places)
}

fn read(copy: Copy) -> Option<PdfPlace> {
    let url = copy.url_for_pdf.filter(|it| Url::parse(it).is_ok())?;
    let version = match copy.version.as_deref() {
        Some("publishedVersion") => Some("published".to_owned()),
        Some("acceptedVersion") => Some("accepted".to_owned()),
        Some("submittedVersion") => Some("submitted".to_owned()),
        _ => None,
    };
    Some(PdfPlace {
        version,
        licence: copy.license.map(|it| cut_to_chars(&it, LONGEST_LICENCE)),
        ..place(url, NAME)
    })
}

/// What a DOI may hold and a path may not.
pub(super) const NOT_IN_PATH: &AsciiSet = &CONTROLS
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

/// The address of a work; `None` for a DOI that would climb out of its folder.
fn address(settings: &UnpaywallSettings, doi: &Doi) -> Option<Url> {
    if doi.as_str().split('/').any(|it| matches!(it, "." | "..")) {
        return None;
    }
    let base = settings.base_url.as_ref().map_or(BASE, Url::as_str);
    let doi = utf8_percent_encode(doi.as_str(), NOT_IN_PATH);
    Url::parse(&format!("{}/{doi}", base.trim_end_matches('/'))).ok()
}
