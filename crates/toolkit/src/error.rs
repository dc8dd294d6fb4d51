//! What a call can end with instead of an answer.
//!
//! Each error has a stable code (the names the documents use), one sentence, and a hint at the
//! next step. Nothing here carries a secret or a stack, and none of it grows with what was sent.

use deliberate_core::{BranchState, Mode};
use deliberate_llm::ModelError;
use deliberate_store::StoreError;
use serde::Serialize;
use serde_json::{Value, json};

use crate::UpstreamError;

/// Why a call has no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// There is no such tool.
    #[error("there is no tool named {name:?}")]
    UnknownTool {
        /// What was asked for.
        name: String,
        /// The tool with the most similar name.
        nearest: Option<String>,
    },
    /// The arguments break the tool's rules.
    #[error("{}", ArgumentIssue::join_messages(.0))]
    Invalid(Vec<ArgumentIssue>),
    /// Something named by an id is not there.
    #[error("there is no {what} with id {id:?}")]
    NotFound {
        /// The kind of thing.
        what: EntityKind,
        /// The id.
        id: String,
    },
    /// Something is there, but belongs elsewhere than the call said.
    #[error("{what} {id:?} does not belong to {place} {place_id:?}")]
    WrongParent {
        /// The kind of thing.
        what: EntityKind,
        /// Its id.
        id: String,
        /// The kind of thing it was looked for in.
        place: EntityKind,
        /// The id of that.
        place_id: String,
    },
    /// A backtrack went back behind it.
    #[error("{what} {id:?} was set aside by a backtrack and is history now")]
    SetAside {
        /// The kind of thing.
        what: EntityKind,
        /// Its id.
        id: String,
    },
    /// The branch has ended.
    #[error("branch {id:?} is {}", .state.as_str())]
    BranchClosed {
        /// The branch.
        id: String,
        /// How it ended.
        state: BranchState,
    },
    /// The node was pruned.
    #[error("node {id:?} was pruned")]
    NodePruned {
        /// The node.
        id: String,
    },
    /// What is asked for goes beyond a limit that was set before.
    #[error("{what}")]
    LimitReached {
        /// Which limit, in a sentence without its end.
        what: String,
        /// What to do instead.
        instead: &'static str,
    },
    /// The session reasons in another way.
    #[error("session {id:?} is in {mode} mode, and this tool works on {wanted} sessions")]
    WrongMode {
        /// The session.
        id: String,
        /// The mode it has.
        mode: Mode,
        /// The mode the tool needs.
        wanted: Mode,
    },
    /// The model could not be asked, or gave nothing usable.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The call took too long.
    #[error("the call was stopped after {limit_ms} ms, its limit")]
    Timeout {
        /// The limit.
        limit_ms: u64,
    },
    /// A call whose work is outside took too long: nobody knows how far it came.
    #[error("the call was stopped after {limit_ms} ms, its limit")]
    TimeoutUnknownEffect {
        /// The limit.
        limit_ms: u64,
    },
    /// The client took the call back.
    #[error("the call was cancelled")]
    Cancelled,
    /// The server stops, and the call had not ended by then.
    #[error("the call was stopped because the server stops")]
    Stopping,
    /// Too many calls at once.
    #[error("{running} calls are running already, the most that are allowed")]
    Overloaded {
        /// How many.
        running: usize,
    },
    /// The caller was let in, but not for this.
    #[error("you may not use {what}")]
    Forbidden {
        /// What.
        what: String,
    },
    /// What a call that ran on without its caller failed with, told again.
    #[error("{message}")]
    Custom {
        /// The stable code.
        code: String,
        /// The sentence.
        message: String,
        /// What to do next.
        hint: Option<String>,
    },
    /// What another server, or the way to it, failed with.
    #[error("{}", .0.message)]
    Upstream(Box<UpstreamError>),
    /// A fault in the program.
    #[error("the tool failed because of a fault in the program; nothing was changed")]
    Internal,
}

