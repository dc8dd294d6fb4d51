//! The working set of a reader: up to three articles that are read whole.

use deliberate_core::{Change, StoredDocument, truncate_chars};
use deliberate_toolkit::{ToolContext, ToolError};
use serde::{Deserialize, Serialize};

/// The kind of item a working set is.
const WORKING_SET_KIND: &str = "working_set";

/// How many articles it holds.
pub(super) const MAX_ARTICLES: usize = 3;

/// A reader's articles.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct WorkingSet {
    pub(super) articles: Vec<WorkingSetSlot>,
    #[serde(skip)]
    version: i64,
    #[serde(skip)]
    id: String,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct WorkingSetSlot {
    pub(super) article_id: String,
    pub(super) title: String,
}

impl WorkingSet {
    /// Those of a reader: whoever calls, under the name they give themselves.
    pub(super) async fn load(call: &ToolContext, agent: Option<&str>) -> Result<Self, ToolError> {
        let owner = call.owner().unwrap_or_default();
        let agent = truncate_chars(agent.unwrap_or("default").trim(), 200);
        let id = format!("{owner}/{agent}");
        let item = call.store().document(WORKING_SET_KIND, &id).await?;
        let mut slots = match item {
            Some(item) => Self {
                version: item.version,
                ..serde_json::from_value(item.body).unwrap_or_default()
            },
            None => Self::default(),
        };
        slots.id = id;
        Ok(slots)
    }

    pub(super) fn contains(&self, article_id: &str) -> bool {
        self.articles.iter().any(|it| it.article_id == article_id)
    }

    /// What keeps it.
    pub(super) fn put_change(&self, call: &ToolContext) -> Change {
        let now = call.now();
        Change::PutItem {
            item: StoredDocument {
                kind: WORKING_SET_KIND.to_owned(),
                id: self.id.clone(),
                version: self.version,
                seq: 0,
                body: serde_json::to_value(self).unwrap_or_default(),
                keys: Vec::new(),
                created_at: now,
                updated_at: now,
            },
            parts: None,
        }
    }

    /// Which articles are in it, for people.
    pub(super) fn render_text(&self) -> String {
        let titles = self
            .articles
            .iter()
            .map(|it| crate::tools::rendering::escape_markdown(&it.title));
        let titles: Vec<String> = titles.collect();
        format!(
            "{} of {MAX_ARTICLES} slots in use: {}",
            titles.len(),
            match titles.len() {
                0 => "none".to_owned(),
                _ => titles.join("; "),
            }
        )
    }
}
