//! Documents that are stored whole, by kind and id: articles, research questions, collections.
//! The module does not know their contents, only how they are identified and indexed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Timestamp;

/// A document in the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredDocument {
    /// The kind of document, such as `article` or `question`.
    pub kind: String,
    /// The id, unique within the kind.
    pub id: String,
    /// The number of writes so far, 0 before the first. A writer must have read the current
    /// version.
    pub version: i64,
    /// The position of the latest write among the writes of all documents. The store sets it.
    pub seq: i64,
    /// The contents.
    pub body: Value,
    /// The keys that the document is found by.
    pub keys: Vec<IndexKey>,
    /// When the document was first written.
    pub created_at: Timestamp,
    /// When the document was last written.
    pub updated_at: Timestamp,
}

/// A key that a document is found or sorted by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct IndexKey {
    /// The key's name, such as `doi` or `year`.
    pub name: String,
    /// The normalized value.
    pub value: String,
    /// Whether the value is unique among the documents of the kind.
    pub only: bool,
}

impl IndexKey {
    /// Creates a key that several documents may have.
    pub fn shared(name: &str, value: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            value: value.into(),
            only: false,
        }
    }

    /// Creates a key that only one document may have.
    pub fn unique(name: &str, value: impl Into<String>) -> Self {
        Self {
            only: true,
            ..Self::shared(name, value)
        }
    }
}
