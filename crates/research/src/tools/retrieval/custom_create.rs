//! `create_custom_index`: a topic and a filter under a name, looked up anew with each search.

use std::sync::Arc;

use deliberate_toolkit::{About, Annotations, Call, Issue, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::shown::{about, count, plain, told};
use crate::{
    Lab,
    collect::{
        groups::{self, CustomIndex, Named as _, checked_name},
        kind_named, title_key,
    },
};

/// `create_custom_index`.
pub(crate) struct CreateCustomIndex(pub(crate) Arc<Lab>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 100))]
    index_name: String,
    /// What its articles are about
    #[schemars(length(min = 1, max = 2000))]
    topic_filter: String,
    #[schemars(length(max = 12), extend("x-separated" = "words"))]
    document_types: Option<Vec<String>>,
    #[serde(default = "usual")]
    #[schemars(range(min = 10, max = 10_000))]
    max_documents: usize,
}

fn usual() -> usize {
    1_000
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    index_name: String,
    /// In it now; articles that come later and fit are in it too
    articles: usize,
}

impl Tool for CreateCustomIndex {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        about(
            "create_custom_index",
            "Create a custom index",
            "Save a topic and kinds as a live index, searched with search_custom_index or the \
             scope index:<name>.",
            Annotations::ADDS,
        )
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let name = checked_name("index_name", &input.index_name)?;
        if groups::look_up::<CustomIndex>(call.store(), &name)
            .await?
            .is_some()
        {
            return Err(told(
                "AlreadyThere",
                format!("there is an index called {name:?}"),
                "Choose another name, or delete it with delete_custom_index.",
            ));
        }
        if title_key(&input.topic_filter).is_empty() {
            let issue = Issue::new("topic_filter", "needs at least one word to look for");
            return Err(ToolError::Invalid(vec![issue]));
        }
        let mut kinds = Vec::new();
        for kind in input.document_types.iter().flatten() {
            kinds.push(kind_named("document_types", kind)?.as_str().to_owned());
        }
        let custom = CustomIndex {
            name,
            topic: input.topic_filter,
            kinds,
            max_documents: input.max_documents,
            created_at: call.now(),
        };
        self.0.keeper().in_step().await;
        let articles = self.0.members(&custom).await?.len();
        Ok(Outcome {
            changes: vec![custom.put(0, call.now())],
            output: Output {
                said: format!(
                    "**{}** is made: {} in it now, and those that come later and fit.",
                    plain(&custom.name),
                    count(articles as u64, "article")
                ),
                index_name: custom.name,
                articles,
            },
            session: None,
        })
    }
}
