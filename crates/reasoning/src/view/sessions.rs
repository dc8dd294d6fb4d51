//! `reasoning_sessions`: lists sessions, renames one, deletes one.

use deliberate_core::{Change, Mode, SessionId, Timestamp};
use deliberate_store::{Page, SessionEntry};
use deliberate_toolkit::{About, Annotations, Call, Issue, Limits, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::session::{WorksOn, known};

/// `reasoning_sessions`.
pub struct Sessions;

/// How many are listed if the caller does not say.
const LISTED: u32 = 20;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Default list
    #[serde(default)]
    #[schemars(with = "Option<Action>")]
    action: Action,
    /// To rename or delete
    session_id: Option<SessionId>,
    /// The new title
    #[schemars(length(min = 1, max = 200))]
    title: Option<String>,
    /// true to delete for good, once the person agrees
    confirm: Option<bool>,
    #[schemars(range(max = 1_000_000))]
    offset: Option<u32>,
    /// Default 20
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u32>,
}

// What to do.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    #[default]
    List,
    Rename,
    Delete,
}

/// What it answers.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Output {
    /// Newest first
    sessions: Vec<Listed>,
    /// `offset` of the next page; left out on the last
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u32>,
    /// true after a rename, else left out
    #[serde(skip_serializing_if = "Option::is_none")]
    renamed: Option<bool>,
    /// Whether it was deleted; only with action delete
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<bool>,
    /// What was or was not deleted, and what to do
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

// A session in the list.
#[derive(Debug, Serialize, JsonSchema)]
struct Listed {
    /// Pass it to a tool to continue the session
    session_id: SessionId,
    /// What it is about; null if untitled
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

impl From<SessionEntry> for Listed {
    fn from(entry: SessionEntry) -> Self {
        Self {
            thoughts: Some(entry.thoughts),
            nodes: Some(entry.nodes),
            ..Self::from(entry.session)
        }
    }
}

impl From<deliberate_core::Session> for Listed {
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

impl Tool for Sessions {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        About {
            name: "reasoning_sessions",
            title: "Sessions",
            description: "List sessions, newest first, to find one to continue; rename one; or \
                          delete one with all that belongs to it (asks for confirm first).",
            annotations: Annotations {
                read_only: false,
                destructive: true,
                idempotent: true,
                open_world: false,
            },
            thinks: false,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        match input.action {
            Action::List => list(&input, call).await,
            Action::Rename => rename(input, call).await,
            Action::Delete => delete(&input, call).await,
        }
    }
}

async fn list(input: &Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
    let limit = input.limit.unwrap_or(LISTED);
    let offset = input.offset.unwrap_or(0);
    // One more, to know whether there are more.
    let page = Page {
        offset,
        limit: limit + 1,
    };
    let mut entries = call.store().sessions(page).await?;
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = entries.len() > most;
    entries.truncate(most);
    Ok(Outcome {
        output: Output {
            sessions: entries.into_iter().map(Listed::from).collect(),
            next_offset: more.then(|| offset.saturating_add(limit)),
            ..Output::default()
        },
        changes: Vec::new(),
        session: None,
    })
}

async fn rename(input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
    let session = named(&input, call).await?;
    let Some(title) = input.title else {
        return Err(ToolError::Invalid(vec![Issue::new(
            "title",
            "is required to rename",
        )]));
    };
    let title = call.checked_content("title", &title)?.trim().to_owned();
    let change = Change::RenameSession {
        session_id: session.id.clone(),
        title: title.clone(),
        at: call.now(),
    };
    let id = session.id.clone();
    let renamed = Listed {
        title: Some(title),
        ..Listed::from(session)
    };
    Ok(Outcome {
        output: Output {
            sessions: vec![renamed],
            renamed: Some(true),
            ..Output::default()
        },
        changes: vec![change],
        session: Some(id),
    })
}

async fn delete(input: &Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
    let session = named(input, call).await?;
    let id = session.id.clone();
    let confirmed = input.confirm == Some(true);
    let note = if confirmed {
        "It is gone for good."
    } else {
        "Nothing was deleted. Ask the person; if they agree, call again with confirm: true."
    };
    Ok(Outcome {
        output: Output {
            sessions: vec![Listed::from(session)],
            deleted: Some(confirmed),
            note: Some(note),
            ..Output::default()
        },
        changes: Vec::from_iter(confirmed.then(|| Change::DeleteSession(id.clone()))),
        session: Some(id),
    })
}

/// The session the caller named.
async fn named(input: &Input, call: &Call) -> Result<deliberate_core::Session, ToolError> {
    if let Some(id) = &input.session_id {
        return known(id, WorksOn::Any, call).await;
    }
    let issue = Issue::new("session_id", "is required to rename or delete");
    Err(ToolError::Invalid(vec![issue]))
}
