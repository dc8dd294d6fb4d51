//! Things that are kept whole, by kind and id: articles, research questions, collections. What
//! they hold is the business of whoever keeps them; here is how they are found and told apart.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Timestamp;

/// Something kept whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredDocument {
    /// What it is: `article`, `question`.
    pub kind: String,
    /// Its id among those of its kind.
    pub id: String,
    /// How often it was written; 0 before the first time. Whoever writes it must have seen the one
    /// before.
    pub version: i64,
    /// When it was last written, among all items: grows with every write. Given by the store.
    pub seq: i64,
    /// What it holds.
    pub body: Value,
    /// What it is found by.
    pub keys: Vec<IndexKey>,
    /// When it was first written.
    pub created_at: Timestamp,
    /// When it was last written.
    pub updated_at: Timestamp,
}

/// A value an item is found by, or put in order by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct IndexKey {
    /// What kind of value: `doi`, `year`.
    pub name: String,
    /// The value, in the one form it is compared in.
    pub value: String,
    /// Whether no other item of the kind may have it.
    pub only: bool,
}

impl IndexKey {
    /// A value that several items may have.
    pub fn shared(name: &str, value: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            value: value.into(),
            only: false,
        }
    }

    /// A value that one item has.
    pub fn unique(name: &str, value: impl Into<String>) -> Self {
        Self {
            only: true,
            ..Self::shared(name, value)
        }
    }
}
