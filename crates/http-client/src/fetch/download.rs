//! Downloads a file in chunks into a temporary file next to the target and checks its content. A
//! failed or cancelled download leaves nothing behind.

use std::{io, path::Path, time::Duration};

use reqwest::Response;
use sha2::{Digest as _, Sha256};
use tempfile::TempPath;
use tokio::{fs::File, io::AsyncWriteExt as _};
use url::Url;

use super::{
    HttpClientError, SourceRateLimit,
    attempt::{interrupted_error, too_large_error},
    client::HttpClientInner,
    digest::to_hex,
    redirects::{OutboundRequest, send_with_redirects},
    request::{host_label, looks_like_html},
    response_status::ResponseClassifier,
    retry::FetchAttemptError,
};
use crate::content_type;

/// A file to download.
#[derive(Debug, Clone)]
pub struct DownloadRequest {
    pub url: Url,
    /// The largest accepted file.
    pub max_bytes: u64,
    /// The longest the download may take, without the wait for the rate limit.
    pub timeout: Duration,
    pub expected: ExpectedContent,
    pub rate_limit: SourceRateLimit,
}

/// The content that a downloaded file must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedContent {
    /// A PDF, judged by its content.
    Pdf,
    Any,
}

/// A downloaded file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownloadResult {
    /// The size of the file.
    pub bytes: u64,
    /// The SHA-256 in hex.
    pub sha256: String,
    /// The declared content type in lower case without parameters; empty if there was none.
    pub content_type: String,
    /// The URL after redirects.
    pub url: Url,
}

/// The prefix of the names of temporary files; random letters follow.
pub const PARTIAL_PREFIX: &str = ".part-";

/// The PDF signature is within the first bytes of a file.
const HEAD_BYTES: usize = 1024;

impl DownloadRequest {
    /// A download of a PDF of at most 100 MiB within five minutes.
    pub fn pdf(url: Url, rate_limit: SourceRateLimit) -> Self {
        Self {
            url,
            max_bytes: 100 * 1024 * 1024,
            timeout: Duration::from_mins(5),
            expected: ExpectedContent::Pdf,
            rate_limit,
        }
    }

    /// Sets the largest accepted file.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the timeout.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = time;
        self
    }
}

/// Downloads a file in a single attempt.
pub(super) async fn download(
    parts: &HttpClientInner,
    request: &DownloadRequest,
    to: &Path,
    progress: &(dyn Fn(u64, Option<u64>) + Send + Sync),
) -> Result<DownloadResult, FetchAttemptError> {
    let outgoing = OutboundRequest {
        url: &request.url,
        body: None,
        accept: match request.expected {
            ExpectedContent::Pdf => "application/pdf, */*;q=0.5",
            ExpectedContent::Any => "*/*",
        },
        secret_headers: &[],
        secret_query: &[],
    };
    let (response, url) = send_with_redirects(&parts.guard, &parts.clients, &outgoing).await?;
    let judge = ResponseClassifier {
        now: parts.clock.now(),
        throttle_statuses: &[],
        secrets: Vec::new(),
        may_need_key: false,
        clean_message: parts.clean_message,
    };
    let response = judge.classify(response, &url).await?;
    let content_type = content_type(response.headers());
    let mut filling = PartialDownload::create(to, request, &url, content_type.clone()).await?;
    filling.write_response(response, progress).await?;
    let (bytes, sha256) = filling.finish(to).await?;
    Ok(DownloadResult {
        bytes,
        sha256,
        content_type,
        url,
    })
}

/// A temporary file that receives a download. It is removed when dropped before `finish`.
struct PartialDownload<'a> {
    request: &'a DownloadRequest,
    url: &'a Url,
    content_type: String,
    file: File,
    path: TempPath,
    hash: Sha256,
    bytes: u64,
    /// The first bytes, until their content is checked.
    head: Option<Vec<u8>>,
}

impl<'a> PartialDownload<'a> {
    async fn create(
        to: &Path,
        request: &'a DownloadRequest,
        url: &'a Url,
        content_type: String,
    ) -> Result<Self, FetchAttemptError> {
        let folder = to.parent().unwrap_or(Path::new(".")).to_owned();
        let made = run_blocking(move || {
            tempfile::Builder::new()
                .prefix(PARTIAL_PREFIX)
                .tempfile_in(folder)
        });
        let (file, path) = made.await?.into_parts();
        Ok(Self {
            request,
            url,
            content_type,
            file: File::from_std(file),
            path,
            hash: Sha256::new(),
            bytes: 0,
            head: (request.expected == ExpectedContent::Pdf).then(Vec::new),
        })
    }

    async fn write_response(
        &mut self,
        mut response: Response,
        progress: &(dyn Fn(u64, Option<u64>) + Send + Sync),
    ) -> Result<(), FetchAttemptError> {
        let most = self.request.max_bytes;
        let said = response.content_length();
        if said.is_some_and(|it| it > most) {
            return Err(too_large_error(self.url, most));
        }
        while let Some(piece) =
            (response.chunk().await).map_err(|error| interrupted_error(self.url, &error))?
        {
            self.bytes += piece.len() as u64;
            if self.bytes > most {
                return Err(too_large_error(self.url, most));
            }
            self.hash.update(&piece);
            if let Some(head) = &mut self.head {
                head.extend(piece.iter().take(HEAD_BYTES - head.len()));
                if head.len() >= HEAD_BYTES {
                    self.check_content()?;
                }
            }
            self.file
                .write_all(&piece)
                .await
                .map_err(|it| local_error(&it))?;
            progress(self.bytes, said);
        }
        self.check_content()
    }

    /// Checks the first bytes once.
    fn check_content(&mut self) -> Result<(), FetchAttemptError> {
        let Some(head) = self.head.take() else {
            return Ok(());
        };
        let is_page = looks_like_html(&head);
        if !is_page && memchr::memmem::find(&head, b"%PDF-").is_some() {
            return Ok(());
        }
        let reason = if is_page || self.content_type == "text/html" {
            "it is a web page, not a PDF".to_owned()
        } else if head.is_empty() {
            "it is empty, not a PDF".to_owned()
        } else if self.content_type.is_empty() || self.content_type == "application/pdf" {
            "its content is not a PDF".to_owned()
        } else {
            format!("it is not a PDF but {}", self.content_type)
        };
        Err(FetchAttemptError::Final(HttpClientError::Unreadable {
            host: host_label(self.url),
            reason,
        }))
    }

    /// Moves the temporary file to its target.
    async fn finish(mut self, to: &Path) -> Result<(u64, String), FetchAttemptError> {
        self.file.flush().await.map_err(|it| local_error(&it))?;
        self.file.sync_all().await.map_err(|it| local_error(&it))?;
        let (path, to) = (self.path, to.to_owned());
        run_blocking(move || path.persist(to).map_err(|it| it.error)).await?;
        Ok((self.bytes, to_hex(&self.hash.finalize())))
    }
}

/// Runs disk work on a thread that may block.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, FetchAttemptError> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.unwrap_or_else(|error| Err(io::Error::other(error)));
    done.map_err(|it| local_error(&it))
}

fn local_error(error: &io::Error) -> FetchAttemptError {
    FetchAttemptError::Final(HttpClientError::Local {
        what: "writing the file",
        reason: error.to_string(),
    })
}
