//! `process_pdf`: one file becomes an article with a text.

use std::fmt::Write as _;
use std::sync::Arc;

use deliberate_toolkit::{About, Annotations, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::shown::{ShownArticle, about, count, line, with_notes};
use crate::{
    Lab,
    collect::{
        Library, Version,
        files::{SafeFile, papers_folder, readable_file},
        ingest::{Ingest, Ingested, What},
        obtain::place_for,
    },
};

/// `process_pdf`.
pub(crate) struct ProcessPdf(pub(crate) Arc<Lab>);

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
    article: ShownArticle,
    headings: usize,
    figures_and_tables: usize,
    references: usize,
    warnings: Vec<String>,
    notes: Vec<String>,
}

impl Tool for ProcessPdf {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        about(
            "process_pdf",
            "Process a file",
            "Read a PDF, HTML, Markdown, text, DOCX or EPUB file into the collection.",
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
        let (file, of) = self.file(&input.pdf_path, call).await?;
        let mut ingest = Ingest::paper(file, input.skip_existing);
        ingest.of = of;
        let ingested = ingest.run(&self.0, call).await?;
        let (headings, figures_and_tables, references) = ingested.outline;
        let file = ingested.kept.file.as_ref();
        Ok(Outcome {
            output: Output {
                said: with_notes(said(&ingested), &ingested.notes),
                article_id: ingested.kept.id.clone(),
                outcome: ingested.what.as_str(),
                article: ShownArticle::of(&ingested.kept),
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
    /// The file of that path, or that of the article that is called so.
    async fn file(
        &self,
        given: &str,
        call: &Call,
    ) -> Result<(SafeFile, Option<Version>), ToolError> {
        let options = self.0.options();
        let refused = match readable_file(options, "pdf_path", given).await {
            Ok(file) => return Ok((file, None)),
            Err(refused) => refused,
        };
        let Some(of) = Library(call.store()).look_up(given).await? else {
            return Err(refused);
        };
        let folder = papers_folder(options, None).await?;
        let name = place_for(Library(call.store()), &folder, &of.kept.article).await?;
        let file = readable_file(options, "pdf_path", &name.to_string_lossy()).await;
        let file = file.map_err(|_| ToolError::Told {
            code: "NotDownloaded".to_owned(),
            message: format!("the PDF of {} is not here yet", of.kept.cite_key),
            hint: Some("Call download_pdf with the same identifier first.".to_owned()),
        })?;
        Ok((file, Some(of)))
    }
}

fn said(ingested: &Ingested) -> String {
    let (headings, captions, references) = ingested.outline;
    let shown = line(&ingested.kept);
    let mut said = match ingested.what {
        What::Unchanged => {
            return format!("Unchanged since it was last read: {shown}");
        }
        What::Added => format!("Added: {shown}"),
        What::Joined => format!("Joined with the article that was there: {shown}"),
    };
    let _ = write!(
        said,
        "\n\n- {}, {}, {}, {}\n- id: {}",
        count(ingested.kept.chars, "character"),
        count(headings as u64, "heading"),
        count(captions as u64, "caption"),
        count(references as u64, "reference"),
        ingested.kept.id
    );
    for warning in ingested.kept.file.iter().flat_map(|it| &it.warnings) {
        let _ = write!(said, "\n- warning: {warning}");
    }
    said
}
