//! What is looked for in the collection, and what was found. Plain values, so that a call can keep
//! them while its client thinks.

use deliberate_core::PartialDate;
use deliberate_index::{Passage, SearchMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::articles::{ArticleRecord, TextSpan};

/// What is looked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RetrievalQuery {
    /// The question or topic, as plain words.
    pub question: String,
    /// How many passages.
    pub k: usize,
    /// Where.
    #[serde(default)]
    pub scope: RetrievalScope,
    /// Among which articles.
    #[serde(default)]
    pub filter: ArticleFilter,
    /// By words, by meaning or by both.
    #[serde(default, with = "mode")]
    pub mode: SearchMode,
    /// Whether the best are put in their final order by whatever the settings name for it.
    #[serde(default)]
    pub rerank: bool,
    /// The most passages of one article.
    #[serde(default)]
    pub per_article: Option<usize>,
}

/// Where in the collection is looked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetrievalScope {
    /// Everywhere.
    #[default]
    All,
    /// In papers.
    PapersOnly,
    /// In what was brought in from elsewhere: textbooks, notes.
    External,
    /// In one knowledge collection, by its name.
    Collection(String),
    /// In one custom index, by its name.
    Index(String),
}

/// Which articles may be found; all that is given must be true.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArticleFilter {
    /// These, by their ids.
    pub ids: Option<Vec<String>>,
    /// Not these, by their ids.
    pub not_ids: Vec<String>,
    /// By someone of that name: a family name, or with given names or initials.
    pub author: Option<String>,
    /// Not older.
    pub date_from: Option<PartialDate>,
    /// Not younger.
    pub date_to: Option<PartialDate>,
    /// Of this kind, as [`deliberate_core::WorkKind`] is written.
    pub kind: Option<String>,
    /// In a journal or at a conference of that name.
    pub venue: Option<String>,
    /// With all of these tags.
    pub tags: Vec<String>,
    /// Cited at least so often; articles whose citations nobody counted are left out.
    pub min_citations: Option<u64>,
    /// With or without a text.
    pub has_text: Option<bool>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RetrievalResult {
    /// The passages, best first.
    pub passages: Vec<RetrievedPassage>,
    /// By what they were found.
    #[serde(with = "mode")]
    pub mode: SearchMode,
    /// What whoever asked should know: that the index is still being made, that vectors are missing.
    pub notes: Vec<String>,
}

/// A passage that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RetrievedPassage {
    /// Its article.
    pub kept: ArticleRecord,
    /// The passage. An article without a text has one, of its title and abstract, on page 0.
    pub passage: Passage,
    /// Where it stands, in characters of its page.
    pub place: TextSpan,
    /// What it was put in order by; comparable within one answer alone.
    pub score: f32,
    /// Its score by words (BM25).
    pub text_score: Option<f32>,
    /// Its likeness by meaning, the cosine of the vectors.
    pub similarity: Option<f32>,
    /// What the second look gave it, 0 to 1.
    pub rerank_score: Option<f32>,
}

impl RetrievalScope {
    /// `all`, `papers_only`, `external`, `collection:<name>` or `index:<name>`.
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
    /// The article of that id alone.
    pub fn for_article(id: &str) -> Self {
        Self {
            ids: Some(vec![id.to_owned()]),
            ..Self::default()
        }
    }
}

impl RetrievedPassage {
    /// `p. 3`, `pp. 3-4`, or that it is the abstract.
    pub fn page_label(&self) -> String {
        match (self.place.page, self.place.end_page) {
            (0, _) => "abstract".to_owned(),
            (page, end) if page == end => format!("p. {page}"),
            (page, end) => format!("pp. {page}-{end}"),
        }
    }
}

/// How a way of searching is written.
pub(crate) fn mode_name(mode: SearchMode) -> &'static str {
    match mode {
        SearchMode::Hybrid => "hybrid",
        SearchMode::Text => "text",
        SearchMode::Vector => "vector",
    }
}

/// [`SearchMode`] as text.
mod mode {
    use deliberate_index::SearchMode;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub(crate) fn serialize<S: Serializer>(mode: &SearchMode, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(super::mode_name(*mode))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SearchMode, D::Error> {
        let text = String::deserialize(from)?;
        [SearchMode::Hybrid, SearchMode::Text, SearchMode::Vector]
            .into_iter()
            .find(|mode| super::mode_name(*mode) == text)
            .ok_or_else(|| D::Error::custom("no way of searching"))
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
