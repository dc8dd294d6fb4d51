//! The `process_pdf` tool: reads one file into the collection.

use std::fmt::Write as _;
use std::sync::Arc;

use deliberate_toolkit::{
    ErrorCode, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ResearchServices,
    articles::{ArticleRepository, VersionedArticle},
    ingest::{
        IngestOutcome, IngestRequest, IngestResult,
        path_policy::{VerifiedFile, create_papers_subfolder, open_readable_file},
        pdf_download::download_path,
    },
    tools::rendering::{ArticleView, article_line, pluralize, tool_meta, with_notes},
};

/// The `process_pdf` tool.
pub(crate) struct ProcessPdf(pub(crate) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Or an article that was downloaded
    #[schemars(length(min = 1, max = 4096))]
    pdf_path: String,
    #[serde(default = "yes")]
    skip_existing: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    article_id: String,
    /// added, joined or unchanged
    outcome: &'static str,
    article: ArticleView,
    headings: usize,
    figures_and_tables: usize,
    references: usize,
    warnings: Vec<String>,
    notes: Vec<String>,
}

impl Tool for ProcessPdf {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "process_pdf",
            "Process a file",
            "Read a PDF, HTML, Markdown, text, DOCX or EPUB file into the collection.",
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
        let (file, of) = self.resolve_file(&input.pdf_path, call).await?;
        let mut ingest = IngestRequest::for_paper(file, input.skip_existing);
        ingest.article = of;
        let ingested = ingest.run(&self.0, call).await?;
        let (headings, figures_and_tables, references) = ingested.outline;
        let file = ingested.record.file.as_ref();
        Ok(ToolOutput {
            output: Output {
                said: with_notes(render_text(&ingested), &ingested.notes),
                article_id: ingested.record.id.clone(),
                outcome: ingested.outcome.as_str(),
                article: ArticleView::from_record(&ingested.record),
                headings,
                figures_and_tables,
                references,
                warnings: file.map(|it| it.warnings.clone()).unwrap_or_default(),
                notes: ingested.notes,
            },
            changes: ingested.changes,
            session: None,
        })
    }
}

impl ProcessPdf {
    /// Finds the file with this path, or the file of this article.
    async fn resolve_file(
        &self,
        given: &str,
        call: &ToolContext,
    ) -> Result<(VerifiedFile, Option<VersionedArticle>), ToolError> {
        let options = self.0.options();
        let refused = match open_readable_file(options, "pdf_path", given).await {
            Ok(file) => return Ok((file, None)),
            Err(refused) => refused,
        };
        let Some(of) = ArticleRepository(call.store()).look_up(given).await? else {
            return Err(refused);
        };
        let folder = create_papers_subfolder(options, None).await?;
        let name =
            download_path(ArticleRepository(call.store()), &folder, &of.record.article).await?;
        let file = open_readable_file(options, "pdf_path", &name.to_string_lossy()).await;
        let file = file.map_err(|_| ToolError::Custom {
            code: ErrorCode::NotDownloaded,
            message: format!("the PDF of {} has not been downloaded", of.record.cite_key),
            hint: Some("Call download_pdf with the same identifier first.".to_owned()),
        })?;
        Ok((file, Some(of)))
    }
}

fn render_text(ingested: &IngestResult) -> String {
    let (headings, captions, references) = ingested.outline;
    let shown = article_line(&ingested.record);
    let mut said = match ingested.outcome {
        IngestOutcome::Unchanged => {
            return format!("Unchanged since it was last read: {shown}");
        }
        IngestOutcome::Added => format!("Added: {shown}"),
        IngestOutcome::Merged => format!("Joined with the existing article: {shown}"),
    };
    let _ = write!(
        said,
        "\n\n- {}, {}, {}, {}\n- id: {}",
        pluralize(ingested.record.chars, "character"),
        pluralize(headings as u64, "heading"),
        pluralize(captions as u64, "caption"),
        pluralize(references as u64, "reference"),
        ingested.record.id
    );
    for warning in ingested.record.file.iter().flat_map(|it| &it.warnings) {
        let _ = write!(said, "\n- warning: {warning}");
    }
    said
}
