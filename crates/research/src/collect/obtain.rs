//! A paper's PDF brought into the folder of papers. It is there whole or not at all, and what was
//! there before stays unless it is said otherwise.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use deliberate_core::Article;
use deliberate_toolkit::{Call, ToolError};
use url::Url;

use super::{
    Library,
    fence::harmless,
    files::{SafeFile, sha256_of, sha256_of_bytes},
    job::Share,
    known::are_two,
    library::ids_of,
    title_key,
};
use crate::{
    Lab,
    locate::{FetchLimits, Located, file_name_for},
    sources::PdfPlace,
    web::{Download, Pace, WebError},
};

/// How large a PDF is thought to be if nobody says it, to tell how far fetching it has come.
const USUAL_BYTES: f64 = 5_000_000.0;

/// A file that is here now.
#[derive(Debug, Clone)]
pub(crate) struct Here {
    /// Where.
    pub(crate) path: PathBuf,
    /// Its SHA-256, in hex.
    pub(crate) sha256: String,
    /// How large it is.
    pub(crate) bytes: u64,
    /// Where it came from; nothing if it was here before.
    pub(crate) from: Option<PdfPlace>,
    /// Whether it is a PDF, by its content.
    pub(crate) is_pdf: bool,
    /// What was tried in vain.
    pub(crate) notes: Vec<String>,
}

/// What is fetched: from one address, or from wherever a paper's PDF is open.
pub(crate) enum What<'a> {
    Address(Url),
    Paper(&'a Article),
}

/// How it is fetched.
pub(crate) struct Obtaining<'a> {
    pub(crate) lab: &'a Lab,
    pub(crate) call: &'a Call,
    pub(crate) overwrite: bool,
    pub(crate) time: Duration,
    /// What fetching it is of the work of the call.
    pub(crate) share: Share,
}

impl Obtaining<'_> {
    /// Fetches it to that path, unless a file is there.
    pub(crate) async fn fetch(&self, what: What<'_>, to: PathBuf) -> Result<Here, ToolError> {
        if !self.overwrite && tokio::fs::symlink_metadata(&to).await.is_ok() {
            return found_here(to).await;
        }
        let (call, share) = (self.call, self.share);
        let progress = move |bytes: u64, of: Option<u64>| {
            let of = of.filter(|it| *it > 0).map_or(USUAL_BYTES, |it| it as f64);
            let megabytes = bytes as f64 / 1_000_000.0;
            share.tell(call, bytes as f64 / of, &format!("{megabytes:.1} MB"));
        };
        let most_bytes = self.lab.options().file_bytes;
        let limits = FetchLimits {
            most_bytes,
            time: self.time,
        };
        let (place, file, failed) = match what {
            What::Address(url) => {
                let asked = pace_of(&url);
                let download = Download::pdf(url.clone(), asked).at_most(most_bytes);
                let fetched = self
                    .lab
                    .web()
                    .download(download.within(self.time), &to, &progress);
                let file = fetched.await.map_err(|error| not_fetched(&error))?;
                let place = PdfPlace {
                    url: url.to_string(),
                    source: "address".to_owned(),
                    version: None,
                    licence: None,
                };
                (place, file, Vec::new())
            }
            What::Paper(article) => {
                let obtained = self
                    .lab
                    .locator()
                    .obtain(article, &to, limits, &progress)
                    .await;
                match obtained {
                    Ok(it) => (it.place, it.file, it.failed),
                    Err((located, failed)) => return Err(nowhere(article, &located, &failed)),
                }
            }
        };
        Ok(Here {
            path: to,
            sha256: file.sha256,
            bytes: file.bytes,
            from: Some(place),
            is_pdf: true,
            notes: failed.iter().map(in_vain).collect(),
        })
    }
}

