//! The `read_full_article` tool: reads a whole article, which takes a slot of the working set.

use deliberate_toolkit::{
    ErrorCode, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    excerpt::{cut_excerpt, require_text},
    working_set::{MAX_ARTICLES, WorkingSet, WorkingSetSlot},
};
use crate::{
    articles::ArticleRepository,
    prompt_fence::{prompt_fence, untrusted_data_notice},
    tools::rendering::{article_line, custom_error, tool_meta},
};

/// The `read_full_article` tool.
pub(crate) struct ReadFullArticle;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 1000))]
    article_identifier: String,
    #[serde(default = "default_max_length")]
    #[schemars(range(min = 1000, max = 100_000))]
    max_length: usize,
    /// Owner of the working set; default: a shared one
    #[schemars(length(max = 200))]
    agent_id: Option<String>,
}

fn default_max_length() -> usize {
    50_000
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    article_id: String,
    text: String,
    cut: bool,
    /// Titles in the working set
    loaded: Vec<String>,
}

impl Tool for ReadFullArticle {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "read_full_article",
            "Read a whole article",
            "The whole text of an article, which takes one of 3 slots of the working set; \
             unload_article frees it. read_article reads parts without a slot.",
            ToolHints::IDEMPOTENT,
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let library = ArticleRepository(call.store());
        let kept = library.find(&input.article_identifier).await?.record;
        let text = require_text(&kept, library.text(&kept.id).await?)?;
        let mut slots = WorkingSet::load(call, input.agent_id.as_deref()).await?;
        let before = slots.articles.len();
        let mut there = Vec::new();
        for slot in &slots.articles {
            // Deleted articles do not take a slot.
            if library.get(&slot.article_id).await?.is_some() {
                there.push(slot.clone());
            }
        }
        slots.articles = there;
        let is_new = !slots.contains(&kept.id);
        if is_new {
            if slots.articles.len() >= MAX_ARTICLES {
                return Err(custom_error(
                    ErrorCode::WorkingSetFull,
                    format!(
                        "all {MAX_ARTICLES} slots are taken ({})",
                        slots.render_text()
                    ),
                    "Free one with unload_article, or read parts with read_article.",
                ));
            }
            slots.articles.push(WorkingSetSlot {
                article_id: kept.id.clone(),
                title: kept.article.title.clone(),
            });
        }
        let whole = text.join_pages();
        let shown = cut_excerpt(&text, &whole, 0, whole.len(), input.max_length);
        let fence = prompt_fence(call);
        let changed = is_new || slots.articles.len() != before;
        Ok(ToolOutput {
            changes: changed
                .then(|| slots.put_change(call))
                .into_iter()
                .collect(),
            output: Output {
                said: format!(
                    "{}\n\n{}\n{}{}\n\n---\n{}",
                    article_line(&kept),
                    untrusted_data_notice(&fence),
                    shown.render_fenced(&fence, &kept, "whole"),
                    shown.continuation_hint("read_article and pages"),
                    slots.render_text()
                ),
                article_id: kept.id.clone(),
                text: shown.text,
                cut: shown.truncated,
                loaded: slots.articles.into_iter().map(|it| it.title).collect(),
            },
            session: None,
        })
    }
}
