//! `delete_knowledge_collection`: a set is forgotten, with or without what is in it.

use deliberate_core::Change;
use deliberate_store::{ItemFilter, Page};
use deliberate_toolkit::{About, Annotations, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::shown::{about, count, plain};
use crate::collect::{
    ARTICLE, Library,
    groups::{self, KnowledgeCollection, Named as _},
};

/// How many articles are let go before what was done is kept.
const AT_ONCE: u32 = 200;

/// `delete_knowledge_collection`.
pub(crate) struct DeleteKnowledgeCollection;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 100))]
    collection_name: String,
    /// Also delete articles that are in no other
    #[serde(default)]
    delete_documents: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    collection_name: String,
    deleted_documents: bool,
    #[serde(skip)]
    #[schemars(skip)]
    next: Option<Value>,
}

impl Tool for DeleteKnowledgeCollection {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        about(
            "delete_knowledge_collection",
            "Delete a knowledge collection",
            "Forget a collection; its articles stay unless delete_documents is true.",
            Annotations {
                destructive: true,
                ..Annotations::MARKS
            },
        )
    }

    fn goes_on(&self, output: &Output) -> Option<Value> {
        output.next.clone()
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let collection: KnowledgeCollection =
            groups::find(call.store(), &input.collection_name).await?;
        let library = Library(call.store());
        let filter = ItemFilter::with(ARTICLE, "collection", &collection.name);
        let left = call.store().count_items(&filter).await?;
        let found = library.list(&filter, Page::first(AT_ONCE)).await?;
        // What can't be read can't be let go either: nobody should wait for it.
        let more = left > found.len() as u64 && !found.is_empty();
        call.progress(0.0, None, &format!("{} left", count(left, "article")));
        let mut changes: Vec<Change> = Vec::new();
        for mut version in found {
            version.kept.collections.retain(|it| *it != collection.name);
            if input.delete_documents && version.kept.collections.is_empty() {
                changes.extend(library.removal(&version, call.now()).await?);
            } else {
                changes.push(version.put(call.now()));
            }
        }
        if !more {
            changes.push(collection.removal(call.now()));
        }
        let what = if input.delete_documents {
            "with the articles that were in no other"
        } else {
            "its articles stay"
        };
        Ok(Outcome {
            changes,
            output: Output {
                said: format!("**{}** is deleted, {what}.", plain(&collection.name)),
                next: more.then(|| {
                    json!({
                        "collection_name": collection.name,
                        "delete_documents": input.delete_documents,
                    })
                }),
                collection_name: collection.name,
                deleted_documents: input.delete_documents,
            },
            session: None,
        })
    }
}