/// Where the file of a paper goes in the folder: under the paper's name, or, if the file of that name
/// is known to be another work's, under that name with a mark. Names are short, and many begin alike.
pub(crate) async fn place_for(
    library: Library<'_>,
    folder: &Path,
    article: &Article,
) -> Result<PathBuf, ToolError> {
    let name = file_name_for(article);
    let usual = folder.join(&name);
    let there = library.by_key("path", &usual.to_string_lossy()).await?;
    if !there.is_some_and(|it| are_two(&it.kept.article, article)) {
        return Ok(usual);
    }
    let id = ids_of(article).next().map(|it| it.1);
    let id = id.unwrap_or_else(|| title_key(&article.title));
    let mark: String = sha256_of_bytes(id.as_bytes()).chars().take(8).collect();
    let stem = name.strip_suffix(".pdf").unwrap_or(&name);
    Ok(folder.join(format!("{stem}-{mark}.pdf")))
}

/// One at a time from each host.
fn pace_of(url: &Url) -> Pace {
    let host = url.host_str().unwrap_or("nobody");
    Pace::new(format!("file:{host}"), Duration::from_millis(500))
}

async fn found_here(path: PathBuf) -> Result<Here, ToolError> {
    let about = tokio::fs::symlink_metadata(&path).await;
    if !about.is_ok_and(|it| it.is_file()) {
        return Err(ToolError::Told {
            code: "AlreadyThere".to_owned(),
            message: format!("{} is there already, and is no plain file", path.display()),
            hint: Some("Choose another filename.".to_owned()),
        });
    }
    let file = SafeFile::of_papers(path).await?;
    let sha256 = sha256_of(&file).await?;
    let is_pdf = memchr::memmem::find(&file.head(1_024).await?, b"%PDF-").is_some();
    Ok(Here {
        sha256,
        bytes: file.bytes,
        from: None,
        is_pdf,
        path: file.path,
        notes: Vec::new(),
    })
}

fn in_vain((place, error): &(PdfPlace, WebError)) -> String {
    format!("{} ({}): {error}.", place.url, place.source)
}

/// No place had it: who was asked and what they said.
fn nowhere(article: &Article, located: &Located, failed: &[(PdfPlace, WebError)]) -> ToolError {
    let mut why: Vec<String> = failed.iter().map(in_vain).collect();
    why.extend(located.asked.iter().map(super::super::tools::asked_line));
    let mut hint = why.join(" ");
    if let Some(place) = located.doubtful.first() {
        let _ = write!(
            hint,
            " It may be at {}, perhaps behind a paywall.",
            place.url
        );
    }
    hint.push_str(" Put the file into the folder of papers and call process_pdf.");
    ToolError::Told {
        code: "NoOpenPdf".to_owned(),
        message: format!("no open PDF of {} could be fetched", called(article)),
        hint: Some(hint.trim().to_owned()),
    }
}

/// What a paper is called: by its title, or by its id if that is all that is known of it.
fn called(article: &Article) -> String {
    let ids = [
        article.doi.as_ref().map(ToString::to_string),
        article.arxiv_id.as_ref().map(|it| format!("arXiv:{it}")),
    ];
    let id = ids.into_iter().flatten().next();
    match (article.title.trim(), id) {
        ("", Some(id)) => id,
        ("", None) => "it".to_owned(),
        (title, _) => {
            let title = deliberate_core::cut_to_chars(title, 200);
            format!("{:?}", harmless(&title))
        }
    }
}

/// What the net failed with, as a client reads it.
pub(crate) fn not_fetched(error: &WebError) -> ToolError {
    let hint = match error {
        WebError::RateLimited { .. } => "Wait, then call again.",
        WebError::Forbidden { .. } => "Only addresses of the public net are asked.",
        WebError::Unreadable { .. } => {
            "The address leads to something else; locate_pdf finds open PDFs by DOI or arXiv id."
        }
        WebError::TooLarge { .. } => "Raise the limit in the settings, or fetch it yourself.",
        _ => "Check the address, or call again later.",
    };
    ToolError::Told {
        code: match error {
            WebError::RateLimited { .. } => "RateLimited",
            WebError::Forbidden { .. } => "AddressNotAllowed",
            WebError::NotThere { .. } => "NotThere",
            WebError::TooLarge { .. } => "TooLarge",
            WebError::Unreadable { .. } => "NotAPdf",
            _ => "DownloadFailed",
        }
        .to_owned(),
        message: error.to_string(),
        hint: Some(hint.to_owned()),
    }
}