/// The kinds of thing an id can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntityKind {
    /// A session.
    Session,
    /// A thought.
    Thought,
    /// A branch.
    Branch,
    /// A checkpoint.
    Checkpoint,
    /// A graph.
    Graph,
    /// A node.
    Node,
    /// A suspended call.
    Suspension,
    /// Anything that is read by its address.
    Resource,
}

impl std::fmt::Display for EntityKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Session => "session",
            Self::Thought => "thought",
            Self::Branch => "branch",
            Self::Checkpoint => "checkpoint",
            Self::Graph => "graph",
            Self::Node => "node",
            Self::Suspension => "suspended call",
            Self::Resource => "resource",
        })
    }
}

impl ToolError {
    /// The stable code.
    pub fn code(&self) -> &str {
        match self {
            Self::UnknownTool { .. } => "UnknownTool",
            Self::Invalid(_) => "Validation",
            Self::NotFound { what, .. } | Self::WrongParent { what, .. } => match what {
                EntityKind::Session => "SessionNotFound",
                EntityKind::Thought => "ThoughtNotFound",
                EntityKind::Branch => "BranchNotFound",
                EntityKind::Checkpoint => "CheckpointNotFound",
                EntityKind::Graph => "GraphNotFound",
                EntityKind::Node => "NodeNotFound",
                EntityKind::Suspension => "SuspensionNotFound",
                EntityKind::Resource => "ResourceNotFound",
            },
            Self::SetAside { .. } => "SetAside",
            Self::BranchClosed { .. } => "BranchClosed",
            Self::NodePruned { .. } => "NodePruned",
            Self::LimitReached { .. } => "LimitReached",
            Self::WrongMode { .. } => "WrongMode",
            Self::Model(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Timeout { .. } | Self::TimeoutUnknownEffect { .. } => "Timeout",
            Self::Cancelled => "Cancelled",
            Self::Stopping => "Stopping",
            Self::Overloaded { .. } => "Overloaded",
            Self::Forbidden { .. } => "Forbidden",
            Self::Custom { code, .. } => code,
            Self::Upstream(far) => &far.code,
            Self::Internal => "Internal",
        }
    }

    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::UnknownTool { nearest, .. } => match nearest {
                Some(name) => format!("Did you mean {name}?"),
                None => "List the tools to see their names.".to_owned(),
            },
            Self::Invalid(_) => "Correct the arguments and call again.".to_owned(),
            Self::NotFound { what, .. } => match what {
                EntityKind::Session => {
                    "Use one that a call answered (reasoning_sessions lists them); a call that may \
                     begin a session begins one if session_id is left out."
                        .to_owned()
                }
                EntityKind::Suspension => {
                    "It may have expired; make the original call again.".to_owned()
                }
                EntityKind::Resource => {
                    "List the resources and their templates to see what there is.".to_owned()
                }
                _ => "Use an id that an earlier call answered.".to_owned(),
            },
            Self::WrongParent { place, .. } => {
                format!("Use an id that a call on that {place} answered.")
            }
            Self::SetAside { .. } => {
                "Go on from what is current (reasoning_get shows it), or undo \
                 the backtrack: reasoning_checkpoint_list has the place it left."
                    .to_owned()
            }
            Self::BranchClosed { .. } => {
                "Reopen it with reasoning_tree_focus, or continue another branch.".to_owned()
            }
            Self::NodePruned { .. } => "Work on a node that is left (reasoning_got_state lists \
                 them), or backtrack to before the pruning."
                .to_owned(),
            Self::LimitReached { instead, .. } => (*instead).to_owned(),
            Self::WrongMode { mode, .. } => {
                format!("Use a {mode} tool on it, or begin another session.")
            }
            Self::Model(error) => return error.hint(),
            Self::Store(error) => return error.hint(),
            Self::Timeout { .. } => "Call again, or ask for less at once.".to_owned(),
            Self::TimeoutUnknownEffect { .. } => {
                "It may have happened all the same: look before you call again.".to_owned()
            }
            Self::Cancelled => return None,
            Self::Stopping => "Call again when it is back.".to_owned(),
            Self::Overloaded { .. } => "Call again in a moment.".to_owned(),
            Self::Forbidden { .. } => {
                "Ask whoever runs this server to let your token use it.".to_owned()
            }
            Self::Custom { hint, .. } => return hint.clone(),
            Self::Upstream(far) => return far.hint.clone(),
            Self::Internal => "Call again; if it fails again, please report it.".to_owned(),
        };
        Some(hint)
    }

    /// The error as it is told beyond this machine. Where the database lies, and what another
    /// server is started with, is for the log, and for who runs the server.
    pub fn redacted(self) -> Self {
        match self {
            Self::Store(
                store @ (StoreError::Connection { .. }
                | StoreError::LegacyDatabase { .. }
                | StoreError::NotOurDatabase { .. }
                | StoreError::Migration { .. }),
            ) => {
                tracing::error!(%store, "the database can't be used");
                Self::Custom {
                    code: store.code().to_owned(),
                    message: "the database can't be used".to_owned(),
                    hint: Some("`deliberate doctor` and the server's log say why.".to_owned()),
                }
            }
            Self::Upstream(far) => Self::Upstream(Box::new(far.redacted())),
            error => error,
        }
    }

    /// The error as data: code, message, hint, and the arguments at fault.
    pub fn to_json(&self) -> Value {
        let mut error = json!({ "code": self.code(), "message": self.to_string() });
        if let Some(fields) = error.as_object_mut() {
            if let Some(hint) = self.hint() {
                fields.insert("hint".to_owned(), hint.into());
            }
            if let Self::Invalid(issues) = self {
                fields.insert("issues".to_owned(), json!(issues));
            }
            if let Self::Upstream(far) = self {
                fields.extend(far.more.clone());
            }
        }
        error
    }

    /// What the model said that could not be used, for the record of the call.
    pub(crate) fn unusable_answer(&self) -> Option<&str> {
        match self {
            Self::Model(ModelError::InvalidResponse { answer, .. }) => Some(answer),
            _ => None,
        }
    }
}

