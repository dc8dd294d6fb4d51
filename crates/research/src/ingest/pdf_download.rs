//! A paper's PDF brought into the folder of papers. It is there whole or not at all, and what was
//! there before stays unless it is said otherwise.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use deliberate_core::Article;
use deliberate_toolkit::{ToolContext, ToolError};
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
    prompt_fence::escape_passage_tags,
    sources::PdfLocation,
};

/// How large a PDF is thought to be if nobody says it, to tell how far fetching it has come.
const TYPICAL_PDF_BYTES: f64 = 5_000_000.0;

/// A file that is here now.
#[derive(Debug, Clone)]
pub(crate) struct LocalPdf {
    /// Where.
    pub(crate) path: PathBuf,
    /// Its SHA-256, in hex.
    pub(crate) sha256: String,
    /// How large it is.
    pub(crate) bytes: u64,
    /// Where it came from; nothing if it was here before.
    pub(crate) origin: Option<PdfLocation>,
    /// Whether it is a PDF, by its content.
    pub(crate) is_pdf: bool,
    /// What was tried in vain.
    pub(crate) notes: Vec<String>,
}

/// What is fetched: from one address, or from wherever a paper's PDF is open.
pub(crate) enum DownloadTarget<'a> {
    Url(Url),
    Paper(&'a Article),
}

/// How it is fetched.
pub(crate) struct PdfDownload<'a> {
    pub(crate) services: &'a ResearchServices,
    pub(crate) call: &'a ToolContext,
    pub(crate) overwrite: bool,
    pub(crate) timeout: Duration,
    /// What fetching it is of the work of the call.
    pub(crate) share: ProgressShare,
}

impl PdfDownload<'_> {
    /// Fetches it to that path, unless a file is there.
    pub(crate) async fn fetch(
        &self,
        what: DownloadTarget<'_>,
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
        let (place, file, failed) = match what {
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

/// Where the file of a paper goes in the folder: under the paper's name, or, if the file of that name
/// is known to be another work's, under that name with a mark. Names are short, and many begin alike.
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

/// One at a time from each host.
fn rate_limit_for(url: &Url) -> SourceRateLimit {
    let host = url.host_str().unwrap_or("nobody");
    SourceRateLimit::new(format!("file:{host}"), Duration::from_millis(500))
}

async fn existing_file(path: PathBuf) -> Result<LocalPdf, ToolError> {
    let about = tokio::fs::symlink_metadata(&path).await;
    if !about.is_ok_and(|it| it.is_file()) {
        return Err(ToolError::Custom {
            code: "AlreadyThere".to_owned(),
            message: format!("{} is there already, and is no plain file", path.display()),
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

/// No place had it: who was asked and what they said.
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
    hint.push_str(" Put the file into the folder of papers and call process_pdf.");
    ToolError::Custom {
        code: "NoOpenPdf".to_owned(),
        message: format!("no open PDF of {} could be fetched", display_name(article)),
        hint: Some(hint.trim().to_owned()),
    }
}

/// What a paper is called: by its title, or by its id if that is all that is known of it.
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
            format!("{:?}", escape_passage_tags(&title))
        }
    }
}

/// What the net failed with, as a client reads it.
pub(crate) fn fetch_error(error: &HttpClientError) -> ToolError {
    let hint = match error {
        HttpClientError::RateLimited { .. } => "Wait, then call again.",
        HttpClientError::Forbidden { .. } => "Only addresses of the public net are asked.",
        HttpClientError::Unreadable { .. } => {
            "The address leads to something else; locate_pdf finds open PDFs by DOI or arXiv id."
        }
        HttpClientError::TooLarge { .. } => {
            "Raise the limit in the settings, or fetch it yourself."
        }
        _ => "Check the address, or call again later.",
    };
    ToolError::Custom {
        code: match error {
            HttpClientError::RateLimited { .. } => "RateLimited",
            HttpClientError::Forbidden { .. } => "AddressNotAllowed",
            HttpClientError::NotFound { .. } => "NotThere",
            HttpClientError::TooLarge { .. } => "TooLarge",
            HttpClientError::Unreadable { .. } => "NotAPdf",
            _ => "DownloadFailed",
        }
        .to_owned(),
        message: error.to_string(),
        hint: Some(hint.to_owned()),
    }
}
