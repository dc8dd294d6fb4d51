//! What articles are put together by: knowledge collections, which hold articles, and custom
//! indexes, which are a topic and a filter that are looked up anew with each search.

use deliberate_core::{Change, Item, Timestamp, nearest};
use deliberate_store::{ItemFilter, Page, Store};
use deliberate_toolkit::{Issue, ToolError};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The kind of item a knowledge collection is; its id is its name in lower case.
pub const COLLECTION: &str = "collection";

/// The kind of item a custom index is; its id is its name in lower case.
pub const CUSTOM_INDEX: &str = "custom_index";

/// The longest name.
const NAME_CHARS: usize = 100;

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
pub trait Named: Serialize + DeserializeOwned {
    /// The kind of item it is.
    const KIND: &'static str;
    /// What it is called in a sentence.
    const WHAT: &'static str;
    /// The tool that shows what there is.
    const LISTED_BY: &'static str;

    /// Its name.
    fn name(&self) -> &str;

    /// When it was made.
    fn created_at(&self) -> Timestamp;

    /// The change that keeps it; `version` is the one it was read with, 0 for a new one.
    fn put(&self, version: i64, now: Timestamp) -> Change {
        Change::PutItem {
            item: Item {
                kind: Self::KIND.to_owned(),
                id: id_of(self.name()),
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
    fn removal(&self, now: Timestamp) -> Change {
        Change::DropItem {
            kind: Self::KIND.to_owned(),
            id: id_of(self.name()),
            at: now,
        }
    }
}

impl Named for KnowledgeCollection {
    const KIND: &'static str = COLLECTION;
    const WHAT: &'static str = "knowledge collection";
    const LISTED_BY: &'static str = "list_knowledge_collections";

    fn name(&self) -> &str {
        &self.name
    }

    fn created_at(&self) -> Timestamp {
        self.created_at
    }
}

impl Named for CustomIndex {
    const KIND: &'static str = CUSTOM_INDEX;
    const WHAT: &'static str = "custom index";
    const LISTED_BY: &'static str = "list_custom_indexes";

    fn name(&self) -> &str {
        &self.name
    }

    fn created_at(&self) -> Timestamp {
        self.created_at
    }
}

/// The one of that name, upper or lower case, if there is one.
pub async fn look_up<T: Named>(store: &dyn Store, name: &str) -> Result<Option<T>, ToolError> {
    let item = store.item(T::KIND, &id_of(name)).await?;
    Ok(item.and_then(read))
}

/// The one of that name.
pub async fn find<T: Named>(store: &dyn Store, name: &str) -> Result<T, ToolError> {
    if let Some(found) = look_up(store, name).await? {
        return Ok(found);
    }
    let all = all::<T>(store).await?;
    let meant = nearest(name, all.iter().map(Named::name));
    let hint = match meant {
        Some(meant) => format!("Did you mean {meant:?}? {} shows all.", T::LISTED_BY),
        None => format!("{} shows what there is.", T::LISTED_BY),
    };
    Err(ToolError::Told {
        code: "NotFound".to_owned(),
        message: format!(
            "there is no {} called {:?}",
            T::WHAT,
            deliberate_core::cut_to_chars(name, NAME_CHARS)
        ),
        hint: Some(hint),
    })
}

/// All of them, the newest first.
pub async fn all<T: Named>(store: &dyn Store) -> Result<Vec<T>, ToolError> {
    let items = store
        .items(&ItemFilter::of(T::KIND), Page::first(Page::MOST))
        .await?;
    Ok(items.into_iter().filter_map(read).collect())
}

/// A name that can be one: one line, not too long, not empty.
pub fn checked_name(field: &str, name: &str) -> Result<String, ToolError> {
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let long = name.chars().count() > NAME_CHARS;
    if name.is_empty() || long || name.chars().any(char::is_control) {
        let rule = format!("must be a name of 1 to {NAME_CHARS} characters on one line");
        let issue = Issue::new(field, rule).given(&name.into());
        return Err(ToolError::Invalid(vec![issue]));
    }
    Ok(name)
}

fn id_of(name: &str) -> String {
    let words: Vec<String> = name.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}

fn read<T: Named>(item: Item) -> Option<T> {
    match serde_json::from_value(item.body) {
        Ok(it) => Some(it),
        Err(error) => {
            tracing::error!(id = item.id, %error, "a {} can't be read", T::WHAT);
            None
        }
    }
}
