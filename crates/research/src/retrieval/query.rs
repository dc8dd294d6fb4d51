//! Queries to the collection and their results. They are plain values, so that a suspended call can
//! store them.

use deliberate_core::PartialDate;
use deliberate_index::{Passage, SearchMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::articles::{ArticleRecord, TextSpan};

/// A search in the collection.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RetrievalQuery {
    /// The question or topic in plain words.
    pub question: String,
    /// The number of passages.
    pub k: usize,
    #[serde(default)]
    pub scope: RetrievalScope,
    #[serde(default)]
    pub filter: ArticleFilter,
    /// Search by words, by meaning, or both.
    #[serde(default, with = "mode")]
    pub mode: SearchMode,
    /// Whether the best passages are reranked as the settings say.
    #[serde(default)]
    pub rerank: bool,
    /// The most passages of one article.
    #[serde(default)]
    pub per_article: Option<usize>,
}

/// The part of the collection that is searched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetrievalScope {
    #[default]
    All,
    PapersOnly,
    /// External documents: textbooks, notes.
    External,
    /// A knowledge collection, by its name.
    Collection(String),
    /// A custom index, by its name.
    Index(String),
}

/// A filter for articles; all given conditions must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArticleFilter {
    /// Only the articles with these IDs.
    pub ids: Option<Vec<String>>,
    /// Not the articles with these IDs.
    pub not_ids: Vec<String>,
    /// The name of an author: a family name, also with given names or initials.
    pub author: Option<String>,
    /// The earliest date of publication.
    pub date_from: Option<PartialDate>,
    /// The latest date of publication.
    pub date_to: Option<PartialDate>,
    /// The kind of work, as [`deliberate_core::WorkKind`] is written.
    pub kind: Option<String>,
    /// The journal or conference.
    pub venue: Option<String>,
    /// Tags, all of which are required.
    pub tags: Vec<String>,
    /// The lowest number of citations; articles without a known number are excluded.
    pub min_citations: Option<u64>,
    /// Whether the article has a full text.
    pub has_text: Option<bool>,
}

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RetrievalResult {
    /// The passages, best first.
    pub passages: Vec<RetrievedPassage>,
    /// The search mode that found them.
    #[serde(with = "mode")]
    pub mode: SearchMode,
    /// Notes for the caller: the index is still being built, or vectors are missing.
    pub notes: Vec<String>,
}

/// A passage with its article and position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RetrievedPassage {
    /// The passage's article.
    pub kept: ArticleRecord,
    /// The passage. An article without a full text has one, made from title and abstract, on page
    /// 0.
    pub passage: Passage,
    /// The position in characters of its page.
    pub place: TextSpan,
    /// The ranking score, comparable within one result only.
    pub score: f32,
    /// The BM25 score.
    pub text_score: Option<f32>,
    /// The cosine similarity of the vectors.
    pub similarity: Option<f32>,
    /// The score of the reranker, 0 to 1.
    pub rerank_score: Option<f32>,
}

impl RetrievalScope {
    /// Parses `all`, `papers_only`, `external`, `collection:<name>` or `index:<name>`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let named = |prefix: &str| {
            let name = text.strip_prefix(prefix)?.trim();
            (!name.is_empty()).then(|| name.to_owned())
        };
        match text {
            "" | "all" => Some(Self::All),
            "papers_only" => Some(Self::PapersOnly),
            "external" => Some(Self::External),
            _ => named("collection:")
                .map(Self::Collection)
                .or_else(|| named("index:").map(Self::Index)),
        }
    }
}

impl ArticleFilter {
    /// A filter for one article.
    pub fn for_article(id: &str) -> Self {
        Self {
            ids: Some(vec![id.to_owned()]),
            ..Self::default()
        }
    }
}

impl RetrievedPassage {
    /// The pages as `p. 3` or `pp. 3-4`, or the note that it is the abstract.
    pub fn page_label(&self) -> String {
        match (self.place.page, self.place.end_page) {
            (0, _) => "abstract".to_owned(),
            (page, end) if page == end => format!("p. {page}"),
            (page, end) => format!("pp. {page}-{end}"),
        }
    }
}

/// The serialized name of a search mode.
pub(crate) fn mode_name(mode: SearchMode) -> &'static str {
    match mode {
        SearchMode::Hybrid => "hybrid",
        SearchMode::Text => "text",
        SearchMode::Vector => "vector",
    }
}

/// Serializes [`SearchMode`] as text.
mod mode {
    use deliberate_index::SearchMode;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the signature that serde requires"
    )]
    pub(crate) fn serialize<S: Serializer>(mode: &SearchMode, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(super::mode_name(*mode))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SearchMode, D::Error> {
        let text = String::deserialize(from)?;
        [SearchMode::Hybrid, SearchMode::Text, SearchMode::Vector]
            .into_iter()
            .find(|mode| super::mode_name(*mode) == text)
            .ok_or_else(|| D::Error::custom("unknown search mode"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_read_as_they_are_written() {
        assert_eq!(RetrievalScope::parse("all"), Some(RetrievalScope::All));
        assert_eq!(
            RetrievalScope::parse(" papers_only "),
            Some(RetrievalScope::PapersOnly)
        );
        assert_eq!(
            RetrievalScope::parse("external"),
            Some(RetrievalScope::External)
        );
        let named = RetrievalScope::parse("collection: Thermo dynamics");
        assert_eq!(
            named,
            Some(RetrievalScope::Collection("Thermo dynamics".to_owned()))
        );
        assert_eq!(
            RetrievalScope::parse("index:x"),
            Some(RetrievalScope::Index("x".to_owned()))
        );
        assert_eq!(RetrievalScope::parse("collection:"), None);
        assert_eq!(RetrievalScope::parse("everything"), None);
    }

    #[test]
    fn what_is_looked_for_comes_back_from_json() {
        let wanted = RetrievalQuery {
            question: "why".to_owned(),
            k: 3,
            mode: SearchMode::Vector,
            scope: RetrievalScope::Index("x".to_owned()),
            ..RetrievalQuery::default()
        };
        let json = serde_json::to_value(&wanted).unwrap();
        assert_eq!(
            serde_json::from_value::<RetrievalQuery>(json).unwrap(),
            wanted
        );
    }
}
