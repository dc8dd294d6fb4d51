//! What is indexed: documents, their passages and facets, and the filters over them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// A piece of a document's text: what a search finds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// Its running number within its document.
    pub number: u32,
    /// The text, word for word.
    pub text: String,
    /// The headings above it, outermost first.
    pub section: Vec<String>,
    /// The page it starts on, from 1.
    pub page: u32,
    /// The page it ends on.
    pub end_page: u32,
    /// Where it starts, in bytes of the document's whole text.
    pub start: u64,
    /// Where it ends, in bytes of the document's whole text.
    pub end: u64,
}

/// A document and all its passages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexedDocument {
    /// What names it: putting the same id again replaces it.
    pub id: String,
    /// Its title: searched with each of its passages, as is the section path.
    pub title: String,
    /// What it can be filtered by.
    pub facets: Facets,
    /// Its passages.
    pub passages: Vec<Passage>,
}

/// What a document can be filtered by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facets {
    /// Words by name, such as a category or an author. Matched exactly.
    pub words: BTreeMap<String, Vec<String>>,
    /// Numbers by name, such as a date written 20240131.
    pub numbers: BTreeMap<String, i64>,
}

/// Which documents a search may find.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum IndexFilter {
    /// Every document.
    #[default]
    All,
    /// The documents of these ids.
    Documents(BTreeSet<String>),
    /// Documents that carry one of these words under that name.
    Word {
        /// The facet.
        name: String,
        /// The words, any of which will do.
        any_of: Vec<String>,
    },
    /// Documents whose number of that name lies within bounds, both ends included. A document
    /// without the number does not match.
    Number {
        /// The facet.
        name: String,
        /// The least it may be.
        from: Option<i64>,
        /// The most it may be.
        to: Option<i64>,
    },
    /// What all of these let through; all documents if there are none.
    And(Vec<Self>),
    /// What any of these lets through; nothing if there are none.
    Or(Vec<Self>),
    /// What this does not let through.
    Not(Box<Self>),
}
