//! `format_citations`.

use std::{fmt::Write as _, sync::Arc};

use deliberate_citations::{Entry, FormatOptions, FormattedEntry, Output as Form, Style, format};
use deliberate_toolkit::{About, Annotations, Call, Issue, Limits, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Lab,
    cite::{Chosen, choose},
};

/// `format_citations`.
pub(crate) struct FormatCitations(pub(super) Arc<Lab>);

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Identifiers
    #[serde(default)]
    #[schemars(length(max = 200))]
    articles: Vec<String>,
    /// apa, ieee, mla, chicago, harvard, nature, vancouver…
    #[serde(default = "ieee")]
    style: String,
    /// In place of articles
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

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    style: String,
    /// In the order of the bibliography
    citations: Vec<FormattedEntry>,
    /// What was named and is not there
    not_found: Vec<String>,
}

impl Tool for FormatCitations {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        About {
            name: "format_citations",
            title: "Format citations",
            description: "Articles of the collection in a CSL citation style; incomplete records \
                 are flagged",
            annotations: Annotations::READS,
            thinks: false,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let style = Style::named(&input.style).map_err(|error| {
            let issue = Issue::new("style", error.to_string());
            ToolError::Invalid(vec![issue])
        })?;
        let most = if input.articles.is_empty() {
            input.max_results
        } else {
            input.articles.len()
        };
        let search = input.search_query.as_deref();
        let Chosen {
            articles,
            not_found,
        } = choose(&self.0, call, &input.articles, search, most).await?;
        let entries: Vec<Entry<'_>> = articles
            .iter()
            .map(|kept| Entry {
                key: Some(&kept.cite_key),
                article: &kept.article,
            })
            .collect();
        let options = FormatOptions {
            output: Form::Markdown,
            locale: input.locale,
        };
        let formatted = format(&entries, &style, &options).map_err(|error| ToolError::Told {
            code: "Citation".to_owned(),
            message: error.to_string(),
            hint: None,
        })?;
        Ok(Outcome {
            output: Output {
                said: said(&formatted.entries, &not_found),
                style: style.name().to_owned(),
                citations: formatted.entries,
                not_found,
            },
            changes: Vec::new(),
            session: None,
        })
    }
}

fn said(entries: &[FormattedEntry], not_found: &[String]) -> String {
    let mut text = String::new();
    if entries.is_empty() {
        text.push_str("There is nothing to cite.\n");
    }
    for entry in entries {
        let _ = writeln!(text, "- {}", entry.text);
        let lacks: Vec<&str> = entry.missing.iter().map(|it| it.field.as_str()).collect();
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
    text
}
