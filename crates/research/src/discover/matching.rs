//! A paper that a question found.

use deliberate_core::{Change, Item, ItemKey, Timestamp};
use deliberate_store::{ItemFilter, ItemOrder, Page, Store};
use deliberate_toolkit::ToolError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of item a match is.
pub const MATCH: &str = "match";

/// A paper that a question found. Found again, it is the same match with a new score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Match {
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
pub struct KeptMatch {
    /// The match.
    pub found: Match,
    /// Which version it was.
    pub version: i64,
    /// What the question said when it was scored.
    pub judged_by: String,
}

/// Where a match keeps what it was judged by: nobody is shown it.
const JUDGED_BY: &str = "judged_by";

impl Match {
    /// Its id.
    pub fn id(&self) -> String {
        Self::id_of(&self.question_id, &self.article_id)
    }

    fn id_of(question: &str, article: &str) -> String {
        format!("{question}/{article}")
    }

    /// The match that is kept.
    pub async fn kept(
        store: &dyn Store,
        question: &str,
        article: &str,
    ) -> Result<Option<KeptMatch>, ToolError> {
        let item = store.item(MATCH, &Self::id_of(question, article)).await?;
        Ok(item.and_then(|it| {
            let judged_by = it.body.get(JUDGED_BY).and_then(|it| it.as_str());
            Some(KeptMatch {
                judged_by: judged_by.unwrap_or_default().to_owned(),
                version: it.version,
                found: serde_json::from_value(it.body).ok()?,
            })
        }))
    }

    /// The ids of some of a question's matches, readable or not.
    pub async fn ids(
        store: &dyn Store,
        question: &str,
        page: Page,
    ) -> Result<Vec<String>, ToolError> {
        let filter = ItemFilter::with(MATCH, "question", question);
        let items = store.items(&filter, page).await?;
        Ok(items.into_iter().map(|it| it.id).collect())
    }

    /// A question's matches, the most relevant first.
    pub async fn of(store: &dyn Store, question: &str, page: Page) -> Result<Vec<Self>, ToolError> {
        let filter = ItemFilter {
            order: ItemOrder::Key {
                name: "score".to_owned(),
                descending: true,
            },
            ..ItemFilter::with(MATCH, "question", question)
        };
        let items = store.items(&filter, page).await?;
        let read = items
            .into_iter()
            .filter_map(|it| serde_json::from_value(it.body).ok());
        Ok(read.collect())
    }

    /// How many a question has.
    pub async fn count(store: &dyn Store, question: &str) -> Result<u64, ToolError> {
        Ok(store
            .count_items(&ItemFilter::with(MATCH, "question", question))
            .await?)
    }

    /// The change that keeps it, with what it was judged by.
    pub fn put(&self, version: i64, judged_by: &str, now: Timestamp) -> Change {
        let mut body = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = body.as_object_mut() {
            fields.insert(JUDGED_BY.to_owned(), judged_by.into());
        }
        Change::PutItem {
            item: Item {
                kind: MATCH.to_owned(),
                id: self.id(),
                version,
                seq: 0,
                body,
                keys: vec![
                    ItemKey::shared("question", self.question_id.clone()),
                    ItemKey::shared("article", self.article_id.clone()),
                    ItemKey::shared("score", format!("{:.6}", self.score.clamp(0.0, 1.0))),
                ],
                created_at: now,
                updated_at: now,
            },
            parts: None,
        }
    }
}
