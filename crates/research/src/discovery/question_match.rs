//! A paper that a question found.

use deliberate_core::{Change, IndexKey, StoredDocument, Timestamp};
use deliberate_store::{DocumentFilter, DocumentOrder, KeyMatch, Pagination, Store};
use deliberate_toolkit::ToolError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ResearchQuestion;

/// The kind of item a match is.
pub const MATCH: &str = "match";

/// A paper that a question found. Found again, it is the same match with a new score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionMatch {
    /// The question.
    pub question_id: String,
    /// The article of the collection.
    pub article_id: String,
    /// Its title.
    pub title: String,
    /// How relevant it is, 0 to 1.
    pub score: f64,
    /// Keywords it has.
    pub matched_keywords: Vec<String>,
    /// Why.
    pub reasoning: String,
    /// Who says so: `model` or `words`.
    pub scored_by: String,
    /// Which sources had it.
    pub sources: Vec<String>,
    /// When it was first found, as ISO 8601.
    pub first_found: String,
}

/// A match as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMatch {
    /// The match.
    pub question_match: QuestionMatch,
    /// Which version it was.
    pub version: i64,
    /// What the question said when it was scored.
    pub scoring_criteria: String,
}

/// Where a match keeps what it was judged by: nobody is shown it.
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

    /// Whether it fits a question that judges so and wants at least that relevance.
    pub(super) fn is_current(&self, judged_by: &str, min_relevance: f64) -> bool {
        self.scoring_criteria == judged_by && self.question_match.score >= min_relevance
    }
}

/// What a question has found, as far as it holds for the question as it is now.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MatchSummary {
    /// Some of them: the most relevant first, those of a saved source the last found first.
    pub matches: Vec<QuestionMatch>,
    /// How many there are in all.
    pub total: u64,
    /// How many more were found: judged by the question as it was before, or not relevant enough
    /// for it now.
    pub outdated: u64,
}

impl QuestionMatch {
    /// Its id.
    pub fn id(&self) -> String {
        Self::match_id(&self.question_id, &self.article_id)
    }

    fn match_id(question: &str, article: &str) -> String {
        format!("{question}/{article}")
    }

    /// The match that is kept.
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

    /// The ids of some of a question's matches, readable or not.
    pub async fn ids(
        store: &dyn Store,
        question: &str,
        page: Pagination,
    ) -> Result<Vec<String>, ToolError> {
        let filter = DocumentFilter::with_key(MATCH, "question", question);
        let items = store.documents(&filter, page).await?;
        Ok(items.into_iter().map(|it| it.id).collect())
    }

    /// What of a question's matches holds, and at most so many of them.
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

    /// How many a question has.
    pub async fn count(store: &dyn Store, question: &str) -> Result<u64, ToolError> {
        Ok(store
            .count_documents(&DocumentFilter::with_key(MATCH, "question", question))
            .await?)
    }

    /// The change that keeps it, with what it was judged by.
    pub fn put_change(&self, version: i64, judged_by: &str, now: Timestamp) -> Change {
        let mut body = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = body.as_object_mut() {
            fields.insert(SCORING_CRITERIA.to_owned(), judged_by.into());
        }
        Change::PutItem {
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

/// The key that matches are put in order by.
const SCORE: &str = "score";

/// A score as a text that sorts.
fn score_key(score: f64) -> String {
    format!("{:.6}", score.clamp(0.0, 1.0))
}

/// A question's matches that are relevant enough, in the order in which they are shown.
fn relevant_filter(question: &ResearchQuestion) -> DocumentFilter {
    let mut filter = DocumentFilter::with_key(MATCH, "question", &question.id);
    filter.keys.push(KeyMatch::Between {
        name: SCORE.to_owned(),
        from: Some(score_key(question.min_relevance)),
        to: None,
    });
    // All that a saved source finds is as relevant.
    if !question.is_source {
        filter.order = DocumentOrder::Key {
            name: SCORE.to_owned(),
            descending: true,
        };
    }
    filter
}
