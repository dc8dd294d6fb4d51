//! `extract_pdf_metadata`: what a file says of itself, without keeping anything.

use std::fmt::Write as _;
use std::sync::Arc;

use deliberate_core::cut_to_chars;
use deliberate_toolkit::{About, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::shown::{count, only_read, plain, reads};
use crate::{
    Lab,
    blocking::blocking,
    collect::{
        Text,
        fence::{DATA_NOT_ORDERS, fenced},
        files::{readable_file, sha256_of},
        sections::sections,
    },
};

const PREVIEW_CHARS: usize = 1_000;
const MOST_HEADINGS: usize = 100;

/// `extract_pdf_metadata`.
pub(crate) struct ExtractPdfMetadata(pub(crate) Arc<Lab>);

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

    fn about(&self) -> About {
        reads(
            "extract_pdf_metadata",
            "Metadata of a file",
            "What a file says of itself, with a preview and its structure; keeps nothing.",
        )
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let file = readable_file(self.0.options(), "pdf_path", &input.pdf_path).await?;
        let sha256 = sha256_of(&file).await?;
        call.progress(0.3, Some(1.0), "reading the file");
        let document = self.0.read(&file).await?;
        let meta = document.meta.clone();
        let warnings = document
            .warnings
            .iter()
            .take(20)
            .map(|it| it.message.clone());
        let warnings = warnings.collect();
        let text = Text::of(document);
        let (text, sections) = blocking(move || {
            let sections = sections(&text);
            (text, sections)
        })
        .await?;
        let preview = text.pages.iter().find(|it| !it.trim().is_empty());
        let headings = sections.into_iter().take(MOST_HEADINGS);
        let headings = headings.map(|it| format!("{} (p. {})", it.label(), it.page));
        let mut output = Output {
            said: String::new(),
            path: file.path.to_string_lossy().into_owned(),
            bytes: file.bytes,
            sha256,
            pages: text.pages.len(),
            characters: text.chars(),
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
                .map(|it| cut_to_chars(it, PREVIEW_CHARS)),
        };
        output.said = said(&output);
        Ok(only_read(output))
    }
}

fn said(output: &Output) -> String {
    let mut said = format!(
        "{}: {}, {}, {}, {}, {}\n",
        plain(&output.path),
        count(output.bytes, "byte"),
        count(output.pages as u64, "page"),
        count(output.characters, "character"),
        count(output.figures_and_tables as u64, "caption"),
        count(output.references as u64, "reference")
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
            let _ = write!(said, "\n- {name}: {}", plain(value));
        }
    }
    for heading in &output.headings {
        let _ = write!(said, "\n- § {}", plain(heading));
    }
    for warning in &output.warnings {
        let _ = write!(said, "\n- warning: {}", plain(warning));
    }
    if let Some(preview) = &output.preview {
        let _ = write!(said, "\n\n{DATA_NOT_ORDERS}\n{}", fenced(&[], preview));
    }
    said
}
