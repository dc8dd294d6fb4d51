//! Groups of articles: knowledge collections, which hold articles, and custom indexes, which are a
//! topic and a filter that are evaluated at each search.

use deliberate_core::{Change, StoredDocument, Timestamp, did_you_mean};
use deliberate_store::{DocumentFilter, Pagination, Store};
use deliberate_toolkit::{ArgumentIssue, ErrorCode, ToolError};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The document kind of a knowledge collection; the ID is its name in lower case.
pub const COLLECTION: &str = "collection";

/// The document kind of a custom index; the ID is its name in lower case.
pub const CUSTOM_INDEX: &str = "custom_index";

const MAX_NAME_CHARS: usize = 100;

/// A named set of articles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnowledgeCollection {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub created_at: Timestamp,
}

/// A named topic and filter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomIndex {
    pub name: String,
    /// The subject of its articles.
    pub topic: String,
    /// The kinds of work it holds; empty means any.
    #[serde(default)]
    pub kinds: Vec<String>,
    /// The most articles it holds.
    pub max_documents: usize,
    pub created_at: Timestamp,
}

/// A document that is found by its name.
pub trait NamedDocument: Serialize + DeserializeOwned {
    /// The document kind.
    const KIND: &'static str;
    /// The noun for messages.
    const LABEL: &'static str;
    /// The tool that lists these documents.
    const LIST_TOOL: &'static str;

    fn name(&self) -> &str;

    fn created_at(&self) -> Timestamp;

    /// The change that stores the document; `version` is the one that was read, 0 for a new one.
    fn put_change(&self, version: i64, now: Timestamp) -> Change {
        Change::PutDocument {
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

    /// The change that deletes the document.
    fn delete_change(&self, now: Timestamp) -> Change {
        Change::DeleteDocument {
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

/// Finds the document with this name in any case, if there is one.
pub async fn look_up<T: NamedDocument>(
    store: &dyn Store,
    name: &str,
) -> Result<Option<T>, ToolError> {
    let item = store.document(T::KIND, &id_from_name(name)).await?;
    Ok(item.and_then(read))
}

/// Finds the document with this name; an error if there is none.
pub async fn find<T: NamedDocument>(store: &dyn Store, name: &str) -> Result<T, ToolError> {
    if let Some(found) = look_up(store, name).await? {
        return Ok(found);
    }
    let all = list_all::<T>(store).await?;
    let meant = did_you_mean(name, all.iter().map(NamedDocument::name));
    let hint = match meant {
        Some(meant) => format!("Did you mean {meant:?}? {} lists all.", T::LIST_TOOL),
        None => format!("{} lists all.", T::LIST_TOOL),
    };
    Err(ToolError::Custom {
        code: ErrorCode::NotFound,
        message: format!(
            "there is no {} called {:?}",
            T::LABEL,
            deliberate_core::truncate_chars(name, MAX_NAME_CHARS)
        ),
        hint: Some(hint),
    })
}

/// All documents of this kind, the newest first.
pub async fn list_all<T: NamedDocument>(store: &dyn Store) -> Result<Vec<T>, ToolError> {
    let items = store
        .documents(
            &DocumentFilter::of_kind(T::KIND),
            Pagination::limit(Pagination::MAX),
        )
        .await?;
    Ok(items.into_iter().filter_map(read).collect())
}

/// Checks that a name is one line, not empty and not too long.
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
            tracing::error!(id = item.id, %error, "a stored {} can't be read", T::LABEL);
            None
        }
    }
}
