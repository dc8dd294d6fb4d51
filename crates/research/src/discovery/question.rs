//! What is kept of a question, and how questions are found.

use std::{cmp::Ordering, time::Duration};

use deliberate_core::{Change, IndexKey, PartialDate, StoredDocument, Timestamp};
use deliberate_store::{DocumentFilter, DocumentOrder, KeyMatch, Pagination, Store};
use deliberate_toolkit::ToolError;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Schedule;

/// The kind of item a question is.
pub const QUESTION: &str = "question";

/// A question that is kept and asked again. A saved source is one, too: of a single source, and
/// everything it finds fits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResearchQuestion {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub user: String,
    /// Its name; no other of the user has it.
    pub name: String,
    /// What it is about.
    #[serde(default)]
    pub description: String,
    /// Any of which a paper should have.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// What papers should be about.
    #[serde(default)]
    pub topics: Vec<String>,
    /// Whose papers are liked best.
    #[serde(default)]
    pub authors: Vec<String>,
    /// Subject classes, for sources that have them.
    #[serde(default)]
    pub categories: Vec<String>,
    /// The sources that are asked; `*` is all.
    pub sources: Vec<String>,
    /// When it is asked.
    pub schedule: Schedule,
    /// How relevant a paper must be.
    pub min_relevance: f64,
    /// How many papers are looked at in one run.
    pub max_articles: u32,
    /// From which relevance on open PDFs are fetched and read; `None` fetches none.
    pub download_from: Option<f64>,
    /// Not older.
    #[serde(default)]
    pub from: Option<PartialDate>,
    /// Not younger.
    #[serde(default)]
    pub to: Option<PartialDate>,
    /// Whether it is asked when it is due.
    pub active: bool,
    /// Whether it is a saved source.
    #[serde(default)]
    pub is_source: bool,
    /// Sources that have answered it as it now is; these are asked again for what is new.
    #[serde(default)]
    pub answered_by: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// The last run.
    #[serde(default)]
    pub last_run: Option<QuestionRunRecord>,
    /// When it is due.
    #[serde(default)]
    pub next_run: Option<Timestamp>,
}

/// What a run came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionRunRecord {
    /// When, as ISO 8601.
    pub at: String,
    /// Papers found.
    pub found: u32,
    /// Of those, scored.
    pub scored: u32,
    /// Of those, relevant enough.
    pub matched: u32,
    /// Of those, not known before.
    pub new: u32,
    /// How long it took.
    pub seconds: f64,
    /// Only papers since then were asked for, because older ones were looked at before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Sources that failed, each with why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// A question as it was read, to be written again only if nobody else did meanwhile.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionedQuestion {
    /// The question.
    pub question: ResearchQuestion,
    /// Which version it was; 0 for a new one.
    pub version: i64,
}

impl VersionedQuestion {
    /// The change that keeps it.
    pub fn put_change(&self, now: Timestamp) -> Change {
        let question = &self.question;
        Change::PutItem {
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
            .inspect_err(|error| tracing::error!(id = item.id, %error, "a question can't be read"))
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

    /// What a paper is judged by, in one text: a score holds as long as this stays the same.
    pub(super) fn scoring_criteria(&self) -> String {
        let parts = (&self.name, &self.description);
        let lists = (&self.keywords, &self.topics, &self.authors);
        serde_json::to_string(&(parts, lists)).unwrap_or_default()
    }

    /// When it is due after `now`.
    pub fn schedule_next(&mut self, now: Timestamp) {
        self.next_run = self.schedule.next_run(now, &TimeZone::system());
    }

    /// Leaves it alone for a while, if no run plans it anew.
    pub(super) fn postpone(&mut self, now: Timestamp, by: Duration) {
        let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        self.next_run = Some(Timestamp::from_micros(now.as_micros().saturating_add(by)));
    }
}

/// How two dates lie to each other, as far as both are known: 2024 is neither before nor after May
/// 2024.
pub(crate) fn compare_dates(one: PartialDate, other: PartialDate) -> Ordering {
    let both =
        |one: Option<u8>, other: Option<u8>| one.zip(other).map(|(one, other)| one.cmp(&other));
    let month = both(one.month, other.month);
    // Days of two months are not compared.
    let day = month.and_then(|_| both(one.day, other.day));
    one.year
        .cmp(&other.year)
        .then(month.unwrap_or(Ordering::Equal))
        .then(day.unwrap_or(Ordering::Equal))
}

/// Names are compared without case; a source's are apart from those of questions.
fn name_key(user: &str, name: &str, is_source: bool) -> String {
    let kind = if is_source { "source" } else { "question" };
    // Quoted, so that no user's name runs into a question's.
    format!("{kind} {user:?} {}", name.trim().to_lowercase())
}

/// A time as a text that sorts.
fn due_key(at: Timestamp) -> String {
    format!("{:020}", at.as_micros().max(0))
}

/// The questions, for reading.
#[derive(Clone, Copy)]
pub struct QuestionRepository<'a>(pub &'a dyn Store);

impl QuestionRepository<'_> {
    /// The question of that id, if it is this user's.
    pub async fn get(self, id: &str, user: &str) -> Result<VersionedQuestion, ToolError> {
        let item = self.0.document(QUESTION, id).await?;
        let found = item.and_then(VersionedQuestion::read);
        let own = found.filter(|it| it.question.user == user && !it.question.is_source);
        own.ok_or_else(|| ToolError::Custom {
            code: "QuestionNotFound".to_owned(),
            message: format!(
                "there is no research question with id {:?}",
                deliberate_core::truncate_chars(id, 80)
            ),
            hint: Some("list_research_questions shows those there are.".to_owned()),
        })
    }

    /// The saved source of that name.
    pub async fn find_source(self, name: &str) -> Result<VersionedQuestion, ToolError> {
        let key = name_key(SOURCE_USER, name, true);
        let filter = DocumentFilter::with_key(QUESTION, "name", &key);
        let found = self.list(&filter, Pagination::limit(1)).await?.pop();
        found.ok_or_else(|| ToolError::Custom {
            code: "SourceNotFound".to_owned(),
            message: format!(
                "there is no saved source named {:?}",
                deliberate_core::truncate_chars(name, 80)
            ),
            hint: Some("list_discovery_sources shows those there are.".to_owned()),
        })
    }

    /// Whether the user has one of that name.
    pub async fn exists(self, user: &str, name: &str, is_source: bool) -> Result<bool, ToolError> {
        let key = name_key(user, name, is_source);
        let filter = DocumentFilter::with_key(QUESTION, "name", &key);
        Ok(self.0.count_documents(&filter).await? > 0)
    }

    /// The user's questions, or the saved sources, the last made first.
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

    /// Those that are due, the longest first.
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

/// Whose saved sources are: they are the server's.
pub(crate) const SOURCE_USER: &str = "*";
