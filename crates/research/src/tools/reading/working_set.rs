//! The working set of a reader: up to three articles that are read whole.

use deliberate_core::{Change, StoredDocument, truncate_chars};
use deliberate_toolkit::{ToolContext, ToolError};
use serde::{Deserialize, Serialize};

/// Document kind of working sets.
const WORKING_SET_KIND: &str = "working_set";

/// Slots of a working set.
pub(super) const MAX_ARTICLES: usize = 3;

/// The articles that a reader has loaded.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct WorkingSet {
    pub(super) articles: Vec<WorkingSetSlot>,
    #[serde(skip)]
    version: i64,
    #[serde(skip)]
    id: String,
}

/// A loaded article.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct WorkingSetSlot {
    pub(super) article_id: String,
    pub(super) title: String,
}

impl WorkingSet {
    /// Loads the working set of the caller under the given agent name.
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

    /// The change that stores the working set.
    pub(super) fn put_change(&self, call: &ToolContext) -> Change {
        let now = call.now();
        Change::PutDocument {
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

    /// Renders the loaded articles.
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
