//! The `download_pdf` tool: downloads one file into the papers folder, completely or not at all.

use std::{path::PathBuf, sync::Arc, time::Duration};

use deliberate_toolkit::{
    ArgumentIssue, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use super::resolve_paper;
use crate::{
    ResearchServices,
    articles::ArticleRepository,
    ingest::{
        batch_job::ProgressShare,
        path_policy::{create_papers_subfolder, sha256_hex},
        pdf_download::{DownloadTarget, LocalPdf, PdfDownload, download_path},
    },
    pdf_locator::safe_file_name,
    sources::PaperId,
    tools::rendering::{escape_markdown, read_only_output, tool_meta, with_notes},
};

/// Characters of a file name that is taken from a URL.
const MAX_NAME_CHARS: usize = 80;

/// The `download_pdf` tool.
pub(crate) struct DownloadPdf(pub(crate) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// URL, DOI, arXiv id or article
    #[schemars(length(min = 1, max = 2000))]
    source: String,
    output_directory: Option<String>,
    filename: Option<String>,
    #[serde(default)]
    overwrite: bool,
    /// Seconds
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 5, max = 300))]
    timeout: u64,
}

fn default_timeout() -> u64 {
    30
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    file: PdfFileView,
    notes: Vec<String>,
}

/// A local file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PdfFileView {
    pub(crate) path: String,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    /// By content
    pub(crate) is_pdf: bool,
    /// Origin; absent if the file already existed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    pub(crate) was_there: bool,
}

impl Tool for DownloadPdf {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "download_pdf",
            "Download a PDF",
            "Download a PDF into the papers folder.",
            ToolHints {
                idempotent: true,
                open_world: true,
                ..ToolHints::ADDITIVE
            },
        )
    }

    fn may_run_in_background(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let folder =
            create_papers_subfolder(self.0.options(), input.output_directory.as_deref()).await?;
        let given = input.filename.as_deref().filter(|it| !it.trim().is_empty());
        let given = given.map(pdf_file_name).transpose()?;
        let obtaining = PdfDownload {
            services: &self.0,
            call,
            overwrite: input.overwrite,
            timeout: Duration::from_secs(input.timeout),
            share: ProgressShare::FULL,
        };
        let mut notes = Vec::new();
        let here = if let Some(url) = parse_pdf_url(&input.source, call).await? {
            let to = folder.join(given.unwrap_or_else(|| file_name_from_url(&url)));
            obtaining.fetch(DownloadTarget::Url(url), to).await?
        } else {
            let (article, _, told) = resolve_paper(&self.0, call, &input.source).await?;
            notes = told;
            let to = match given {
                Some(name) => folder.join(name),
                None => download_path(ArticleRepository(call.store()), &folder, &article).await?,
            };
            obtaining.fetch(DownloadTarget::Paper(&article), to).await?
        };
        notes.extend(here.notes.iter().cloned());
        let file = to_pdf_file_view(&here);
        let said = with_notes(render_text(&file), &notes);
        Ok(read_only_output(Output { said, file, notes }))
    }
}

/// Parses a URL of a file. Pages of arXiv and doi.org are identifiers of papers instead.
async fn parse_pdf_url(source: &str, call: &ToolContext) -> Result<Option<Url>, ToolError> {
    let Ok(url) = Url::parse(source.trim()) else {
        return Ok(None);
    };
    // The path of `http://10.0.0.5/x` is not a DOI.
    let is_bare = matches!(url.host(), Some(Host::Ipv4(_) | Host::Ipv6(_)));
    if !is_bare && PaperId::parse(source).is_some() {
        return Ok(None);
    }
    if ArticleRepository(call.store())
        .look_up(source)
        .await?
        .is_some()
    {
        return Ok(None);
    }
    match url.scheme() {
        "http" | "https" => Ok(Some(url)),
        _ if url.has_host() => {
            let issue = ArgumentIssue::new(
                "source",
                "must begin with http:// or https:// if it is a URL",
            );
            Err(ToolError::Invalid(vec![issue.with_value(&source.into())]))
        }
        _ => Ok(None),
    }
}

/// The given file name with the extension `.pdf`.
fn pdf_file_name(given: &str) -> Result<String, ToolError> {
    let is_pdf = PathBuf::from(given)
        .extension()
        .is_some_and(|it| it.eq_ignore_ascii_case("pdf"));
    let whole = if is_pdf {
        given.to_owned()
    } else {
        format!("{given}.pdf")
    };
    safe_file_name(&whole).ok_or_else(|| {
        let rule = "must be a file name without a folder or a leading dot";
        ToolError::Invalid(vec![
            ArgumentIssue::new("filename", rule).with_value(&given.into()),
        ])
    })
}

/// A file name from the last segment of a URL, or from its host, with a hash of the whole URL,
/// because many URLs end alike.
fn file_name_from_url(url: &Url) -> String {
    let name = last_path_segment(url);
    let stem = name.strip_suffix(".pdf").unwrap_or(&name);
    let stem = deliberate_core::truncate_chars(stem, MAX_NAME_CHARS);
    let mark: String = sha256_hex(url.as_str().as_bytes())
        .chars()
        .take(8)
        .collect();
    format!("{stem}-{mark}.pdf")
}

fn last_path_segment(url: &Url) -> String {
    let last = url.path_segments().and_then(|mut it| it.next_back());
    let last = last.filter(|it| !it.is_empty()).unwrap_or("paper");
    let decoded = percent_encoding::percent_decode_str(last).decode_utf8_lossy();
    let named = pdf_file_name(&decoded).ok();
    named.unwrap_or_else(|| {
        let host = url
            .host_str()
            .unwrap_or("file")
            .replace(['.', ':', '[', ']'], "-");
        format!("{host}-paper.pdf")
    })
}

pub(super) fn to_pdf_file_view(here: &LocalPdf) -> PdfFileView {
    PdfFileView {
        path: here.path.to_string_lossy().into_owned(),
        bytes: here.bytes,
        sha256: here.sha256.clone(),
        is_pdf: here.is_pdf,
        url: here.origin.as_ref().map(|it| it.url.clone()),
        was_there: here.origin.is_none(),
    }
}

fn render_text(file: &PdfFileView) -> String {
    let kind = if file.is_pdf { "a PDF" } else { "not a PDF" };
    let how = if file.was_there {
        "Nothing was downloaded: a file with that name already exists (set overwrite to replace \
         it, or choose another filename)"
            .to_owned()
    } else {
        format!(
            "Fetched from {}",
            escape_markdown(file.url.as_deref().unwrap_or_default())
        )
    };
    format!(
        "{how}.\n\n- path: {}\n- {} bytes, {kind}\n- SHA-256: {}\n\nprocess_pdf with this path \
         adds it to the collection.",
        escape_markdown(&file.path),
        file.bytes,
        file.sha256
    )
}
