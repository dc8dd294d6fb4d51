//! Downloads a paper's PDF into the folder of papers. The file appears atomically, and an existing
//! file is kept unless the caller says otherwise.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use deliberate_core::Article;
use deliberate_toolkit::{ErrorCode, ToolContext, ToolError};
use url::Url;

use super::{
    batch_job::ProgressShare,
    deduplication::are_different_works,
    path_policy::{VerifiedFile, file_sha256, sha256_hex},
};
use crate::{
    ResearchServices,
    articles::{ArticleRepository, repository::article_id_keys, title_key},
    http::{DownloadRequest, HttpClientError, SourceRateLimit},
    pdf_locator::{PdfFetchLimits, PdfLocations, file_name_for},
    prompt_fence::disarm_passage_tags,
    sources::PdfLocation,
};

/// The assumed size of a PDF of unknown size, for progress reports.
const TYPICAL_PDF_BYTES: f64 = 5_000_000.0;

/// A PDF in the folder of papers.
#[derive(Debug, Clone)]
pub(crate) struct LocalPdf {
    pub(crate) path: PathBuf,
    /// The SHA-256 in hex.
    pub(crate) sha256: String,
    pub(crate) bytes: u64,
    /// The location it was downloaded from; `None` if the file already existed.
    pub(crate) origin: Option<PdfLocation>,
    /// Whether its content is a PDF.
    pub(crate) is_pdf: bool,
    /// The locations that failed.
    pub(crate) notes: Vec<String>,
}

/// What to download: one URL, or an open PDF of a paper.
pub(crate) enum DownloadTarget<'a> {
    Url(Url),
    Paper(&'a Article),
}

/// The settings of a download.
pub(crate) struct PdfDownload<'a> {
    pub(crate) services: &'a ResearchServices,
    pub(crate) call: &'a ToolContext,
    pub(crate) overwrite: bool,
    pub(crate) timeout: Duration,
    /// The share of the download in the progress of the call.
    pub(crate) share: ProgressShare,
}

impl PdfDownload<'_> {
    /// Downloads to a path, unless a file is already there.
    pub(crate) async fn fetch(
        &self,
        target: DownloadTarget<'_>,
        to: PathBuf,
    ) -> Result<LocalPdf, ToolError> {
        if !self.overwrite && tokio::fs::symlink_metadata(&to).await.is_ok() {
            return existing_file(to).await;
        }
        let (call, share) = (self.call, self.share);
        let progress = move |bytes: u64, of: Option<u64>| {
            let of = of
                .filter(|it| *it > 0)
                .map_or(TYPICAL_PDF_BYTES, |it| it as f64);
            let megabytes = bytes as f64 / 1_000_000.0;
            share.report(call, bytes as f64 / of, &format!("{megabytes:.1} MB"));
        };
        let most_bytes = self.services.options().max_file_bytes;
        let limits = PdfFetchLimits {
            max_bytes: most_bytes,
            timeout: self.timeout,
        };
        let (place, file, failed) = match target {
            DownloadTarget::Url(url) => {
                let asked = rate_limit_for(&url);
                let download = DownloadRequest::pdf(url.clone(), asked).max_bytes(most_bytes);
                let fetched = self.services.http_client().download(
                    download.timeout(self.timeout),
                    &to,
                    &progress,
                );
                let file = fetched.await.map_err(|error| fetch_error(&error))?;
                let place = PdfLocation {
                    url: url.to_string(),
                    source: "address".to_owned(),
                    version: None,
                    licence: None,
                };
                (place, file, Vec::new())
            }
            DownloadTarget::Paper(article) => {
                let obtained = self
                    .services
                    .locator()
                    .locate_and_fetch(article, &to, limits, &progress)
                    .await;
                match obtained {
                    Ok(it) => (it.location, it.file, it.failures),
                    Err((located, failed)) => {
                        return Err(not_located_error(article, &located, &failed));
                    }
                }
            }
        };
        Ok(LocalPdf {
            path: to,
            sha256: file.sha256,
            bytes: file.bytes,
            origin: Some(place),
            is_pdf: true,
            notes: failed.iter().map(failure_note).collect(),
        })
    }
}

