//! Queries of the search over thoughts and nodes, and its results.

use deliberate_core::{GraphNode, Mode, NodeId, SessionId, Thought, ThoughtId, Timestamp};

/// A full-text search over thoughts and nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// The words. Quoted phrases must occur; all other punctuation is ignored, and so are English
    /// stop words if there are others.
    pub text: String,
    /// Only hits of this session.
    pub session: Option<SessionId>,
    /// Only thoughts of this mode; nodes have mode `got`.
    pub mode: Option<Mode>,
    /// Only hits created at or after this time.
    pub since: Option<Timestamp>,
    /// Only hits created at or before this time.
    pub until: Option<Timestamp>,
    /// The largest number of hits.
    pub limit: u32,
}

/// The results of a search, and the terms that it looked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchResults {
    /// The quoted phrases, which every hit has.
    pub phrases: Vec<String>,
    /// The words.
    pub words: Vec<String>,
    /// The hits, those with all words first.
    pub hits: Vec<SearchHit>,
}

/// A search hit.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// The entity that matched.
    pub entity: SearchEntity,
    /// The text around the match, with `[` and `]` around the words.
    pub excerpt: String,
    /// The words that it has.
    pub words: WordMatch,
}

/// The words of a query that a hit has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordMatch {
    /// All phrases and words.
    All,
    /// These, as the query has them.
    Some(Vec<String>),
}

/// An entity that a search can find.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchEntity {
    /// A thought.
    Thought(Thought),
    /// A node of a graph.
    Node(GraphNode),
}

impl SearchEntity {
    /// Returns the id of the entity.
    pub fn key(&self) -> SearchKey {
        match self {
            Self::Thought(thought) => SearchKey::Thought(thought.id.clone()),
            Self::Node(node) => SearchKey::Node(node.id.clone()),
        }
    }

    /// Returns the creation time.
    pub fn created_at(&self) -> Timestamp {
        match self {
            Self::Thought(thought) => thought.created_at,
            Self::Node(node) => node.created_at,
        }
    }
}

/// The id of an entity that a search can find.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SearchKey {
    /// A thought.
    Thought(ThoughtId),
    /// A node of a graph.
    Node(NodeId),
}
