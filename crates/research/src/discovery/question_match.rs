//! The papers that match a research question.

use deliberate_core::{Change, IndexKey, StoredDocument, Timestamp};
use deliberate_store::{DocumentFilter, DocumentOrder, KeyMatch, Pagination, Store};
use deliberate_toolkit::ToolError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ResearchQuestion;

/// The document kind of a match.
pub const MATCH: &str = "match";

/// A paper that matches a question. When it is found again, the match gets a new score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionMatch {
    pub question_id: String,
    /// The article of the collection.
    pub article_id: String,
    pub title: String,
    /// The relevance, 0 to 1.
    pub score: f64,
    pub matched_keywords: Vec<String>,
    /// The reason for the score.
    pub reasoning: String,
    /// Scored by: `model` or `words`.
    pub scored_by: String,
    /// The sources that found it.
    pub sources: Vec<String>,
    /// The time it was first found, as ISO 8601.
    pub first_found: String,
}

/// A match with its stored version.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMatch {
    pub question_match: QuestionMatch,
    pub version: i64,
    /// The scoring criteria of the question at the time of scoring.
    pub scoring_criteria: String,
}

/// The field that holds the scoring criteria; it is never shown.
const SCORING_CRITERIA: &str = "judged_by";

impl StoredMatch {
    fn read(item: StoredDocument) -> Option<Self> {
        let judged_by = item.body.get(SCORING_CRITERIA).and_then(|it| it.as_str());
        Some(Self {
            scoring_criteria: judged_by.unwrap_or_default().to_owned(),
            version: item.version,
            question_match: serde_json::from_value(item.body).ok()?,
        })
    }

    /// Whether the match is valid for these criteria and relevant enough.
    pub(super) fn is_current(&self, judged_by: &str, min_relevance: f64) -> bool {
        self.scoring_criteria == judged_by && self.question_match.score >= min_relevance
    }
}

/// The matches of a question that are valid for its current form.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MatchSummary {
    /// Some matches: the most relevant first, for a saved source the latest first.
    pub matches: Vec<QuestionMatch>,
    /// The number of valid matches.
    pub total: u64,
    /// The number of other matches: scored by earlier criteria or not relevant enough any more.
    pub outdated: u64,
}

impl QuestionMatch {
    /// The document ID.
    pub fn id(&self) -> String {
        Self::match_id(&self.question_id, &self.article_id)
    }

    fn match_id(question: &str, article: &str) -> String {
        format!("{question}/{article}")
    }

    /// Loads the stored match of a question and an article.
    pub async fn load(
        store: &dyn Store,
        question: &str,
        article: &str,
    ) -> Result<Option<StoredMatch>, ToolError> {
        let item = store
            .document(MATCH, &Self::match_id(question, article))
            .await?;
        Ok(item.and_then(StoredMatch::read))
    }

    /// The IDs of some matches of a question, readable or not.
    pub async fn ids(
        store: &dyn Store,
        question: &str,
        page: Pagination,
    ) -> Result<Vec<String>, ToolError> {
        let filter = DocumentFilter::with_key(MATCH, "question", question);
        let items = store.documents(&filter, page).await?;
        Ok(items.into_iter().map(|it| it.id).collect())
    }

    /// Counts the matches of a question and loads at most `most` of the valid ones.
    pub async fn load_summary(
        store: &dyn Store,
        question: &ResearchQuestion,
        most: u32,
    ) -> Result<MatchSummary, ToolError> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let (judged_by, filter) = (question.scoring_criteria(), relevant_filter(question));
        let mut standing = MatchSummary::default();
        let mut page = Pagination::limit(Pagination::MAX);
        loop {
            let items = store.documents(&filter, page).await?;
            let read = u32::try_from(items.len()).unwrap_or(u32::MAX);
            let kept = items.into_iter().filter_map(StoredMatch::read);
            for kept in kept.filter(|it| it.is_current(&judged_by, question.min_relevance)) {
                standing.total += 1;
                if standing.matches.len() < most {
                    standing.matches.push(kept.question_match);
                }
            }
            if read < Pagination::MAX {
                break;
            }
            page.offset = page.offset.saturating_add(read);
        }
        let all = Self::count(store, &question.id).await?;
        standing.outdated = all.saturating_sub(standing.total);
        Ok(standing)
    }

    /// Counts the matches of a question.
    pub async fn count(store: &dyn Store, question: &str) -> Result<u64, ToolError> {
        Ok(store
            .count_documents(&DocumentFilter::with_key(MATCH, "question", question))
            .await?)
    }

    /// The change that stores the match with its scoring criteria.
    pub fn put_change(&self, version: i64, judged_by: &str, now: Timestamp) -> Change {
        let mut body = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = body.as_object_mut() {
            fields.insert(SCORING_CRITERIA.to_owned(), judged_by.into());
        }
        Change::PutDocument {
            item: StoredDocument {
                kind: MATCH.to_owned(),
                id: self.id(),
                version,
                seq: 0,
                body,
                keys: vec![
                    IndexKey::shared("question", self.question_id.clone()),
                    IndexKey::shared("article", self.article_id.clone()),
                    IndexKey::shared(SCORE, score_key(self.score)),
                ],
                created_at: now,
                updated_at: now,
            },
            parts: None,
        }
    }
}

/// The index key by which matches are sorted.
const SCORE: &str = "score";

/// A score as text that sorts.
fn score_key(score: f64) -> String {
    format!("{:.6}", score.clamp(0.0, 1.0))
}

/// The filter for matches that are relevant enough, in display order.
fn relevant_filter(question: &ResearchQuestion) -> DocumentFilter {
    let mut filter = DocumentFilter::with_key(MATCH, "question", &question.id);
    filter.keys.push(KeyMatch::Between {
        name: SCORE.to_owned(),
        from: Some(score_key(question.min_relevance)),
        to: None,
    });
    // All results of a saved source have the same relevance.
    if !question.is_source {
        filter.order = DocumentOrder::Key {
            name: SCORE.to_owned(),
            descending: true,
        };
    }
    filter
}
