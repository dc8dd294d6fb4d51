//! PDF locations that follow from a paper's metadata without any request.

use deliberate_core::{Article, ArxivId};
use percent_encoding::utf8_percent_encode;
use url::Url;

use super::{lists_paywalled_pdfs, pdf_location, unpaywall::PATH_ENCODE_SET};
use crate::sources::{
    PdfLocation, arxiv,
    biorxiv::{is_preprint_doi, is_server_name},
    europe_pmc,
};

/// The source of a URL in the paper's record if it is unknown which source supplied it.
pub(super) const RECORD_SOURCE: &str = "record";

/// The PDF at arXiv, if the paper has an arXiv ID.
pub(super) fn arxiv_pdf(article: &Article, base: Option<&Url>) -> Option<PdfLocation> {
    let id = arxiv_id(article)?;
    let url = match base {
        Some(base) => format!("{}/{id}", base.as_str().trim_end_matches('/')),
        None => id.pdf_url(),
    };
    Some(PdfLocation {
        version: Some("submitted".to_owned()),
        ..pdf_location(url, arxiv::DEFINITION.name)
    })
}

fn arxiv_id(article: &Article) -> Option<ArxivId> {
    let by_doi = || {
        article
            .doi
            .as_ref()
            .and_then(deliberate_core::Doi::arxiv_id)
    };
    let by_url = || article.url.as_deref().and_then(ArxivId::parse);
    article.arxiv_id.clone().or_else(by_doi).or_else(by_url)
}

/// The web pages about a paper, for a person; none of them is its PDF.
pub(super) fn landing_pages(article: &Article) -> Vec<String> {
    let doi = article.doi.as_ref().map(|doi| {
        let path = utf8_percent_encode(doi.as_str(), PATH_ENCODE_SET);
        format!("https://doi.org/{path}")
    });
    let pubmed = article.pmid.as_deref().filter(|it| is_number(it));
    let pubmed = pubmed.map(|it| format!("https://pubmed.ncbi.nlm.nih.gov/{it}/"));
    let arxiv = arxiv_id(article).map(|it| it.url());
    let own = article.url.as_deref().and_then(parse_web_url);
    let own = own.filter(|it| !is_pdf_url(it)).map(String::from);
    [doi, arxiv, pubmed, own].into_iter().flatten().collect()
}

/// The PDF URL in the paper's record, as an open location or one of unknown access.
pub(super) fn record_urls(article: &Article) -> (Option<PdfLocation>, Option<PdfLocation>) {
    let named = article.pdf_url.clone().or_else(|| {
        let url = article.url.clone()?;
        is_pdf_url(&parse_web_url(&url)?).then_some(url)
    });
    let Some(url) = named else {
        return (None, None);
    };
    // Such a source lists the publisher's file whether it is open or not.
    let from_publisher_alone =
        !article.sources.is_empty() && article.sources.iter().all(|it| lists_paywalled_pdfs(it));
    let open = match article.open_access {
        Some(open) => open,
        None => !from_publisher_alone,
    };
    // A merged record does not say which source supplied the URL.
    let source = match article.sources.as_slice() {
        [only] => only,
        _ => RECORD_SOURCE,
    };
    let place = pdf_location(url, source);
    if open {
        (Some(place), None)
    } else {
        (None, Some(place))
    }
}

/// The PDF URLs that follow from the page or the identifiers of a paper at open-access hosts.
pub(super) fn derive_urls(article: &Article) -> Vec<PdfLocation> {
    let page = article.url.as_deref().and_then(parse_web_url);
    let page = page.as_ref();
    let mut places = Vec::new();
    places.extend(
        page.and_then(rxiv_pdf_from_page)
            .or_else(|| rxiv_pdf_from_doi(article)),
    );
    places.extend(
        page.and_then(osf_pdf_from_page)
            .or_else(|| osf_pdf_from_doi(article)),
    );
    places.extend(page.and_then(openreview_pdf));
    places.extend(page.and_then(acl_pdf));
    if let Some(id) = article.pmcid.as_deref().filter(|it| is_pmc(it)) {
        let rendered = format!("https://europepmc.org/articles/{id}?pdf=render");
        places.push(pdf_location(rendered, europe_pmc::DEFINITION.name));
        let own = format!("https://pmc.ncbi.nlm.nih.gov/articles/{id}/pdf/");
        places.push(pdf_location(own, "pubmed_central"));
    }
    places
}

