//! Research questions and how they are stored and found.

use std::{cmp::Ordering, time::Duration};

use deliberate_core::{Change, IndexKey, PartialDate, StoredDocument, Timestamp};
use deliberate_store::{DocumentFilter, DocumentOrder, KeyMatch, Pagination, Store};
use deliberate_toolkit::{ErrorCode, Schedule, ToolError};
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The document kind of a question.
pub const QUESTION: &str = "question";

/// A research question that is stored and run again. A saved source is one, too: it has a single
/// source, and all of its results match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResearchQuestion {
    pub id: String,
    /// The owner of the question.
    pub user: String,
    /// The name, unique among the user's questions.
    pub name: String,
    /// The subject of the question.
    #[serde(default)]
    pub description: String,
    /// Keywords, any of which a paper should have.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// The topics of the wanted papers.
    #[serde(default)]
    pub topics: Vec<String>,
    /// The preferred authors.
    #[serde(default)]
    pub authors: Vec<String>,
    /// Subject classes, for sources that have them.
    #[serde(default)]
    pub categories: Vec<String>,
    /// The sources to search; `*` means all.
    pub sources: Vec<String>,
    pub schedule: Schedule,
    /// The lowest relevance of a match.
    pub min_relevance: f64,
    /// The most papers examined in one run.
    pub max_articles: u32,
    /// The relevance from which open PDFs are fetched and read; `None` fetches none.
    pub download_from: Option<f64>,
    /// The earliest date of publication.
    #[serde(default)]
    pub from: Option<PartialDate>,
    /// The latest date of publication.
    #[serde(default)]
    pub to: Option<PartialDate>,
    /// Whether the question runs when it is due.
    pub active: bool,
    /// Whether the question is a saved source.
    #[serde(default)]
    pub is_source: bool,
    /// Sources that answered the question in its current form; they are asked only for new papers.
    #[serde(default)]
    pub answered_by: Vec<String>,
    pub created_at: Timestamp,
    #[serde(default)]
    pub last_run: Option<QuestionRunRecord>,
    /// The time when the question is due.
    #[serde(default)]
    pub next_run: Option<Timestamp>,
}

/// The result of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionRunRecord {
    /// The time of the run, as ISO 8601.
    pub at: String,
    /// Papers found.
    pub found: u32,
    /// Of those, scored.
    pub scored: u32,
    /// Of those, relevant enough.
    pub matched: u32,
    /// Of those, not known before.
    pub new: u32,
    /// The duration of the run.
    pub seconds: f64,
    /// The start of the searched period, if older papers were examined before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Sources that failed, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// A question with its stored version, so that a concurrent change is detected when it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionedQuestion {
    pub question: ResearchQuestion,
    /// The version that was read; 0 for a new question.
    pub version: i64,
}

impl VersionedQuestion {
    /// The change that stores the question.
    pub fn put_change(&self, now: Timestamp) -> Change {
        let question = &self.question;
        Change::PutDocument {
            item: StoredDocument {
                kind: QUESTION.to_owned(),
                id: question.id.clone(),
                version: self.version,
                seq: 0,
                body: serde_json::to_value(question).unwrap_or_default(),
                keys: question.index_keys(),
                created_at: question.created_at,
                updated_at: now,
            },
            parts: None,
        }
    }

    fn read(item: StoredDocument) -> Option<Self> {
        let version = item.version;
        let question = serde_json::from_value(item.body);
        question
            .inspect_err(
                |error| tracing::error!(id = item.id, %error, "a stored question can't be read"),
            )
            .ok()
            .map(|question| Self { question, version })
    }
}

impl ResearchQuestion {
    fn index_keys(&self) -> Vec<IndexKey> {
        let mut keys = vec![
            IndexKey::shared("user", self.user.clone()),
            IndexKey::unique("name", name_key(&self.user, &self.name, self.is_source)),
            IndexKey::shared("active", if self.active { "yes" } else { "no" }),
            IndexKey::shared("source", if self.is_source { "yes" } else { "no" }),
        ];
        if let (true, Some(due)) = (self.active, self.next_run) {
            keys.push(IndexKey::shared("due", due_key(due)));
        }
        keys
    }

    /// The criteria a paper is scored by, as text: a score is valid as long as this stays the same.
    pub(super) fn scoring_criteria(&self) -> String {
        let parts = (&self.name, &self.description);
        let lists = (&self.keywords, &self.topics, &self.authors);
        serde_json::to_string(&(parts, lists)).unwrap_or_default()
    }

    /// Sets the next run after `now`.
    pub fn schedule_next(&mut self, now: Timestamp) {
        self.next_run = self.schedule.next_run(now, &TimeZone::system());
    }

