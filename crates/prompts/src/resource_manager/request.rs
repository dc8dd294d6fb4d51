//! The request and the reply of `resource_manager`. Knows nothing of files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use strum::IntoStaticStr;

use crate::model::LibraryItemKind;

/// The arguments of `resource_manager`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct Input {
    /// The type of the resource.
    #[schemars(description = "")]
    pub resource_type: ResourceType,
    /// The action.
    #[schemars(description = "")]
    pub action: ResourceAction,
    /// Or a checkpoint's name
    pub id: Option<String>,
    /// For delete, rollback, clear
    pub confirm: Option<bool>,
    /// From inspect: fail if changed since
    pub expected_hash: Option<String>,
    /// To roll back to
    #[schemars(range(min = 1))]
    pub version: Option<u64>,
    /// The older version of a comparison.
    #[schemars(description = "")]
    #[schemars(range(min = 1))]
    pub from_version: Option<u64>,
    /// The newer version of a comparison.
    #[schemars(description = "")]
    #[schemars(range(min = 1))]
    pub to_version: Option<u64>,
    /// Words, category:x, type:chain
    pub filter: Option<String>,
    /// The format of the reply.
    #[schemars(description = "")]
    pub format: Option<ReplyFormat>,
    /// The most entries.
    #[schemars(description = "")]
    #[schemars(range(min = 1))]
    pub limit: Option<usize>,
    /// All other fields: those of the resource, and rare options.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The type of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(description = "")]
pub enum ResourceType {
    /// A prompt or a chain.
    Prompt,
    /// A gate.
    Gate,
    /// A methodology.
    Methodology,
    /// An alias of methodology.
    Framework,
    /// A style.
    Style,
    /// A copy of all workspace files.
    Checkpoint,
}

impl ResourceType {
    /// Returns the kind of resource; `None` for a checkpoint.
    pub(crate) const fn kind(self) -> Option<LibraryItemKind> {
        match self {
            Self::Prompt => Some(LibraryItemKind::Prompt),
            Self::Gate => Some(LibraryItemKind::Gate),
            Self::Methodology | Self::Framework => Some(LibraryItemKind::Methodology),
            Self::Style => Some(LibraryItemKind::Style),
            Self::Checkpoint => None,
        }
    }
}

/// An action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[schemars(description = "")]
pub enum ResourceAction {
    /// Lists resources.
    List,
    /// Shows a resource.
    Inspect,
    /// Creates a resource.
    Create,
    /// Updates a resource.
    Update,
    /// Deletes a resource.
    Delete,
    /// Reads the files again.
    Reload,
    /// Lists the versions of a resource.
    History,
    /// Restores a version.
    Rollback,
    /// Shows the difference between two versions.
    Compare,
    /// Makes a methodology the active one.
    Switch,
    /// Reports the type of a prompt.
    AnalyzeType,
    /// Reports the gates of a prompt.
    AnalyzeGates,
    /// Shows the usage guide.
    Guide,
    /// Deletes all checkpoints.
    Clear,
}

impl ResourceAction {
    pub(crate) fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The format of a reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(description = "")]
pub enum ReplyFormat {
    /// Plain text.
    #[default]
    Text,
    /// JSON.
    Json,
}

/// The reply of `resource_manager`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ManageReply {
    /// The text to read.
    #[schemars(description = "")]
    pub said: String,
    /// Further results, by name.
    #[serde(flatten)]
    pub facts: Map<String, Value>,
}

impl ManageReply {
    /// Creates a reply that is only text.
    pub(crate) fn new(said: impl Into<String>) -> Self {
        Self {
            said: said.into(),
            facts: Map::new(),
        }
    }

    /// Adds a named result.
    pub(crate) fn with_fact(mut self, name: &str, fact: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), fact.into());
        self
    }

    /// Adds text at the end.
    pub(crate) fn with_text(mut self, more: &str) -> Self {
        if !more.is_empty() {
            self.said.push('\n');
            self.said.push_str(more);
        }
        self
    }
}