/// The path for a paper's file: named after the paper, with a suffix if a file of that name belongs
/// to another work. Names are short, and many begin alike.
pub(crate) async fn download_path(
    library: ArticleRepository<'_>,
    folder: &Path,
    article: &Article,
) -> Result<PathBuf, ToolError> {
    let name = file_name_for(article);
    let usual = folder.join(&name);
    let there = library
        .find_by_key("path", &usual.to_string_lossy())
        .await?;
    if !there.is_some_and(|it| are_different_works(&it.record.article, article)) {
        return Ok(usual);
    }
    let id = article_id_keys(article).next().map(|it| it.1);
    let id = id.unwrap_or_else(|| title_key(&article.title));
    let mark: String = sha256_hex(id.as_bytes()).chars().take(8).collect();
    let stem = name.strip_suffix(".pdf").unwrap_or(&name);
    Ok(folder.join(format!("{stem}-{mark}.pdf")))
}

/// One download at a time from each host.
fn rate_limit_for(url: &Url) -> SourceRateLimit {
    let host = url.host_str().unwrap_or("nobody");
    SourceRateLimit::new(format!("file:{host}"), Duration::from_millis(500))
}

async fn existing_file(path: PathBuf) -> Result<LocalPdf, ToolError> {
    let about = tokio::fs::symlink_metadata(&path).await;
    if !about.is_ok_and(|it| it.is_file()) {
        return Err(ToolError::Custom {
            code: ErrorCode::AlreadyThere,
            message: format!(
                "{} already exists and is not a regular file",
                path.display()
            ),
            hint: Some("Choose another filename.".to_owned()),
        });
    }
    let file = VerifiedFile::open_paper(path).await?;
    let sha256 = file_sha256(&file).await?;
    let is_pdf = memchr::memmem::find(&file.read_head(1_024).await?, b"%PDF-").is_some();
    Ok(LocalPdf {
        sha256,
        bytes: file.bytes,
        origin: None,
        is_pdf,
        path: file.path,
        notes: Vec::new(),
    })
}

fn failure_note((place, error): &(PdfLocation, HttpClientError)) -> String {
    format!("{} ({}): {error}.", place.url, place.source)
}

/// The error if no location supplied the file, with the outcome of each lookup.
fn not_located_error(
    article: &Article,
    located: &PdfLocations,
    failed: &[(PdfLocation, HttpClientError)],
) -> ToolError {
    let mut why: Vec<String> = failed.iter().map(failure_note).collect();
    why.extend(located.asked.iter().map(super::super::tools::lookup_line));
    let mut hint = why.join(" ");
    if let Some(place) = located.doubtful.first() {
        let _ = write!(
            hint,
            " It may be at {}, perhaps behind a paywall.",
            place.url
        );
    }
    hint.push_str(" Put the file into the papers folder and call process_pdf.");
    ToolError::Custom {
        code: ErrorCode::NoOpenPdf,
        message: format!(
            "no open PDF of {} could be downloaded",
            display_name(article)
        ),
        hint: Some(hint.trim().to_owned()),
    }
}

/// The title of a paper, or its identifier if nothing else is known.
fn display_name(article: &Article) -> String {
    let ids = [
        article.doi.as_ref().map(ToString::to_string),
        article.arxiv_id.as_ref().map(|it| format!("arXiv:{it}")),
    ];
    let id = ids.into_iter().flatten().next();
    match (article.title.trim(), id) {
        ("", Some(id)) => id,
        ("", None) => "it".to_owned(),
        (title, _) => {
            let title = deliberate_core::truncate_chars(title, 200);
            format!("{:?}", disarm_passage_tags(&title))
        }
    }
}

/// Converts an HTTP error to a tool error.
pub(crate) fn fetch_error(error: &HttpClientError) -> ToolError {
    let hint = match error {
        HttpClientError::RateLimited { .. } => "Wait and retry.",
        HttpClientError::Forbidden { .. } => "Only public internet addresses are allowed.",
        HttpClientError::Unreadable { .. } => {
            "The URL leads to something else; locate_pdf finds open PDFs by DOI or arXiv ID."
        }
        HttpClientError::TooLarge { .. } => {
            "Raise the limit in the settings or download it yourself."
        }
        _ => "Check the URL or retry later.",
    };
    ToolError::Custom {
        code: match error {
            HttpClientError::RateLimited { .. } => ErrorCode::RateLimited,
            HttpClientError::Forbidden { .. } => ErrorCode::AddressNotAllowed,
            HttpClientError::NotFound { .. } => ErrorCode::NotThere,
            HttpClientError::TooLarge { .. } => ErrorCode::TooLarge,
            HttpClientError::Unreadable { .. } => ErrorCode::NotAPdf,
            _ => ErrorCode::DownloadFailed,
        },
        message: error.to_string(),
        hint: Some(hint.to_owned()),
    }
}
