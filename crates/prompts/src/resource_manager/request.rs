//! What `resource_manager` is asked and what it answers. Knows nothing of files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::LibraryItemKind;

/// What `resource_manager` is called with.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct Input {
    /// What it is about.
    #[schemars(description = "")]
    pub resource_type: ResourceType,
    /// What is done.
    #[schemars(description = "")]
    pub action: ResourceAction,
    /// Or a checkpoint's name
    pub id: Option<String>,
    /// For delete, rollback, clear
    pub confirm: Option<bool>,
    /// From inspect: refuse if changed since
    pub expected_hash: Option<String>,
    /// To roll back to
    #[schemars(range(min = 1))]
    pub version: Option<u64>,
    /// The older one, to compare.
    #[schemars(description = "")]
    #[schemars(range(min = 1))]
    pub from_version: Option<u64>,
    /// The newer one.
    #[schemars(description = "")]
    #[schemars(range(min = 1))]
    pub to_version: Option<u64>,
    /// Words, category:x, type:chain
    pub filter: Option<String>,
    /// How the answer is written.
    #[schemars(description = "")]
    pub format: Option<ReplyFormat>,
    /// How many, at most.
    #[schemars(description = "")]
    #[schemars(range(min = 1))]
    pub limit: Option<usize>,
    /// Everything else: what the thing consists of, and rarer switches.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// What it is about.
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
    /// The other word for a methodology.
    Framework,
    /// A style.
    Style,
    /// A copy of everything in the workspace.
    Checkpoint,
}

impl ResourceType {
    /// The kind of thing, unless it is a checkpoint.
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

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(description = "")]
pub enum ResourceAction {
    /// Says what there is.
    List,
    /// Shows one.
    Inspect,
    /// Makes a new one.
    Create,
    /// Changes one.
    Update,
    /// Removes one.
    Delete,
    /// Reads the files again.
    Reload,
    /// Lists the versions of one.
    History,
    /// Makes a version the current one.
    Rollback,
    /// Shows the difference between two versions.
    Compare,
    /// Makes a methodology the one in use.
    Switch,
    /// Says what kind of prompt it is.
    AnalyzeType,
    /// Says which gates a prompt has.
    AnalyzeGates,
    /// Says how to use this.
    Guide,
    /// Removes all checkpoints.
    Clear,
}

impl ResourceAction {
    /// Its name.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Inspect => "inspect",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Reload => "reload",
            Self::History => "history",
            Self::Rollback => "rollback",
            Self::Compare => "compare",
            Self::Switch => "switch",
            Self::AnalyzeType => "analyze_type",
            Self::AnalyzeGates => "analyze_gates",
            Self::Guide => "guide",
            Self::Clear => "clear",
        }
    }
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(description = "")]
pub enum ReplyFormat {
    /// For reading.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// What `resource_manager` answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ManageReply {
    /// What to read.
    #[schemars(description = "")]
    pub said: String,
    /// What else there is to know, by name.
    #[serde(flatten)]
    pub facts: Map<String, Value>,
}

impl ManageReply {
    /// An answer that is only text.
    pub(crate) fn new(said: impl Into<String>) -> Self {
        Self {
            said: said.into(),
            facts: Map::new(),
        }
    }

    /// The same with a fact.
    pub(crate) fn with_fact(mut self, name: &str, fact: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), fact.into());
        self
    }

    /// The same with more text below.
    pub(crate) fn with_text(mut self, more: &str) -> Self {
        if !more.is_empty() {
            self.said.push('\n');
            self.said.push_str(more);
        }
        self
    }
}