    /// Postpones the next run, unless a run schedules it anew.
    pub(super) fn postpone(&mut self, now: Timestamp, by: Duration) {
        let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        self.next_run = Some(Timestamp::from_micros(now.as_micros().saturating_add(by)));
    }
}

/// Compares two partial dates as far as both are known: 2024 is neither before nor after May 2024.
pub(crate) fn compare_dates(one: PartialDate, other: PartialDate) -> Ordering {
    let both =
        |one: Option<u8>, other: Option<u8>| one.zip(other).map(|(one, other)| one.cmp(&other));
    let month = both(one.month, other.month);
    // Days are compared only within the same month.
    let day = month.and_then(|_| both(one.day, other.day));
    one.year
        .cmp(&other.year)
        .then(month.unwrap_or(Ordering::Equal))
        .then(day.unwrap_or(Ordering::Equal))
}

/// The key of a name. Names ignore case, and those of saved sources are separate from questions.
fn name_key(user: &str, name: &str, is_source: bool) -> String {
    let kind = if is_source { "source" } else { "question" };
    // The user is quoted, so that it can't run into the name of the question.
    format!("{kind} {user:?} {}", name.trim().to_lowercase())
}

/// A time as text that sorts.
fn due_key(at: Timestamp) -> String {
    format!("{:020}", at.as_micros().max(0))
}

/// Reads stored questions.
#[derive(Clone, Copy)]
pub struct QuestionRepository<'a>(pub &'a dyn Store);

impl QuestionRepository<'_> {
    /// The question with this ID if it belongs to the user.
    pub async fn get(self, id: &str, user: &str) -> Result<VersionedQuestion, ToolError> {
        let item = self.0.document(QUESTION, id).await?;
        let found = item.and_then(VersionedQuestion::read);
        let own = found.filter(|it| it.question.user == user && !it.question.is_source);
        own.ok_or_else(|| ToolError::Custom {
            code: ErrorCode::QuestionNotFound,
            message: format!(
                "there is no research question with ID {:?}",
                deliberate_core::truncate_chars(id, 80)
            ),
            hint: Some("Call list_research_questions to see all.".to_owned()),
        })
    }

    /// The saved source with this name.
    pub async fn find_source(self, name: &str) -> Result<VersionedQuestion, ToolError> {
        let key = name_key(SOURCE_USER, name, true);
        let filter = DocumentFilter::with_key(QUESTION, "name", &key);
        let found = self.list(&filter, Pagination::limit(1)).await?.pop();
        found.ok_or_else(|| ToolError::Custom {
            code: ErrorCode::SourceNotFound,
            message: format!(
                "there is no saved source named {:?}",
                deliberate_core::truncate_chars(name, 80)
            ),
            hint: Some("Call list_discovery_sources to see all.".to_owned()),
        })
    }

    /// Whether the user has a question or saved source with this name.
    pub async fn exists(self, user: &str, name: &str, is_source: bool) -> Result<bool, ToolError> {
        let key = name_key(user, name, is_source);
        let filter = DocumentFilter::with_key(QUESTION, "name", &key);
        Ok(self.0.count_documents(&filter).await? > 0)
    }

    /// The user's questions or saved sources, the newest first.
    pub async fn list_for_user(
        self,
        user: &str,
        is_source: bool,
        active_only: bool,
    ) -> Result<Vec<VersionedQuestion>, ToolError> {
        let mut filter = DocumentFilter::with_key(QUESTION, "user", user);
        let mut also = |name: &str, value: &str| {
            filter.keys.push(KeyMatch::OneOf {
                name: name.to_owned(),
                values: vec![value.to_owned()],
            });
        };
        also("source", if is_source { "yes" } else { "no" });
        if active_only {
            also("active", "yes");
        }
        self.list(&filter, Pagination::limit(Pagination::MAX)).await
    }

    /// The questions that are due, the longest overdue first.
    pub async fn list_due(
        self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<VersionedQuestion>, ToolError> {
        let filter = DocumentFilter {
            keys: vec![KeyMatch::Between {
                name: "due".to_owned(),
                from: None,
                to: Some(due_key(now)),
            }],
            order: DocumentOrder::Key {
                name: "due".to_owned(),
                descending: false,
            },
            ..DocumentFilter::of_kind(QUESTION)
        };
        self.list(&filter, Pagination::limit(limit)).await
    }

    async fn list(
        self,
        filter: &DocumentFilter,
        page: Pagination,
    ) -> Result<Vec<VersionedQuestion>, ToolError> {
        let items = self.0.documents(filter, page).await?;
        Ok(items
            .into_iter()
            .filter_map(VersionedQuestion::read)
            .collect())
    }
}

/// The owner of saved sources: they belong to the server.
pub(crate) const SOURCE_USER: &str = "*";
