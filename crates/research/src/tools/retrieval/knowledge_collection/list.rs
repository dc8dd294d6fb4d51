//! The `list_knowledge_collections` tool: lists collections with their number of articles.

use std::fmt::Write as _;

use deliberate_store::DocumentFilter;
use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    articles::{
        ARTICLE,
        collections::{self, KnowledgeCollection},
    },
    tools::rendering::{escape_markdown, pluralize, read_only_meta, read_only_output},
};

/// The `list_knowledge_collections` tool.
pub(crate) struct ListKnowledgeCollections;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    collections: Vec<KnowledgeCollectionSummary>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct KnowledgeCollectionSummary {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    articles: u64,
    created_at: String,
}

impl Tool for ListKnowledgeCollections {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "list_knowledge_collections",
            "List knowledge collections",
            "The knowledge collections with their numbers of articles.",
        )
    }

    async fn run(&self, _: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let all: Vec<KnowledgeCollection> = collections::list_all(call.store()).await?;
        let mut collections = Vec::new();
        for it in all {
            let filter = DocumentFilter::with_key(ARTICLE, "collection", &it.name);
            collections.push(KnowledgeCollectionSummary {
                articles: call.store().count_documents(&filter).await?,
                name: it.name,
                description: it.description,
                created_at: it.created_at.to_string(),
            });
        }
        let mut said = match collections.len() {
            0 => "There is no collection; create_knowledge_collection creates one.".to_owned(),
            many => format!("{}:\n", pluralize(many as u64, "collection")),
        };
        for it in &collections {
            let what = it
                .description
                .as_deref()
                .map(|it| format!(": {}", escape_markdown(it)));
            let _ = write!(
                said,
                "\n- **{}** ({}){}",
                escape_markdown(&it.name),
                pluralize(it.articles, "article"),
                what.unwrap_or_default()
            );
        }
        Ok(read_only_output(Output { said, collections }))
    }
}