/// One thing wrong with the arguments.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArgumentIssue {
    /// Which argument, as a path (`config.max_depth`), or `arguments` for the whole.
    pub field: String,
    /// The rule it breaks.
    pub rule: String,
    /// What was given, shortened; absent where nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What may have been meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub did_you_mean: Option<String>,
}

impl ArgumentIssue {
    /// An argument that breaks a rule.
    pub fn new(field: impl AsRef<str>, rule: impl Into<String>) -> Self {
        Self {
            field: deliberate_core::truncate_chars(field.as_ref(), 80),
            rule: rule.into(),
            value: None,
            did_you_mean: None,
        }
    }

    /// The same, showing what was given.
    pub fn with_value(mut self, value: &Value) -> Self {
        self.value = Some(deliberate_core::truncate_chars(&value.to_string(), 80));
        self
    }

    pub(crate) fn with_suggestion(mut self, nearest: Option<String>) -> Self {
        self.did_you_mean = nearest;
        self
    }

    /// Arguments that fit their schema and yet can't be read: which one it is, where that is known.
    pub(crate) fn unreadable(error: &serde_path_to_error::Error<serde_json::Error>) -> Self {
        let path = error.path().to_string();
        let field = if path == "." { "arguments" } else { &path };
        Self::new(field, error.inner().to_string())
    }

    fn join_messages(issues: &[Self]) -> String {
        let texts: Vec<String> = issues.iter().map(ToString::to_string).collect();
        texts.join("; ")
    }
}

impl std::fmt::Display for ArgumentIssue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.rule)?;
        if let Some(value) = &self.value {
            write!(f, ", got {value}")?;
        }
        if let Some(nearest) = &self.did_you_mean {
            write!(f, " (did you mean {nearest:?}?)")?;
        }
        Ok(())
    }
}
