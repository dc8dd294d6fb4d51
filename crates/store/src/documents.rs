//! How things that are kept whole are read: by id, by what they are found by, in an order, or from
//! the last change on.

use deliberate_core::StoredDocument;

use crate::{Pagination, StoreFuture};

/// Reads items. Lists are bounded by their [`Pagination`]; what was deleted is in none of them but
/// [`Documents::changed_documents`].
pub trait Documents: Send + Sync {
    /// The item of that kind and id.
    fn document<'a>(
        &'a self,
        kind: &'a str,
        id: &'a str,
    ) -> StoreFuture<'a, Option<StoredDocument>>;

    /// Items of which all of this is true.
    fn documents<'a>(
        &'a self,
        filter: &'a DocumentFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<StoredDocument>>;

    /// How many there are of which all of this is true.
    fn count_documents<'a>(&'a self, filter: &'a DocumentFilter) -> StoreFuture<'a, u64>;

    /// The values items of a kind have under a name, with how many have each: the most frequent
    /// first.
    fn document_values<'a>(
        &'a self,
        kind: &'a str,
        name: &'a str,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<(String, u64)>>;

    /// An item's long texts, in their order.
    fn document_parts<'a>(
        &'a self,
        kind: &'a str,
        id: &'a str,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<String>>;

    /// How many long texts an item has.
    fn count_document_parts<'a>(&'a self, kind: &'a str, id: &'a str) -> StoreFuture<'a, u64>;

    /// What was written or deleted after that one, in order.
    fn changed_documents<'a>(
        &'a self,
        kind: &'a str,
        after_seq: i64,
        limit: u32,
    ) -> StoreFuture<'a, Vec<DocumentChange>>;
}

/// Which items a list holds, and in which order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentFilter {
    /// Of this kind.
    pub kind: String,
    /// With keys like these, every one of them.
    pub keys: Vec<KeyMatch>,
    /// Put in this order.
    pub order: DocumentOrder,
}

/// What is asked of an item's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyMatch {
    /// It has one of these values.
    OneOf {
        /// Of the key of this name.
        name: String,
        /// The values.
        values: Vec<String>,
    },
    /// It has a value within these, both included, as texts are compared.
    Between {
        /// Of the key of this name.
        name: String,
        /// Not before this.
        from: Option<String>,
        /// Not after this.
        to: Option<String>,
    },
    /// It has a value that holds this text.
    Contains {
        /// Of the key of this name.
        name: String,
        /// The text.
        text: String,
    },
    /// One of several of its keys has a value that holds this text.
    AnyContains {
        /// Of keys of these names.
        names: Vec<String>,
        /// The text.
        text: String,
    },
}

/// The order of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DocumentOrder {
    /// The last made first.
    #[default]
    Newest,
    /// The first made first.
    Oldest,
    /// By the smallest value under a name; those without one last.
    Key {
        /// The name.
        name: String,
        /// The greatest first.
        descending: bool,
    },
}

/// An item that was written or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentChange {
    /// Its id.
    pub id: String,
    /// When, among all writes.
    pub seq: i64,
    /// Whether it was deleted.
    pub deleted: bool,
}

impl DocumentFilter {
    /// All of a kind.
    pub fn of_kind(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            ..Self::default()
        }
    }

    /// Those of a kind with that value under that name.
    pub fn with_key(kind: &str, name: &str, value: &str) -> Self {
        let mut filter = Self::of_kind(kind);
        filter.keys.push(KeyMatch::OneOf {
            name: name.to_owned(),
            values: vec![value.to_owned()],
        });
        filter
    }
}
