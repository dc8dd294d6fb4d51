//! The documents of the index: passages, facets, and filters over them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// A piece of a document's text, the unit of search.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// The sequence number in the document.
    pub number: u32,
    /// The verbatim text.
    pub text: String,
    /// The path of headings, outermost first.
    pub section: Vec<String>,
    /// The first page, from 1.
    pub page: u32,
    /// The last page.
    pub end_page: u32,
    /// The start, as a byte offset in the document's text.
    pub start: u64,
    /// The end, as a byte offset in the document's text.
    pub end: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexedDocument {
    /// Putting a document with the same id replaces it.
    pub id: String,
    /// Searched with each passage, like the section path.
    pub title: String,
    pub facets: Facets,
    pub passages: Vec<Passage>,
}

/// The values by which documents are filtered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facets {
    /// Words by facet name, such as a category or an author. Matched exactly.
    pub words: BTreeMap<String, Vec<String>>,
    /// Numbers by facet name, such as a date written as 20240131.
    pub numbers: BTreeMap<String, i64>,
}

/// Limits the documents that a search can return.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum IndexFilter {
    #[default]
    All,
    /// The documents with these ids.
    Documents(BTreeSet<String>),
    /// Documents that have one of these words in the facet.
    Word { name: String, any_of: Vec<String> },
    /// Documents whose number in the facet is in the range, both ends included. A document without
    /// the number does not match.
    Number {
        name: String,
        from: Option<i64>,
        to: Option<i64>,
    },
    /// The intersection; all documents if empty.
    And(Vec<Self>),
    /// The union; no document if empty.
    Or(Vec<Self>),
    /// The complement.
    Not(Box<Self>),
}
