//! Fetching a file: piece by piece into a file beside the one it becomes, judged by its content.
//! Given up or broken off, it leaves nothing behind.

use std::{io, path::Path, time::Duration};

use reqwest::Response;
use sha2::{Digest as _, Sha256};
use tempfile::TempPath;
use tokio::{fs::File, io::AsyncWriteExt as _};
use url::Url;

use super::{
    Pace, WebError,
    answer::{Judge, kind_of},
    door::Parts,
    exchange::{next, too_large},
    follow::{Outgoing, follow},
    hex::hex,
    persist::Setback,
    request::{host_of, looks_like_html},
};

/// A file to be fetched.
#[derive(Debug, Clone)]
pub struct Download {
    /// Where it is.
    pub url: Url,
    /// The largest file that is taken.
    pub most_bytes: u64,
    /// The longest it may take, waiting for its turn not counted.
    pub time: Duration,
    /// What it must be.
    pub expect: Expect,
    /// How fast.
    pub pace: Pace,
}

/// What a file must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// A PDF, by its content.
    Pdf,
    /// Anything.
    Any,
}

/// A file that was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Downloaded {
    /// How large it is.
    pub bytes: u64,
    /// Its SHA-256, in hex.
    pub sha256: String,
    /// What it was said to be, lower case, without parameters; empty if nobody said.
    pub content_type: String,
    /// The address it came from in the end.
    pub url: Url,
}

/// How the name of a file begins that is being fetched; letters at random follow.
pub(crate) const PART: &str = ".part-";

/// A PDF says that it is one within so many bytes.
const HEAD_BYTES: usize = 1024;

impl Download {
    /// A PDF of 100 MiB at the most, within five minutes.
    pub fn pdf(url: Url, pace: Pace) -> Self {
        Self {
            url,
            most_bytes: 100 * 1024 * 1024,
            time: Duration::from_mins(5),
            expect: Expect::Pdf,
            pace,
        }
    }

    /// Takes no larger file.
    pub fn at_most(mut self, bytes: u64) -> Self {
        self.most_bytes = bytes;
        self
    }

    /// Waits no longer for it.
    pub fn within(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }
}

/// Fetches it once.
pub(super) async fn download(
    parts: &Parts,
    request: &Download,
    to: &Path,
    progress: &(dyn Fn(u64, Option<u64>) + Send + Sync),
) -> Result<Downloaded, Setback> {
    let outgoing = Outgoing {
        url: &request.url,
        body: None,
        accept: match request.expect {
            Expect::Pdf => "application/pdf, */*;q=0.5",
            Expect::Any => "*/*",
        },
        secrets: &[],
        secret_query: &[],
    };
    let (response, url) = follow(&parts.guard, &parts.clients, &outgoing).await?;
    let judge = Judge {
        now: parts.clock.now(),
        throttled: &[],
        secrets: Vec::new(),
        by_key: false,
    };
    let response = judge.judge(response, &url).await?;
    let content_type = kind_of(&response);
    let mut filling = Filling::begin(to, request, &url, content_type.clone()).await?;
    filling.fill(response, progress).await?;
    let (bytes, sha256) = filling.end(to).await?;
    Ok(Downloaded {
        bytes,
        sha256,
        content_type,
        url,
    })
}

/// A file that is being filled. Removed when dropped, unless it was ended.
struct Filling<'a> {
    request: &'a Download,
    url: &'a Url,
    content_type: String,
    file: File,
    path: TempPath,
    hash: Sha256,
    bytes: u64,
    /// The beginning, until it was judged.
    head: Option<Vec<u8>>,
}

impl<'a> Filling<'a> {
    async fn begin(
        to: &Path,
        request: &'a Download,
        url: &'a Url,
        content_type: String,
    ) -> Result<Self, Setback> {
        let folder = to.parent().unwrap_or(Path::new(".")).to_owned();
        let made = blocking(move || tempfile::Builder::new().prefix(PART).tempfile_in(folder));
        let (file, path) = made.await?.into_parts();
        Ok(Self {
            request,
            url,
            content_type,
            file: File::from_std(file),
            path,
            hash: Sha256::new(),
            bytes: 0,
            head: (request.expect == Expect::Pdf).then(Vec::new),
        })
    }

    async fn fill(
        &mut self,
        mut response: Response,
        progress: &(dyn Fn(u64, Option<u64>) + Send + Sync),
    ) -> Result<(), Setback> {
        let most = self.request.most_bytes;
        let said = response.content_length();
        if said.is_some_and(|it| it > most) {
            return Err(too_large(self.url, most));
        }
        while let Some(piece) = next(&mut response, self.url).await? {
            self.bytes += piece.len() as u64;
            if self.bytes > most {
                return Err(too_large(self.url, most));
            }
            self.hash.update(&piece);
            if let Some(head) = &mut self.head {
                head.extend(piece.iter().take(HEAD_BYTES - head.len()));
                if head.len() >= HEAD_BYTES {
                    self.judge()?;
                }
            }
            self.file.write_all(&piece).await.map_err(|it| local(&it))?;
            progress(self.bytes, said);
        }
        self.judge()
    }

    /// Judges the beginning, once.
    fn judge(&mut self) -> Result<(), Setback> {
        let Some(head) = self.head.take() else {
            return Ok(());
        };
        let is_page = looks_like_html(&head);
        if !is_page && memchr::memmem::find(&head, b"%PDF-").is_some() {
            return Ok(());
        }
        let reason = if is_page || self.content_type == "text/html" {
            "a web page, not a PDF".to_owned()
        } else if head.is_empty() {
            "nothing, not a PDF".to_owned()
        } else if self.content_type.is_empty() || self.content_type == "application/pdf" {
            "not a PDF by its content".to_owned()
        } else {
            format!("not a PDF but {}", self.content_type)
        };
        Err(Setback::Final(WebError::Unreadable {
            host: host_of(self.url),
            reason,
        }))
    }

    /// Makes it the file it is to be.
    async fn end(mut self, to: &Path) -> Result<(u64, String), Setback> {
        self.file.flush().await.map_err(|it| local(&it))?;
        self.file.sync_all().await.map_err(|it| local(&it))?;
        let (path, to) = (self.path, to.to_owned());
        blocking(move || path.persist(to).map_err(|it| it.error)).await?;
        Ok((self.bytes, hex(&self.hash.finalize())))
    }
}

/// Runs what may wait for the disk where that harms nobody.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Setback> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.unwrap_or_else(|error| Err(io::Error::other(error)));
    done.map_err(|it| local(&it))
}

fn local(error: &io::Error) -> Setback {
    Setback::Final(WebError::Local {
        what: "writing the file",
        reason: error.to_string(),
    })
}
