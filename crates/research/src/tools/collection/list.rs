//! The `list_articles` tool: pages through the collection, newest first, each article once.

use std::fmt::Write as _;

use deliberate_store::{DocumentFilter, KeyMatch, Pagination};
use deliberate_toolkit::{ArgumentIssue, Tool, ToolContext, ToolError, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    articles::{ARTICLE, ArticleRepository, parse_work_kind, title_key},
    tools::rendering::{ArticleView, article_line, pluralize, read_only_meta, read_only_output},
};

/// The `list_articles` tool.
pub(crate) struct ListArticles;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: u32,
    #[serde(default)]
    offset: u32,
    /// Such as preprint, book
    filter_by_type: Option<String>,
    /// In titles or authors
    #[schemars(length(max = 300))]
    search_term: Option<String>,
}

fn default_limit() -> u32 {
    10
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    total: u64,
    offset: u32,
    articles: Vec<ArticleView>,
    /// Start of the next page, if there is one
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u32>,
}

impl Tool for ListArticles {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "list_articles",
            "List articles",
            "Page through the collection, newest first.",
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let library = ArticleRepository(call.store());
        let filter = build_filter(&input)?;
        let total = call.store().count_documents(&filter).await?;
        let page = Pagination {
            offset: input.offset,
            limit: input.limit,
        };
        let found = library.list(&filter, page).await?;
        let shown = u32::try_from(found.len()).unwrap_or(u32::MAX);
        let next = input.offset.saturating_add(shown);
        let next_offset = (shown > 0 && u64::from(next) < total).then_some(next);
        let mut said = match (total, found.is_empty()) {
            (0, _) => {
                "No article matches. search_papers finds papers; process_pdf and add_article \
                       add them to the collection."
                    .to_owned()
            }
            (_, true) => format!(
                "There are {}; the offset is past the end.",
                pluralize(total, "article")
            ),
            _ => format!(
                "{} in all, {} to {next}:\n",
                pluralize(total, "article"),
                input.offset + 1
            ),
        };
        for it in &found {
            let _ = write!(said, "\n- {}", article_line(&it.record));
        }
        if let Some(next) = next_offset {
            let _ = write!(said, "\n\nMore with offset {next}.");
        }
        Ok(read_only_output(Output {
            said,
            total,
            offset: input.offset,
            articles: found
                .iter()
                .map(|it| ArticleView::from_record(&it.record))
                .collect(),
            next_offset,
        }))
    }
}

/// Builds the filter by kind and by a term in titles or authors.
fn build_filter(input: &Input) -> Result<DocumentFilter, ToolError> {
    let given = |text: &Option<String>| text.clone().filter(|it| !it.trim().is_empty());
    let mut filter = DocumentFilter::of_kind(ARTICLE);
    if let Some(kind) = given(&input.filter_by_type) {
        filter.keys.push(KeyMatch::OneOf {
            name: "kind".to_owned(),
            values: vec![
                parse_work_kind("filter_by_type", &kind)?
                    .as_str()
                    .to_owned(),
            ],
        });
    }
    if let Some(term) = given(&input.search_term) {
        let text = title_key(&term);
        if text.is_empty() {
            let issue = ArgumentIssue::new("search_term", "must contain a letter or a digit");
            return Err(ToolError::Invalid(vec![issue.with_value(&term.into())]));
        }
        filter.keys.push(KeyMatch::AnyContains {
            names: ["title", "author"].map(str::to_owned).to_vec(),
            text,
        });
    }
    Ok(filter)
}
