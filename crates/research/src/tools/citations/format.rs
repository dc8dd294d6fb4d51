//! The `format_citations` tool: formats citations in a style, which may be a user's own file.

use std::{fmt::Write as _, sync::Arc};

use deliberate_citations::{
    BibliographyEntry, CitationError, CitationStyle, FormatOptions, FormattedEntry,
    OutputFormat as Form, StyleError, format,
};
use deliberate_toolkit::{
    ArgumentIssue, ErrorCode, Tool, ToolContext, ToolError, ToolMeta, ToolOutput, compute,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ResearchServices,
    articles::ArticleRecord,
    bibliography::{SelectedArticles, select_articles},
    ingest::path_policy::open_readable_file,
    tools::rendering::{read_only_meta, read_only_output, with_notes},
};

/// The `format_citations` tool.
pub(crate) struct FormatCitations(pub(super) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Identifiers
    #[serde(default)]
    #[schemars(length(max = 200), extend("x-separated" = "ids"))]
    articles: Vec<String>,
    /// apa, ieee, mla, chicago, harvard, nature, vancouver… or a .csl file
    #[serde(default = "ieee")]
    style: String,
    /// Instead of articles
    search_query: Option<String>,
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 200))]
    max_results: usize,
    /// Language: de-DE
    locale: Option<String>,
}

fn ieee() -> String {
    "ieee".to_owned()
}

fn ten() -> usize {
    10
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    style: String,
    /// In bibliography order
    citations: Vec<FormattedEntry>,
    /// Keys of retracted works
    retracted: Vec<String>,
    /// Identifiers that were not found
    not_found: Vec<String>,
    /// Articles beyond `max_results`
    left_out: usize,
    notes: Vec<String>,
}

impl Tool for FormatCitations {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "format_citations",
            "Format citations",
            "Articles of the collection in a CSL citation style; incomplete records are flagged",
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let style = self.find_style(&input.style).await?;
        let search = input.search_query.as_deref();
        let SelectedArticles {
            articles,
            not_found,
            remaining: left_out,
            notes,
        } = select_articles(&self.0, call, &input.articles, search, input.max_results).await?;
        let name = style.name().to_owned();
        let retracted: Vec<String> = articles.iter().filter_map(retracted_key).collect();
        let locale = input.locale;
        let formatting = move || format_text_and_markdown(&articles, &style, locale.as_deref());
        let formatted = compute(formatting).await?;
        let (citations, marked) = formatted.map_err(|error| ToolError::Custom {
            code: ErrorCode::Citation,
            message: error.to_string(),
            hint: None,
        })?;
        let said = render_text(&marked, &retracted, &not_found, left_out);
        Ok(read_only_output(Output {
            said: with_notes(said, &notes),
            style: name,
            citations,
            retracted,
            not_found,
            left_out,
            notes,
        }))
    }
}

impl FormatCitations {
    /// Finds a style by its name, or reads it from a `.csl` file that may be read.
    async fn find_style(&self, given: &str) -> Result<CitationStyle, ToolError> {
        let invalid = |reason: String| {
            let issue = ArgumentIssue::new("style", reason);
            ToolError::Invalid(vec![issue])
        };
        if !given.trim().to_lowercase().ends_with(".csl") {
            return CitationStyle::find(given).map_err(|error| invalid(error.to_string()));
        }
        let file = open_readable_file(self.0.options(), "style", given.trim()).await?;
        // The limit on styles is checked when the text is parsed.
        let xml = file.read_head(CitationStyle::MAX_BYTES + 1).await?;
        let style = compute(move || match std::str::from_utf8(&xml) {
            Ok(xml) => CitationStyle::from_csl_xml(xml),
            Err(error) => Err(StyleError::Unreadable(error.to_string())),
        });
        style.await?.map_err(|error| invalid(error.to_string()))
    }
}

/// Formats the citations as plain text, for use in other texts, and as Markdown, for reading.
fn format_text_and_markdown(
    articles: &[ArticleRecord],
    style: &CitationStyle,
    locale: Option<&str>,
) -> Result<(Vec<FormattedEntry>, Vec<FormattedEntry>), CitationError> {
    let entries = articles.iter().map(|kept| BibliographyEntry {
        key: Some(&kept.cite_key),
        article: &kept.article,
    });
    let entries: Vec<BibliographyEntry<'_>> = entries.collect();
    let formatted = |output: Form| {
        let options = FormatOptions {
            output,
            locale: locale.map(str::to_owned),
        };
        format(&entries, style, &options).map(|it| it.entries)
    };
    Ok((formatted(Form::Plain)?, formatted(Form::Markdown)?))
}

/// The key of an article if it is retracted.
pub(super) fn retracted_key(kept: &ArticleRecord) -> Option<String> {
    (kept.article.retracted == Some(true)).then(|| kept.cite_key.clone())
}

/// The name of a field in the arguments of `update_article_metadata`.
fn argument_name(field: &str) -> &str {
    match field {
        "date" => "publication_date",
        "kind" => "document_type",
        "venue" => "journal",
        same => same,
    }
}

fn render_text(
    entries: &[FormattedEntry],
    retracted: &[String],
    not_found: &[String],
    left_out: usize,
) -> String {
    let mut text = String::new();
    if entries.is_empty() {
        text.push_str("There is nothing to cite.\n");
    }
    for entry in entries {
        let _ = writeln!(text, "- {}", entry.text);
        if retracted.contains(&entry.key) {
            text.push_str("  **Retracted**: mention this wherever you cite it.\n");
        }
        let lacks = entry.missing.iter().map(|it| it.field.as_str());
        let lacks: Vec<&str> = lacks.map(argument_name).collect();
        if !lacks.is_empty() {
            let _ = writeln!(
                text,
                "  **Incomplete**: no {}. update_article_metadata adds it.",
                lacks.join(", ")
            );
        }
    }
    for problem in not_found {
        let _ = writeln!(text, "- {problem}");
    }
    if left_out > 0 {
        let _ = writeln!(
            text,
            "\n{left_out} more of the collection not included; raise max_results to include them."
        );
    }
    text
}
