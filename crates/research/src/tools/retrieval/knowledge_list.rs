//! `list_knowledge_collections`: the collections there are, and how many articles are in each.

use std::fmt::Write as _;

use deliberate_store::ItemFilter;
use deliberate_toolkit::{About, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::shown::{count, only_read, plain, reads};
use crate::collect::{
    ARTICLE,
    groups::{self, KnowledgeCollection},
};

/// `list_knowledge_collections`.
pub(crate) struct ListKnowledgeCollections;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    collections: Vec<Listed>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Listed {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    articles: u64,
    created_at: String,
}

impl Tool for ListKnowledgeCollections {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        reads(
            "list_knowledge_collections",
            "List knowledge collections",
            "The knowledge collections and how many articles each holds.",
        )
    }

    async fn run(&self, _: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let all: Vec<KnowledgeCollection> = groups::all(call.store()).await?;
        let mut collections = Vec::new();
        for it in all {
            let filter = ItemFilter::with(ARTICLE, "collection", &it.name);
            collections.push(Listed {
                articles: call.store().count_items(&filter).await?,
                name: it.name,
                description: it.description,
                created_at: it.created_at.to_string(),
            });
        }
        let mut said = match collections.len() {
            0 => "There is no collection; create_knowledge_collection makes one.".to_owned(),
            many => format!("{}:\n", count(many as u64, "collection")),
        };
        for it in &collections {
            let what = it
                .description
                .as_deref()
                .map(|it| format!(": {}", plain(it)));
            let _ = write!(
                said,
                "\n- **{}** ({}){}",
                plain(&it.name),
                count(it.articles, "article"),
                what.unwrap_or_default()
            );
        }
        Ok(only_read(Output { said, collections }))
    }
}
