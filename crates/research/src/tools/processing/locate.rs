//! The `locate_pdf` tool: finds open PDFs of a paper.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::lookup_line,
    download::{PdfFileView, to_pdf_file_view},
    resolve_paper,
};
use crate::{
    ResearchServices,
    articles::ArticleRepository,
    ingest::{
        batch_job::ProgressShare,
        path_policy::create_papers_subfolder,
        pdf_download::{DownloadTarget, PdfDownload, download_path},
    },
    pdf_locator::SourceLookup,
    sources::PdfLocation,
    tools::rendering::{escape_markdown, read_only_output, tool_meta, with_notes},
};

/// The `locate_pdf` tool.
pub(crate) struct LocatePdf(pub(crate) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 1000))]
    article_identifier: String,
    #[serde(default = "yes")]
    search_multiple_sources: bool,
    #[serde(default)]
    auto_download: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    title: String,
    /// Open PDFs, best first
    places: Vec<PdfLocation>,
    /// Perhaps behind a paywall
    doubtful: Vec<PdfLocation>,
    /// If nothing is open: web pages for a person, not PDFs
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pages: Vec<String>,
    asked: Vec<SourceLookup>,
    #[serde(skip_serializing_if = "Option::is_none")]
    downloaded: Option<PdfFileView>,
    notes: Vec<String>,
}

impl Tool for LocatePdf {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "locate_pdf",
            "Locate a PDF",
            "Find open PDFs of a paper by DOI, arXiv id or article.",
            ToolHints {
                read_only: false,
                open_world: true,
                ..ToolHints::READ_ONLY
            },
        )
    }

    fn may_run_in_background(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let name = &input.article_identifier;
        let (article, _, mut notes) = resolve_paper(&self.0, call, name).await?;
        ProgressShare::FULL.report(call, 0.2, "looking for open PDFs");
        let locator = self.0.locator();
        let located = if input.search_multiple_sources {
            locator.locate(&article).await
        } else {
            locator.locate_offline(&article)
        };
        let mut downloaded = None;
        if input.auto_download && !located.places.is_empty() {
            let folder = create_papers_subfolder(self.0.options(), None).await?;
            let obtaining = PdfDownload {
                services: &self.0,
                call,
                overwrite: false,
                timeout: Duration::from_mins(2),
                share: ProgressShare::FULL.subrange(0.5, 1.0),
            };
            let to = download_path(ArticleRepository(call.store()), &folder, &article).await?;
            match obtaining.fetch(DownloadTarget::Paper(&article), to).await {
                Ok(here) => downloaded = Some(to_pdf_file_view(&here)),
                Err(error @ ToolError::Cancelled) => return Err(error),
                Err(error) => notes.push(format!("Not downloaded: {error}.")),
            }
        }
        let pages = if located.places.is_empty() {
            locator.landing_pages(&article)
        } else {
            Vec::new()
        };
        let mut output = Output {
            said: String::new(),
            title: article.title,
            places: located.places,
            doubtful: located.doubtful,
            pages,
            asked: located.asked,
            downloaded,
            notes,
        };
        output.said = with_notes(render_text(name, &output), &output.notes);
        Ok(read_only_output(output))
    }
}

fn render_text(name: &str, output: &Output) -> String {
    let title = if output.title.is_empty() {
        name
    } else {
        &output.title
    };
    let mut said = match output.places.len() {
        0 => format!("No open PDF of **{}** was found.\n", escape_markdown(title)),
        1 => format!("One open PDF of **{}**:\n", escape_markdown(title)),
        many => format!("{many} open PDFs of **{}**:\n", escape_markdown(title)),
    };
    let mut list = |locations: &[PdfLocation], doubt: &str| {
        for place in locations {
            let version = place
                .version
                .as_deref()
                .map(|it| format!(", {}", escape_markdown(it)));
            let _ = write!(
                said,
                "\n- {} ({}{}){doubt}",
                escape_markdown(&place.url),
                escape_markdown(&place.source),
                version.unwrap_or_default()
            );
        }
    };
    list(&output.places, "");
    list(&output.doubtful, ": perhaps behind a paywall");
    if !output.pages.is_empty() {
        said.push_str("\n\nWeb pages to check manually; they may require payment or a login:\n");
        for page in &output.pages {
            let _ = write!(said, "\n- {}", escape_markdown(page));
        }
    }
    if let Some(file) = &output.downloaded {
        let _ = write!(
            said,
            "\n\nDownloaded to {}. process_pdf reads it.",
            file.path
        );
    }
    let asked: Vec<String> = output.asked.iter().map(lookup_line).collect();
    if !asked.is_empty() {
        let _ = write!(said, "\n\nAsked: {}", asked.join(" "));
    }
    said
}
