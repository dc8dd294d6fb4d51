//! `download_pdf`: one file into the folder of papers, whole or not at all.

use std::{path::PathBuf, sync::Arc, time::Duration};

use deliberate_toolkit::{About, Annotations, Call, Issue, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use super::{
    super::shown::{about, only_read, plain, with_notes},
    paper,
};
use crate::{
    Lab,
    collect::{
        Library,
        files::{papers_folder, sha256_of_bytes},
        job::Share,
        obtain::{Here, Obtaining, What, place_for},
    },
    locate::safe_file_name,
    sources::PaperId,
};

/// A name that comes from an address is cut to so many characters.
const NAME_CHARS: usize = 80;

/// `download_pdf`.
pub(crate) struct DownloadPdf(pub(crate) Arc<Lab>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Address, DOI, arXiv id or article
    #[schemars(length(min = 1, max = 2000))]
    source: String,
    output_directory: Option<String>,
    filename: Option<String>,
    #[serde(default)]
    overwrite: bool,
    /// Seconds
    #[serde(default = "usual")]
    #[schemars(range(min = 5, max = 300))]
    timeout: u64,
}

fn usual() -> u64 {
    30
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    file: Fetched,
    notes: Vec<String>,
}

/// A file that is here.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Fetched {
    pub(crate) path: String,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    /// By its content
    pub(crate) is_pdf: bool,
    /// Where it came from; nothing if it was here before
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    pub(crate) was_there: bool,
}

impl Tool for DownloadPdf {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        about(
            "download_pdf",
            "Download a PDF",
            "Fetch a PDF into the folder of papers.",
            Annotations {
                idempotent: true,
                open_world: true,
                ..Annotations::ADDS
            },
        )
    }

    fn takes_long(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let folder = papers_folder(self.0.options(), input.output_directory.as_deref()).await?;
        let given = input.filename.as_deref().filter(|it| !it.trim().is_empty());
        let given = given.map(pdf_name).transpose()?;
        let obtaining = Obtaining {
            lab: &self.0,
            call,
            overwrite: input.overwrite,
            time: Duration::from_secs(input.timeout),
            share: Share::WHOLE,
        };
        let mut notes = Vec::new();
        let here = if let Some(url) = address(&input.source, call).await? {
            let to = folder.join(given.unwrap_or_else(|| name_of(&url)));
            obtaining.fetch(What::Address(url), to).await?
        } else {
            let (article, _, told) = paper(&self.0, call, &input.source).await?;
            notes = told;
            let to = match given {
                Some(name) => folder.join(name),
                None => place_for(Library(call.store()), &folder, &article).await?,
            };
            obtaining.fetch(What::Paper(&article), to).await?
        };
        notes.extend(here.notes.iter().cloned());
        let file = fetched(&here);
        let said = with_notes(said(&file), &notes);
        Ok(only_read(Output { said, file, notes }))
    }
}

/// The address, if it is one and not the name of a paper: arXiv's and doi.org's pages are names.
async fn address(source: &str, call: &Call) -> Result<Option<Url>, ToolError> {
    let Ok(url) = Url::parse(source.trim()) else {
        return Ok(None);
    };
    // What stands in `http://10.0.0.5/x` is no DOI.
    let is_bare = matches!(url.host(), Some(Host::Ipv4(_) | Host::Ipv6(_)));
    if !is_bare && PaperId::parse(source).is_some() {
        return Ok(None);
    }
    if Library(call.store()).look_up(source).await?.is_some() {
        return Ok(None);
    }
    match url.scheme() {
        "http" | "https" => Ok(Some(url)),
        _ if url.has_host() => {
            let issue = Issue::new(
                "source",
                "must begin with http:// or https:// if it is an address",
            );
            Err(ToolError::Invalid(vec![issue.given(&source.into())]))
        }
        _ => Ok(None),
    }
}

/// The name that was given, with `.pdf` at its end.
fn pdf_name(given: &str) -> Result<String, ToolError> {
    let is_pdf = PathBuf::from(given)
        .extension()
        .is_some_and(|it| it.eq_ignore_ascii_case("pdf"));
    let whole = if is_pdf {
        given.to_owned()
    } else {
        format!("{given}.pdf")
    };
    safe_file_name(&whole).ok_or_else(|| {
        let rule = "must be the name of a file, without a folder and not hidden";
        ToolError::Invalid(vec![Issue::new("filename", rule).given(&given.into())])
    })
}

/// The name that an address ends with, or one made of its host, and a mark of the whole address:
/// many end alike.
fn name_of(url: &Url) -> String {
    let name = last_name_of(url);
    let stem = name.strip_suffix(".pdf").unwrap_or(&name);
    let stem = deliberate_core::cut_to_chars(stem, NAME_CHARS);
    let mark: String = sha256_of_bytes(url.as_str().as_bytes())
        .chars()
        .take(8)
        .collect();
    format!("{stem}-{mark}.pdf")
}

fn last_name_of(url: &Url) -> String {
    let last = url.path_segments().and_then(|mut it| it.next_back());
    let last = last.filter(|it| !it.is_empty()).unwrap_or("paper");
    let decoded = percent_encoding::percent_decode_str(last).decode_utf8_lossy();
    let named = pdf_name(&decoded).ok();
    named.unwrap_or_else(|| {
        let host = url
            .host_str()
            .unwrap_or("file")
            .replace(['.', ':', '[', ']'], "-");
        format!("{host}-paper.pdf")
    })
}

pub(super) fn fetched(here: &Here) -> Fetched {
    Fetched {
        path: here.path.to_string_lossy().into_owned(),
        bytes: here.bytes,
        sha256: here.sha256.clone(),
        is_pdf: here.is_pdf,
        url: here.from.as_ref().map(|it| it.url.clone()),
        was_there: here.from.is_none(),
    }
}

fn said(file: &Fetched) -> String {
    let kind = if file.is_pdf { "a PDF" } else { "not a PDF" };
    let how = if file.was_there {
        "Nothing was fetched: a file of that name was there already (overwrite replaces it, \
         filename gives another)"
            .to_owned()
    } else {
        format!(
            "Fetched from {}",
            plain(file.url.as_deref().unwrap_or_default())
        )
    };
    format!(
        "{how}.\n\n- path: {}\n- {} bytes, {kind}\n- SHA-256: {}\n\nprocess_pdf with this path \
         reads it into the collection.",
        plain(&file.path),
        file.bytes,
        file.sha256
    )
}
