//! What is reflected on: a thought, a text, or the latest thought of a session.

use deliberate_core::{
    BranchId, BranchState, Session, SessionId, Thought, ThoughtId, truncate_tokens,
};
use deliberate_toolkit::{ArgumentIssue, EntityKind, ToolContext, ToolError};
use serde_json::Value;

use crate::{
    history::{
        SessionHistory, ancestor_history, best_node, current_history, current_open_history,
        latest_thought,
    },
    session::{ModeFilter, optional_session, require_session},
};

/// What is reflected on, and what it stands on.
pub(super) struct ReflectionSubject {
    pub(super) text: String,
    /// The text as the caller gave it; none if it was a thought.
    pub(super) input_text: Option<String>,
    pub(super) thought: Option<Thought>,
    /// Its session; none if one is to be begun.
    pub(super) session: Option<Session>,
    /// What comes before it.
    pub(super) past: SessionHistory,
    /// What the reflection comes after, and on which branch.
    pub(super) parent: Option<ThoughtId>,
    pub(super) branch: Option<BranchId>,
    /// The id of the thought or node it is.
    pub(super) target_id: Option<String>,
    /// Whether only its beginning is looked at.
    pub(super) is_truncated: bool,
}

impl ReflectionSubject {
    /// Finds it by what the caller gave.
    pub(super) async fn resolve(
        content: Option<String>,
        thought: Option<&ThoughtId>,
        session: Option<&SessionId>,
        call: &ToolContext,
    ) -> Result<Self, ToolError> {
        match (content, thought, session) {
            (Some(_), Some(_), _) => Err(invalid_argument(
                "content",
                "can't be given together with thought_id; give one of them",
            )),
            (None, None, None) => Err(invalid_argument(
                "content",
                "or thought_id or session_id is required",
            )),
            (None, Some(id), session) => Self::from_thought_id(id, session, call).await,
            (None, None, Some(id)) => {
                let session = require_session(id, ModeFilter::Any, call).await?;
                Self::from_latest(session, call).await
            }
            (Some(content), None, id) => {
                // Before the session is looked for: nothing is read for nothing.
                call.check_content("content", &content)?;
                let session = optional_session(id, ModeFilter::Any, call).await?;
                Self::from_text(content, session, call).await
            }
        }
    }

    /// A text, in a session of any mode or in a new one.
    pub(super) async fn from_text(
        content: String,
        session: Option<Session>,
        call: &ToolContext,
    ) -> Result<Self, ToolError> {
        call.check_content("content", &content)?;
        let past = current_open_history(session.as_ref(), call).await?;
        Ok(Self {
            text: content.clone(),
            input_text: Some(content),
            thought: None,
            session,
            parent: past.latest.clone(),
            branch: past.branch.clone(),
            target_id: None,
            is_truncated: false,
            past,
        })
    }

    async fn from_thought_id(
        id: &ThoughtId,
        session: Option<&SessionId>,
        call: &ToolContext,
    ) -> Result<Self, ToolError> {
        let thought = call.thought(id).await?;
        let home = call.session(&thought.session_id).await?;
        if let Some(named) = session
            && *named != home.id
        {
            call.session(named).await?;
            return Err(ToolError::WrongParent {
                what: EntityKind::Thought,
                id: thought.id.to_string(),
                place: EntityKind::Session,
                place_id: named.to_string(),
            });
        }
        Self::from_thought(thought, home, call).await
    }

    /// The latest thought where the session stands, or of a graph without thoughts its best node.
    async fn from_latest(session: Session, call: &ToolContext) -> Result<Self, ToolError> {
        let latest = match latest_thought(&session, call).await? {
            Some(tip) => latest_non_reflection(&tip, call).await?,
            None => None,
        };
        if let Some(latest) = call.memoize("subject", latest) {
            let thought = call.thought(&latest).await?;
            return Self::from_thought(thought, session, call).await;
        }
        let past = current_history(Some(&session), call).await?;
        let node = best_node(&session, call).await?;
        let Some(node) = call.memoize("node", node) else {
            return Err(invalid_argument(
                "session_id",
                "names a session without thoughts; there is nothing to reflect on",
            ));
        };
        let text = truncate_tokens(&node.content, call.context_tokens());
        Ok(Self {
            is_truncated: text != node.content,
            text,
            input_text: None,
            thought: None,
            session: Some(session),
            parent: past.latest.clone(),
            branch: past.branch.clone(),
            target_id: Some(node.id.to_string()),
            past,
        })
    }

    /// A thought that is part of the reasoning, with the line it stands on.
    async fn from_thought(
        thought: Thought,
        session: Session,
        call: &ToolContext,
    ) -> Result<Self, ToolError> {
        if thought.set_aside {
            return Err(ToolError::SetAside {
                what: EntityKind::Thought,
                id: thought.id.to_string(),
            });
        }
        let past = call.memoize(
            "past",
            ancestor_history(thought.parent_id.as_ref(), call).await?,
        );
        let (parent, branch) =
            call.memoize("place", reflection_parent(&thought, &session, call).await?);
        let text = truncate_tokens(&thought.content, call.context_tokens());
        Ok(Self {
            is_truncated: text != thought.content,
            text,
            input_text: None,
            parent: Some(parent),
            branch,
            target_id: Some(thought.id.to_string()),
            thought: Some(thought),
            session: Some(session),
            past,
        })
    }
}

/// Where a reflection on a thought goes: after the latest of its branch, so that the steps since
/// then stay on the line. A branch that has ended is not gone on with; the reflection stands beside
/// it.
async fn reflection_parent(
    thought: &Thought,
    session: &Session,
    call: &ToolContext,
) -> Result<(ThoughtId, Option<BranchId>), ToolError> {
    let tip = match &thought.branch_id {
        Some(id) => {
            let branch = call.branch(id, &session.id).await?;
            if branch.state != BranchState::Active {
                return Ok((thought.id.clone(), None));
            }
            call.store().latest_branch_thoughts(id, 1).await?
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
async fn latest_non_reflection(
    tip: &Thought,
    call: &ToolContext,
) -> Result<Option<ThoughtId>, ToolError> {
    /// Reflections in a row that are looked past.
    const MAX_REFLECTIONS: u32 = 20;
    let line = call.store().ancestors(&tip.id, MAX_REFLECTIONS).await?;
    let is_reflection = |thought: &Thought| {
        let kind = thought.metadata.as_ref().and_then(|it| it.get("kind"));
        kind.and_then(Value::as_str) == Some("reflection")
    };
    let spoken = line.iter().find(|thought| !is_reflection(thought));
    Ok(Some(spoken.unwrap_or(tip).id.clone()))
}

fn invalid_argument(field: &str, rule: &str) -> ToolError {
    ToolError::Invalid(vec![ArgumentIssue::new(field, rule)])
}
