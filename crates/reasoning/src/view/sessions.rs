//! `reasoning_sessions`: lists sessions, renames one, deletes one, reports what they cost.

use deliberate_core::{Change, Mode, SessionId, Timestamp};
use deliberate_store::{Pagination, SessionEntry, UsageQuery};
use deliberate_toolkit::{
    ArgumentIssue, Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::usage_summary::{UsageDimension, UsageSummary};
use crate::session::require_session;

/// The `reasoning_sessions` tool.
pub(crate) struct ReasoningSessions;

const DEFAULT_LIMIT: u32 = 20;

/// What a principal must be allowed in order to delete: a grant to list does not include it.
const DELETE_SCOPE: &str = "reasoning_sessions/delete";

/// The scope that renaming needs besides the tool's, because it overwrites the title.
const RENAME_SCOPE: &str = "reasoning_sessions/rename";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Default list
    #[serde(default)]
    #[schemars(with = "Option<SessionAction>")]
    action: SessionAction,
    session_id: Option<SessionId>,
    #[schemars(length(min = 1, max = 200))]
    title: Option<String>,
    /// true to delete, once the person agrees
    confirm: Option<bool>,
    #[schemars(range(max = 1_000_000))]
    offset: Option<u32>,
    /// Default 20
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u32>,
    /// Of usage
    by: Option<UsageDimension>,
}

// The action.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SessionAction {
    #[default]
    List,
    Rename,
    Delete,
    Usage,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Newest first
    sessions: Vec<SessionSummary>,
    /// `offset` of the next page; omitted on the last
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u32>,
    /// true after a rename, else omitted
    #[serde(skip_serializing_if = "Option::is_none")]
    renamed: Option<bool>,
    /// Whether it was deleted; only with action delete
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<bool>,
    /// The result of the deletion and the next step
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
    /// Only with action usage
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageSummary>,
}

// A session in the list.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionSummary {
    /// Pass it to a tool to continue the session
    session_id: SessionId,
    /// Its title; null if untitled
    title: Option<String>,
    /// The mode it began with
    mode: Mode,
    /// How many thoughts it has; only in a list
    #[serde(skip_serializing_if = "Option::is_none")]
    thoughts: Option<u64>,
    /// How many graph nodes it has; only in a list
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<u64>,
    /// When it began
    created_at: Timestamp,
    /// When it last changed
    updated_at: Timestamp,
}

impl From<SessionEntry> for SessionSummary {
    fn from(entry: SessionEntry) -> Self {
        Self {
            thoughts: Some(entry.thoughts),
            nodes: Some(entry.nodes),
            ..Self::from(entry.session)
        }
    }
}

impl From<deliberate_core::Session> for SessionSummary {
    fn from(session: deliberate_core::Session) -> Self {
        Self {
            session_id: session.id,
            title: session.title,
            mode: session.mode,
            thoughts: None,
            nodes: None,
            created_at: session.created_at,
            updated_at: session.updated_at,
        }
    }
}

impl Tool for ReasoningSessions {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_sessions",
            title: "Sessions",
            description: "List sessions, newest first; rename one; delete one with all its contents \
                          (asks for confirm first); or show usage: calls, tokens, cost and time.",
            hints: ToolHints {
                read_only: false,
                destructive: true,
                idempotent: true,
                open_world: false,
            },
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    fn is_read_call(&self, arguments: &Value) -> bool {
        let action = arguments.get("action").map(SessionAction::deserialize);
        matches!(
            action,
            None | Some(Ok(SessionAction::List | SessionAction::Usage))
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        match input.action {
            SessionAction::List => list(&input, call).await,
            SessionAction::Rename => rename(input, call).await,
            SessionAction::Delete => delete(&input, call).await,
            SessionAction::Usage => usage(&input, call).await,
        }
    }
}

async fn list(input: &Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
    let limit = input.limit.unwrap_or(DEFAULT_LIMIT);
    let offset = input.offset.unwrap_or(0);
    // One row more than a page holds shows whether another page follows.
    let page = Pagination {
        offset,
        limit: limit + 1,
    };
    let mut entries = call.store().sessions(page).await?;
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = entries.len() > most;
    entries.truncate(most);
    Ok(ToolOutput {
        output: Output {
            sessions: entries.into_iter().map(SessionSummary::from).collect(),
            next_offset: more.then(|| offset.saturating_add(limit)),
            ..Output::default()
        },
        changes: Vec::new(),
        session: None,
    })
}

async fn rename(input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
    call.check_action_allowed(RENAME_SCOPE)?;
    let session = require_named_session(&input, call).await?;
    let Some(title) = input.title else {
        return Err(ToolError::Invalid(vec![ArgumentIssue::new(
            "title",
            "is required to rename",
        )]));
    };
    let title = call.check_content("title", &title)?.trim().to_owned();
    let change = Change::RenameSession {
        session_id: session.id.clone(),
        title: title.clone(),
        at: call.now(),
    };
    let id = session.id.clone();
    let renamed = SessionSummary {
        title: Some(title),
        ..SessionSummary::from(session)
    };
    Ok(ToolOutput {
        output: Output {
            sessions: vec![renamed],
            renamed: Some(true),
            ..Output::default()
        },
        changes: vec![change],
        session: Some(id),
    })
}

async fn delete(input: &Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
    call.check_action_allowed(DELETE_SCOPE)?;
    let session = require_named_session(input, call).await?;
    let id = session.id.clone();
    let confirmed = input.confirm == Some(true);
    if confirmed {
        // The deletion removes the texts of the records that are written before it.
        call.flush_log().await;
    }
    let note = if confirmed {
        "The session was deleted permanently."
    } else {
        "Nothing was deleted. Ask the person; if they agree, call again with confirm: true."
    };
    Ok(ToolOutput {
        output: Output {
            sessions: vec![SessionSummary::from(session)],
            deleted: Some(confirmed),
            note: Some(note),
            ..Output::default()
        },
        changes: Vec::from_iter(confirmed.then(|| Change::DeleteSession(id.clone()))),
        session: Some(id),
    })
}

async fn usage(input: &Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
    let session = match &input.session_id {
        Some(id) => Some(require_session(id, call).await?.id),
        None => None,
    };
    let query = UsageQuery {
        session: session.clone(),
        limit: input.limit.unwrap_or(DEFAULT_LIMIT),
        ..UsageQuery::new(input.by.unwrap_or(UsageDimension::Model).into())
    };
    call.flush_log().await;
    let report = call.store().usage(&query).await?;
    Ok(ToolOutput {
        output: Output {
            usage: Some(UsageSummary::from(report)),
            ..Output::default()
        },
        changes: Vec::new(),
        session,
    })
}

/// Loads the session that the caller named.
async fn require_named_session(
    input: &Input,
    call: &ToolContext,
) -> Result<deliberate_core::Session, ToolError> {
    if let Some(id) = &input.session_id {
        return require_session(id, call).await;
    }
    let issue = ArgumentIssue::new("session_id", "is required to rename or delete");
    Err(ToolError::Invalid(vec![issue]))
}
