//! What is reflected on: a thought, a text, or the latest thought of a session.

use deliberate_core::{
    BranchId, BranchState, Session, SessionId, Thought, ThoughtId, cut_to_tokens,
};
use deliberate_toolkit::{Call, Issue, Kind, ToolError};
use serde_json::Value;

use crate::{
    context::{Past, best_node, latest_thought, line, open_standing, standing},
    session::{WorksOn, known, known_if_named},
};

/// What is reflected on, and what it stands on.
pub(super) struct Subject {
    pub(super) text: String,
    /// The text as the caller gave it; none if it was a thought.
    pub(super) given: Option<String>,
    pub(super) thought: Option<Thought>,
    /// Its session; none if one is to be begun.
    pub(super) session: Option<Session>,
    /// What comes before it.
    pub(super) past: Past,
    /// What the reflection comes after, and on which branch.
    pub(super) parent: Option<ThoughtId>,
    pub(super) branch: Option<BranchId>,
    /// The id of the thought or node it is.
    pub(super) about: Option<String>,
    /// Whether only its beginning is looked at.
    pub(super) cut: bool,
}

impl Subject {
    /// Finds it by what the caller gave.
    pub(super) async fn of(
        content: Option<String>,
        thought: Option<&ThoughtId>,
        session: Option<&SessionId>,
        call: &Call,
    ) -> Result<Self, ToolError> {
        match (content, thought, session) {
            (Some(_), Some(_), _) => Err(wrong(
                "content",
                "can't be given together with thought_id; give one of them",
            )),
            (None, None, None) => Err(wrong("content", "or thought_id or session_id is required")),
            (None, Some(id), session) => Self::thought(id, session, call).await,
            (None, None, Some(id)) => {
                let session = known(id, WorksOn::Any, call).await?;
                Self::latest(session, call).await
            }
            (Some(content), None, id) => {
                // Before the session is looked for: nothing is read for nothing.
                call.checked_content("content", &content)?;
                let session = known_if_named(id, WorksOn::Any, call).await?;
                Self::given(content, session, call).await
            }
        }
    }

    /// A text, in a session of any mode or in a new one.
    pub(super) async fn given(
        content: String,
        session: Option<Session>,
        call: &Call,
    ) -> Result<Self, ToolError> {
        call.checked_content("content", &content)?;
        let past = open_standing(session.as_ref(), call).await?;
        Ok(Self {
            text: content.clone(),
            given: Some(content),
            thought: None,
            session,
            parent: past.latest.clone(),
            branch: past.branch.clone(),
            about: None,
            cut: false,
            past,
        })
    }

    async fn thought(
        id: &ThoughtId,
        session: Option<&SessionId>,
        call: &Call,
    ) -> Result<Self, ToolError> {
        let thought = call.thought(id).await?;
        let home = call.session(&thought.session_id).await?;
        if let Some(named) = session
            && *named != home.id
        {
            call.session(named).await?;
            return Err(ToolError::Elsewhere {
                what: Kind::Thought,
                id: thought.id.to_string(),
                place: Kind::Session,
                place_id: named.to_string(),
            });
        }
        Self::stored(thought, home, call).await
    }

    /// The latest thought where the session stands, or of a graph without thoughts its best node.
    async fn latest(session: Session, call: &Call) -> Result<Self, ToolError> {
        let latest = match latest_thought(&session, call).await? {
            Some(tip) => spoken(&tip, call).await?,
            None => None,
        };
        if let Some(latest) = call.keep("subject", latest) {
            let thought = call.thought(&latest).await?;
            return Self::stored(thought, session, call).await;
        }
        let past = standing(Some(&session), call).await?;
        let node = best_node(&session, call).await?;
        let Some(node) = call.keep("node", node) else {
            return Err(wrong(
                "session_id",
                "names a session without thoughts; there is nothing to reflect on",
            ));
        };
        let text = cut_to_tokens(&node.content, call.context_tokens());
        Ok(Self {
            cut: text != node.content,
            text,
            given: None,
            thought: None,
            session: Some(session),
            parent: past.latest.clone(),
            branch: past.branch.clone(),
            about: Some(node.id.to_string()),
            past,
        })
    }

    /// A thought that is part of the reasoning, with the line it stands on.
    async fn stored(thought: Thought, session: Session, call: &Call) -> Result<Self, ToolError> {
        if thought.set_aside {
            return Err(ToolError::SetAside {
                what: Kind::Thought,
                id: thought.id.to_string(),
            });
        }
        let past = call.keep("past", line(thought.parent_id.as_ref(), call).await?);
        let (parent, branch) = call.keep("place", place(&thought, &session, call).await?);
        let text = cut_to_tokens(&thought.content, call.context_tokens());
        Ok(Self {
            cut: text != thought.content,
            text,
            given: None,
            parent: Some(parent),
            branch,
            about: Some(thought.id.to_string()),
            thought: Some(thought),
            session: Some(session),
            past,
        })
    }
}

/// Where a reflection on a thought goes: after the latest of its branch, so that the steps since
/// then stay on the line. A branch that has ended is not gone on with; the reflection stands beside
/// it.
async fn place(
    thought: &Thought,
    session: &Session,
    call: &Call,
) -> Result<(ThoughtId, Option<BranchId>), ToolError> {
    let tip = match &thought.branch_id {
        Some(id) => {
            let branch = call.branch(id, &session.id).await?;
            if branch.state != BranchState::Active {
                return Ok((thought.id.clone(), None));
            }
            call.store().latest_on_branch(id, 1).await?
        }
        None if session.active_branch_id.is_none() => {
            call.store().latest_thoughts(&session.id, 1).await?
        }
        None => Vec::new(),
    };
    let tip = tip.into_iter().next().map(|tip| tip.id);
    Ok((
        tip.unwrap_or_else(|| thought.id.clone()),
        thought.branch_id.clone(),
    ))
}

/// The latest thought of the line that is no reflection on another one.
async fn spoken(tip: &Thought, call: &Call) -> Result<Option<ThoughtId>, ToolError> {
    /// Reflections in a row that are looked past.
    const MOST: u32 = 20;
    let line = call.store().line(&tip.id, MOST).await?;
    let is_reflection = |thought: &Thought| {
        let kind = thought.metadata.as_ref().and_then(|it| it.get("kind"));
        kind.and_then(Value::as_str) == Some("reflection")
    };
    let spoken = line.iter().find(|thought| !is_reflection(thought));
    Ok(Some(spoken.unwrap_or(tip).id.clone()))
}

fn wrong(field: &str, rule: &str) -> ToolError {
    ToolError::Invalid(vec![Issue::new(field, rule)])
}
