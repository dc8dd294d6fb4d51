//! The `extract_pdf_metadata` tool: reads the metadata of a file without storing anything.

use std::fmt::Write as _;
use std::sync::Arc;

use deliberate_core::{PromptFence, truncate_chars};
use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolMeta, ToolOutput, compute};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ResearchServices,
    articles::{FullText, sections::sections},
    ingest::path_policy::{file_sha256, open_readable_file},
    prompt_fence::{fence_passage, prompt_fence, untrusted_data_notice},
    tools::rendering::{escape_markdown, pluralize, read_only_meta, read_only_output},
};

const PREVIEW_CHARS: usize = 1_000;
const MAX_HEADINGS: usize = 100;

/// The `extract_pdf_metadata` tool.
pub(crate) struct ExtractPdfMetadata(pub(crate) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 4096))]
    pdf_path: String,
    #[serde(default = "yes")]
    extract_text_preview: bool,
    #[serde(default)]
    analyze_structure: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    path: String,
    bytes: u64,
    sha256: String,
    pages: usize,
    characters: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authors: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    published: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    venue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keywords: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    producer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doi: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arxiv_id: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    headings: Vec<String>,
    figures_and_tables: usize,
    references: usize,
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preview: Option<String>,
}

impl Tool for ExtractPdfMetadata {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "extract_pdf_metadata",
            "Metadata of a file",
            "The metadata of a file with a preview and its structure; stores nothing.",
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let file = open_readable_file(self.0.options(), "pdf_path", &input.pdf_path).await?;
        let sha256 = file_sha256(&file).await?;
        call.progress(0.3, Some(1.0), "reading the file");
        let document = self.0.extract_document(&file).await?;
        let meta = document.meta.clone();
        let warnings = document
            .warnings
            .iter()
            .take(20)
            .map(|it| it.message.clone());
        let warnings = warnings.collect();
        let text = FullText::from_document(document);
        let (text, sections) = compute(move || {
            let sections = sections(&text);
            (text, sections)
        })
        .await?;
        let preview = text.pages.iter().find(|it| !it.trim().is_empty());
        let headings = sections.into_iter().take(MAX_HEADINGS);
        let headings = headings.map(|it| format!("{} (p. {})", it.label(), it.page));
        let mut output = Output {
            said: String::new(),
            path: file.path.to_string_lossy().into_owned(),
            bytes: file.bytes,
            sha256,
            pages: text.pages.len(),
            characters: text.char_count(),
            title: meta.title,
            authors: meta.authors,
            created: meta.created,
            published: meta.published,
            venue: meta.venue,
            keywords: meta.keywords,
            producer: meta.producer,
            language: meta.language,
            doi: meta.doi,
            arxiv_id: meta.arxiv_id,
            headings: headings.filter(|_| input.analyze_structure).collect(),
            figures_and_tables: text.outline.captions.len(),
            references: text.outline.references.len(),
            warnings,
            preview: preview
                .filter(|_| input.extract_text_preview)
                .map(|it| truncate_chars(it, PREVIEW_CHARS)),
        };
        output.said = render_text(&output, &prompt_fence(call));
        Ok(read_only_output(output))
    }
}

fn render_text(output: &Output, fence: &PromptFence) -> String {
    let mut said = format!(
        "{}: {}, {}, {}, {}, {}\n",
        escape_markdown(&output.path),
        pluralize(output.bytes, "byte"),
        pluralize(output.pages as u64, "page"),
        pluralize(output.characters, "character"),
        pluralize(output.figures_and_tables as u64, "caption"),
        pluralize(output.references as u64, "reference")
    );
    for (name, value) in [
        ("title", &output.title),
        ("authors", &output.authors),
        ("created", &output.created),
        ("published", &output.published),
        ("in", &output.venue),
        ("keywords", &output.keywords),
        ("made with", &output.producer),
        ("language", &output.language),
        ("DOI", &output.doi),
        ("arXiv", &output.arxiv_id),
    ] {
        if let Some(value) = value {
            let _ = write!(said, "\n- {name}: {}", escape_markdown(value));
        }
    }
    for heading in &output.headings {
        let _ = write!(said, "\n- § {}", escape_markdown(heading));
    }
    for warning in &output.warnings {
        let _ = write!(said, "\n- warning: {}", escape_markdown(warning));
    }
    if let Some(preview) = &output.preview {
        let _ = write!(
            said,
            "\n\n{}\n{}",
            untrusted_data_notice(fence),
            fence_passage(fence, &[], preview)
        );
    }
    said
}
