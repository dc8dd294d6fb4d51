//! Reading documents that are stored whole: by id, by index key, in an order, or since a change.

use deliberate_core::StoredDocument;

use crate::{Pagination, StoreFuture};

/// Reads documents. Lists are bounded by their [`Pagination`]. Deleted documents appear only in
/// [`Documents::changed_documents`].
pub trait Documents: Send + Sync {
    /// Returns the document of that kind and id.
    fn document<'a>(
        &'a self,
        kind: &'a str,
        id: &'a str,
    ) -> StoreFuture<'a, Option<StoredDocument>>;

    /// Lists the documents that match the filter.
    fn documents<'a>(
        &'a self,
        filter: &'a DocumentFilter,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<StoredDocument>>;

    /// Counts the documents that match the filter.
    fn count_documents<'a>(&'a self, filter: &'a DocumentFilter) -> StoreFuture<'a, u64>;

    /// Lists the values of an index key in documents of a kind, with the number of documents that
    /// have each; the most frequent value comes first.
    fn document_values<'a>(
        &'a self,
        kind: &'a str,
        name: &'a str,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<(String, u64)>>;

    /// Lists a document's long texts in order.
    fn document_parts<'a>(
        &'a self,
        kind: &'a str,
        id: &'a str,
        page: Pagination,
    ) -> StoreFuture<'a, Vec<String>>;

    /// Lists the writes and deletions after the given one, in order.
    fn changed_documents<'a>(
        &'a self,
        kind: &'a str,
        after_seq: i64,
        limit: u32,
    ) -> StoreFuture<'a, Vec<DocumentChange>>;
}

/// Selects and orders the documents of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentFilter {
    /// The kind of document.
    pub kind: String,
    /// Conditions on the index keys; all must hold.
    pub keys: Vec<KeyMatch>,
    /// The order of the list.
    pub order: DocumentOrder,
}

/// A condition on a document's index keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyMatch {
    /// The key has one of the values.
    OneOf {
        /// The key's name.
        name: String,
        /// The accepted values.
        values: Vec<String>,
    },
    /// The key has a value in a range, bounds included, compared as text.
    Between {
        /// The key's name.
        name: String,
        /// The lower bound.
        from: Option<String>,
        /// The upper bound.
        to: Option<String>,
    },
    /// The key has a value that contains a text.
    Contains {
        /// The key's name.
        name: String,
        /// The text to look for.
        text: String,
    },
    /// One of several keys has a value that contains a text.
    AnyContains {
        /// The keys' names.
        names: Vec<String>,
        /// The text to look for.
        text: String,
    },
}

/// The order of a list of documents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DocumentOrder {
    /// By creation time, newest first.
    #[default]
    Newest,
    /// By creation time, oldest first.
    Oldest,
    /// By the smallest value of a key; documents without the key come last.
    Key {
        /// The key's name.
        name: String,
        /// Whether the greatest value comes first.
        descending: bool,
    },
}

/// A write or deletion of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentChange {
    /// The document's id.
    pub id: String,
    /// The position of the change among all writes.
    pub seq: i64,
    /// Whether the document was deleted.
    pub deleted: bool,
}

impl DocumentFilter {
    /// Selects all documents of a kind.
    pub fn of_kind(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            ..Self::default()
        }
    }

    /// Selects the documents of a kind that have the value in the named key.
    pub fn with_key(kind: &str, name: &str, value: &str) -> Self {
        let mut filter = Self::of_kind(kind);
        filter.keys.push(KeyMatch::OneOf {
            name: name.to_owned(),
            values: vec![value.to_owned()],
        });
        filter
    }
}
