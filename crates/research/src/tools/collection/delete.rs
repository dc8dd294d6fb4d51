//! `delete_article`: an article and its text, for good, if that is said twice.

use deliberate_toolkit::{About, Annotations, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::shown::{ShownArticle, about, line, plain};
use crate::collect::Library;

/// `delete_article`.
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
    article: ShownArticle,
}

impl Tool for DeleteArticle {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        about(
            "delete_article",
            "Delete an article",
            "Delete an article for good; without confirm_deletion only says what would go.",
            Annotations {
                destructive: true,
                idempotent: true,
                ..Annotations::ADDS
            },
        )
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let library = Library(call.store());
        let version = library.find(&input.article_identifier).await?;
        let kept = &version.kept;
        let (said, changes) = if input.confirm_deletion {
            let changes = library.removal(&version, call.now()).await?;
            let file = kept.file.as_ref();
            let file = file.map(|it| format!("\n\nIts file stays: {}", plain(&it.path)));
            let said = format!("Deleted: {}{}", line(kept), file.unwrap_or_default());
            (said, changes)
        } else {
            let said = format!(
                "Nothing was deleted. This would go: {} ({} characters of text). Call again with \
                 confirm_deletion true to delete it for good; its file stays where it is.",
                line(kept),
                kept.chars
            );
            (said, Vec::new())
        };
        Ok(Outcome {
            output: Output {
                said,
                deleted: input.confirm_deletion,
                article: ShownArticle::of(kept),
            },
            changes,
            session: None,
        })
    }
}