fn parse_web_url(url: &str) -> Option<Url> {
    let url = Url::parse(url.trim()).ok()?;
    matches!(url.scheme(), "http" | "https").then_some(url)
}

fn is_pdf_url(url: &Url) -> bool {
    url.path().to_ascii_lowercase().ends_with(".pdf")
}

/// The host without `www.`.
fn bare_host(url: &Url) -> &str {
    let host = url.host_str().unwrap_or_default();
    host.strip_prefix("www.").unwrap_or(host)
}

/// Turns `…/content/10.1101/2020.01.01.123456v2.abstract` into `….full.pdf`.
fn rxiv_pdf_from_page(url: &Url) -> Option<PdfLocation> {
    let host = bare_host(url);
    let server = host.strip_suffix(".org").filter(|it| is_server_name(it))?;
    let path = url.path().trim_end_matches('/');
    path.starts_with("/content/").then_some(())?;
    let endings = [".full.pdf", ".full-text", ".full", ".abstract", ".pdf"];
    let bare = endings
        .iter()
        .find_map(|it| path.strip_suffix(it))
        .unwrap_or(path);
    let address = format!("https://www.{host}{bare}.full.pdf");
    Some(pdf_location(address, server))
}

/// Derives the URL from the DOI if the record names the server as a source or venue.
fn rxiv_pdf_from_doi(article: &Article) -> Option<PdfLocation> {
    let names = article.sources.iter().chain(&article.venue);
    let server = names
        .map(|it| it.to_lowercase())
        .find(|it| is_server_name(it))?;
    let doi = article
        .doi
        .as_ref()
        .filter(|it| is_preprint_doi(it))?
        .as_str();
    let plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '/' | '-');
    (doi.chars().all(plain) && !doi.contains("..")).then(|| {
        let address = format!("https://www.{server}.org/content/{doi}.full.pdf");
        pdf_location(address, &server)
    })
}

/// Turns `osf.io/preprints/psyarxiv/abcde` into `osf.io/abcde/download`.
fn osf_pdf_from_page(url: &Url) -> Option<PdfLocation> {
    (bare_host(url) == "osf.io").then_some(())?;
    let mut parts = url.path_segments()?.filter(|it| !it.is_empty());
    let id = match parts.next()? {
        "preprints" => {
            let next = parts.next()?;
            parts.next().unwrap_or(next)
        }
        id => id,
    };
    osf_pdf(id)
}

fn osf_pdf_from_doi(article: &Article) -> Option<PdfLocation> {
    let (_, id) = article.doi.as_ref()?.as_str().split_once("/osf.io/")?;
    osf_pdf(id)
}

fn osf_pdf(id: &str) -> Option<PdfLocation> {
    let plain = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let fine = (4..=12).contains(&id.len()) && id.chars().all(plain);
    fine.then(|| pdf_location(format!("https://osf.io/{id}/download"), "osf"))
}

/// Turns `openreview.net/forum?id=x` into `openreview.net/pdf?id=x`.
fn openreview_pdf(url: &Url) -> Option<PdfLocation> {
    (bare_host(url) == "openreview.net" && url.path() == "/forum").then_some(())?;
    let (_, id) = url.query_pairs().find(|(name, _)| name == "id")?;
    let plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-');
    let fine = !id.is_empty() && id.chars().all(plain);
    fine.then(|| pdf_location(format!("https://openreview.net/pdf?id={id}"), "openreview"))
}

/// Turns `aclanthology.org/P19-1001/` into `aclanthology.org/P19-1001.pdf`.
fn acl_pdf(url: &Url) -> Option<PdfLocation> {
    let id = url.path().trim_matches('/');
    let id = id.strip_suffix(".pdf").unwrap_or(id);
    let plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '-');
    let fine = bare_host(url) == "aclanthology.org" && id.contains('-') && id.chars().all(plain);
    fine.then(|| {
        pdf_location(
            format!("https://aclanthology.org/{id}.pdf"),
            "acl_anthology",
        )
    })
}

fn is_pmc(id: &str) -> bool {
    id.strip_prefix("PMC").is_some_and(is_number)
}

fn is_number(text: &str) -> bool {
    (1..12).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit())
}
