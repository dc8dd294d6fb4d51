//! What articles are put together by: knowledge collections, which hold articles, and custom
//! indexes, which are a topic and a filter that are looked up anew with each search.

use deliberate_core::{Change, StoredDocument, Timestamp, did_you_mean};
use deliberate_store::{DocumentFilter, Pagination, Store};
use deliberate_toolkit::{ArgumentIssue, ToolError};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The kind of item a knowledge collection is; its id is its name in lower case.
pub const COLLECTION: &str = "collection";

/// The kind of item a custom index is; its id is its name in lower case.
pub const CUSTOM_INDEX: &str = "custom_index";

/// The longest name.
const MAX_NAME_CHARS: usize = 100;

/// A named set of articles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnowledgeCollection {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A topic and a filter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomIndex {
    /// Its name.
    pub name: String,
    /// What articles in it are about.
    pub topic: String,
    /// Of which kinds they are; of any if there are none.
    #[serde(default)]
    pub kinds: Vec<String>,
    /// How many it holds at the most.
    pub max_documents: usize,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Something of a name.
pub trait NamedDocument: Serialize + DeserializeOwned {
    /// The kind of item it is.
    const KIND: &'static str;
    /// What it is called in a sentence.
    const LABEL: &'static str;
    /// The tool that shows what there is.
    const LIST_TOOL: &'static str;

    /// Its name.
    fn name(&self) -> &str;

    /// When it was made.
    fn created_at(&self) -> Timestamp;

    /// The change that keeps it; `version` is the one it was read with, 0 for a new one.
    fn put_change(&self, version: i64, now: Timestamp) -> Change {
        Change::PutItem {
            item: StoredDocument {
                kind: Self::KIND.to_owned(),
                id: id_from_name(self.name()),
                version,
                seq: 0,
                body: serde_json::to_value(self).unwrap_or_default(),
                keys: Vec::new(),
                created_at: self.created_at(),
                updated_at: now,
            },
            parts: None,
        }
    }

    /// The change that deletes it.
    fn delete_change(&self, now: Timestamp) -> Change {
        Change::DropItem {
            kind: Self::KIND.to_owned(),
            id: id_from_name(self.name()),
            at: now,
        }
    }
}

impl NamedDocument for KnowledgeCollection {
    const KIND: &'static str = COLLECTION;
    const LABEL: &'static str = "knowledge collection";
    const LIST_TOOL: &'static str = "list_knowledge_collections";

    fn name(&self) -> &str {
        &self.name
    }

    fn created_at(&self) -> Timestamp {
        self.created_at
    }
}

impl NamedDocument for CustomIndex {
    const KIND: &'static str = CUSTOM_INDEX;
    const LABEL: &'static str = "custom index";
    const LIST_TOOL: &'static str = "list_custom_indexes";

    fn name(&self) -> &str {
        &self.name
    }

    fn created_at(&self) -> Timestamp {
        self.created_at
    }
}

/// The one of that name, upper or lower case, if there is one.
pub async fn look_up<T: NamedDocument>(
    store: &dyn Store,
    name: &str,
) -> Result<Option<T>, ToolError> {
    let item = store.document(T::KIND, &id_from_name(name)).await?;
    Ok(item.and_then(read))
}

/// The one of that name.
pub async fn find<T: NamedDocument>(store: &dyn Store, name: &str) -> Result<T, ToolError> {
    if let Some(found) = look_up(store, name).await? {
        return Ok(found);
    }
    let all = all::<T>(store).await?;
    let meant = did_you_mean(name, all.iter().map(NamedDocument::name));
    let hint = match meant {
        Some(meant) => format!("Did you mean {meant:?}? {} shows all.", T::LIST_TOOL),
        None => format!("{} shows what there is.", T::LIST_TOOL),
    };
    Err(ToolError::Custom {
        code: "NotFound".to_owned(),
        message: format!(
            "there is no {} called {:?}",
            T::LABEL,
            deliberate_core::truncate_chars(name, MAX_NAME_CHARS)
        ),
        hint: Some(hint),
    })
}

/// All of them, the newest first.
pub async fn all<T: NamedDocument>(store: &dyn Store) -> Result<Vec<T>, ToolError> {
    let items = store
        .documents(
            &DocumentFilter::of_kind(T::KIND),
            Pagination::limit(Pagination::MAX),
        )
        .await?;
    Ok(items.into_iter().filter_map(read).collect())
}

/// A name that can be one: one line, not too long, not empty.
pub fn validate_name(field: &str, name: &str) -> Result<String, ToolError> {
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let long = name.chars().count() > MAX_NAME_CHARS;
    if name.is_empty() || long || name.chars().any(char::is_control) {
        let rule = format!("must be a name of 1 to {MAX_NAME_CHARS} characters on one line");
        let issue = ArgumentIssue::new(field, rule).with_value(&name.into());
        return Err(ToolError::Invalid(vec![issue]));
    }
    Ok(name)
}

fn id_from_name(name: &str) -> String {
    let words: Vec<String> = name.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}

fn read<T: NamedDocument>(item: StoredDocument) -> Option<T> {
    match serde_json::from_value(item.body) {
        Ok(it) => Some(it),
        Err(error) => {
            tracing::error!(id = item.id, %error, "a {} can't be read", T::LABEL);
            None
        }
    }
}
