//! The `delete_article` tool: permanently deletes an article and its text after confirmation.

use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    articles::ArticleRepository,
    tools::rendering::{ArticleView, article_line, escape_markdown, tool_meta},
};

/// The `delete_article` tool.
pub(crate) struct DeleteArticle;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 1000))]
    article_identifier: String,
    #[serde(default)]
    confirm_deletion: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    deleted: bool,
    article: ArticleView,
}

impl Tool for DeleteArticle {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "delete_article",
            "Delete an article",
            "Permanently delete an article; without confirm_deletion only preview it.",
            ToolHints {
                destructive: true,
                idempotent: true,
                ..ToolHints::ADDITIVE
            },
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let library = ArticleRepository(call.store());
        let version = library.find(&input.article_identifier).await?;
        let kept = &version.record;
        let (said, changes) = if input.confirm_deletion {
            let changes = library.delete_changes(&version, call.now()).await?;
            let file = kept.file.as_ref();
            let file = file.map(|it| format!("\n\nIts file stays: {}", escape_markdown(&it.path)));
            let said = format!(
                "Deleted: {}{}",
                article_line(kept),
                file.unwrap_or_default()
            );
            (said, changes)
        } else {
            let said = format!(
                "Nothing was deleted. This would be deleted: {} ({} characters of text). Call again with \
                 confirm_deletion true to delete it permanently; its file stays.",
                article_line(kept),
                kept.chars
            );
            (said, Vec::new())
        };
        Ok(ToolOutput {
            output: Output {
                said,
                deleted: input.confirm_deletion,
                article: ArticleView::from_record(kept),
            },
            changes,
            session: None,
        })
    }
}
