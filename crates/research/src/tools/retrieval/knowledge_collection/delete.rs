//! The `delete_knowledge_collection` tool: deletes a set, with or without its uploaded documents.

use std::fmt::Write as _;

use deliberate_core::Change;
use deliberate_store::{DocumentFilter, Pagination};
use deliberate_toolkit::{
    STEP_STATE, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    articles::{
        ARTICLE, ArticleCategory, ArticleRecord, ArticleRepository,
        collections::{self, KnowledgeCollection, NamedDocument as _},
    },
    tools::rendering::{article_line, escape_markdown, pluralize, read_only_output, tool_meta},
};

/// Articles that are removed in one step.
const BATCH_SIZE: u32 = 200;

/// Documents that a preview names.
const MAX_NAMED: usize = 50;

/// The `delete_knowledge_collection` tool.
pub(crate) struct DeleteKnowledgeCollection;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 100))]
    collection_name: String,
    /// Also delete uploaded documents that are in no other collection; papers stay
    #[serde(default)]
    delete_documents: bool,
    /// Without it `delete_documents` only previews
    #[serde(default)]
    confirm_deletion: bool,
    /// Documents deleted by earlier steps.
    #[serde(default, rename = "_leg")]
    #[schemars(skip)]
    leg: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    collection_name: String,
    /// Whether the collection is deleted
    deleted: bool,
    /// Documents deleted, or to be deleted
    documents: u64,
    #[serde(skip)]
    #[schemars(skip)]
    next: Option<Value>,
}

impl Tool for DeleteKnowledgeCollection {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "delete_knowledge_collection",
            "Delete a knowledge collection",
            "Delete a collection; its articles stay. delete_documents with confirm_deletion also \
             deletes its uploaded documents permanently.",
            ToolHints {
                destructive: true,
                ..ToolHints::IDEMPOTENT
            },
        )
    }

    fn next_step(&self, output: &Output) -> Option<Value> {
        output.next.clone()
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let collection: KnowledgeCollection =
            collections::find(call.store(), &input.collection_name).await?;
        if input.delete_documents && !input.confirm_deletion {
            return Ok(read_only_output(preview_deletion(call, collection).await?));
        }
        let library = ArticleRepository(call.store());
        let filter = DocumentFilter::with_key(ARTICLE, "collection", &collection.name);
        let left = call.store().count_documents(&filter).await?;
        let found = library.list(&filter, Pagination::limit(BATCH_SIZE)).await?;
        // Unreadable documents cannot be removed, so the call must not wait for them.
        let more = left > found.len() as u64 && !found.is_empty();
        call.progress(0.0, None, &format!("{} left", pluralize(left, "article")));
        let mut documents = input.leg.unwrap_or_default();
        let mut changes: Vec<Change> = Vec::new();
        for mut version in found {
            if input.delete_documents && is_deleted_with(&version.record, &collection.name) {
                documents += 1;
                changes.extend(library.delete_changes(&version, call.now()).await?);
            } else {
                version
                    .record
                    .collections
                    .retain(|it| *it != collection.name);
                changes.push(version.put_change(call.now()));
            }
        }
        if !more {
            changes.push(collection.delete_change(call.now()));
        }
        let what = match documents {
            0 => "its articles stay".to_owned(),
            many => format!(
                "with {}; other articles stay",
                pluralize(many, "uploaded document")
            ),
        };
        let next = json!({
            "collection_name": collection.name,
            "delete_documents": input.delete_documents,
            "confirm_deletion": input.confirm_deletion,
            STEP_STATE: documents,
        });
        Ok(ToolOutput {
            changes,
            output: Output {
                said: format!(
                    "**{}** is deleted, {what}.",
                    escape_markdown(&collection.name)
                ),
                next: more.then_some(next),
                collection_name: collection.name,
                deleted: true,
                documents,
            },
            session: None,
        })
    }
}

/// Whether an article is deleted with its collection: it was uploaded and is in no other. Papers
/// are never deleted with a collection.
fn is_deleted_with(record: &ArticleRecord, collection: &str) -> bool {
    let in_others = record.collections.iter().any(|it| it != collection);
    record.category == ArticleCategory::External && !in_others
}

/// Lists what would be deleted, without deleting it.
async fn preview_deletion(
    call: &ToolContext,
    collection: KnowledgeCollection,
) -> Result<Output, ToolError> {
    let filter = DocumentFilter::with_key(ARTICLE, "collection", &collection.name);
    let mut page = Pagination::limit(BATCH_SIZE);
    let (mut documents, mut stay) = (0, 0);
    let mut named = String::new();
    loop {
        let some = ArticleRepository(call.store()).list(&filter, page).await?;
        if some.is_empty() {
            break;
        }
        for it in some {
            if !is_deleted_with(&it.record, &collection.name) {
                stay += 1;
                continue;
            }
            documents += 1;
            if documents <= MAX_NAMED as u64 {
                let _ = write!(named, "\n- {}", article_line(&it.record));
            }
        }
        page.offset = page.offset.saturating_add(BATCH_SIZE);
    }
    let mut said = format!(
        "Nothing was deleted. **{}** would be deleted with {}, and {} would stay. Call again \
         with confirm_deletion true to delete them permanently; files stay.\n{named}",
        escape_markdown(&collection.name),
        pluralize(documents, "uploaded document"),
        pluralize(stay, "other article"),
    );
    let more = documents.saturating_sub(MAX_NAMED as u64);
    if more > 0 {
        let _ = write!(said, "\n- and {more} more");
    }
    Ok(Output {
        said,
        collection_name: collection.name,
        deleted: false,
        documents,
        next: None,
    })
}
