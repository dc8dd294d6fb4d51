//! Resolves the subject of a reflection: a thought, a text, or the latest thought of a session.

use deliberate_core::{BranchId, BranchState, Session, SessionId, Thought, ThoughtId};
use deliberate_toolkit::{ArgumentIssue, ToolContext, ToolError};
use serde_json::Value;

use crate::{
    graph::node_answer,
    history::{
        SessionHistory, ancestor_history, best_node, current_history, current_open_history,
        latest_thought, metadata_text, with_question,
    },
    session::{optional_session, require_session},
};

/// The subject of a reflection with its context.
pub(super) struct ReflectionSubject {
    pub(super) text: String,
    /// The question that the text answers, if it is known.
    pub(super) question: Option<String>,
    /// The caller's text; `None` for a thought.
    pub(super) input_text: Option<String>,
    pub(super) thought: Option<Thought>,
    /// `None` if the reflection begins a new session.
    pub(super) session: Option<Session>,
    /// The history before the subject.
    pub(super) past: SessionHistory,
    /// The history before the question was put, which does not contain the subject's result.
    pub(super) question_past: SessionHistory,
    /// The thought that precedes the reflection, and its branch.
    pub(super) parent: Option<ThoughtId>,
    pub(super) branch: Option<BranchId>,
    /// The id of the thought or node.
    pub(super) target_id: Option<String>,
    /// The result of the thought or node, if it has one.
    pub(super) answer: Option<String>,
}

impl ReflectionSubject {
    /// Resolves the subject from the caller's arguments.
    pub(super) async fn resolve(
        content: Option<String>,
        thought: Option<&ThoughtId>,
        session: Option<&SessionId>,
        call: &ToolContext,
    ) -> Result<Self, ToolError> {
        match (content, thought, session) {
            (Some(_), Some(_), _) => Err(invalid_argument(
                "content",
                "cannot be combined with thought_id; give one of them",
            )),
            (None, None, None) => Err(invalid_argument(
                "content",
                "or thought_id or session_id is required",
            )),
            (None, Some(id), session) => Self::from_thought_id(id, session, call).await,
            (None, None, Some(id)) => {
                let session = require_session(id, call).await?;
                Self::from_latest(session, call).await
            }
            (Some(content), None, id) => {
                // Checked before the session is loaded, to avoid a needless read.
                call.check_content("content", &content)?;
                let session = optional_session(id, call).await?;
                Self::from_text(content, session, call).await
            }
        }
    }

    /// Takes a text as the subject, in a session of any mode or in a new one.
    pub(super) async fn from_text(
        content: String,
        session: Option<Session>,
        call: &ToolContext,
    ) -> Result<Self, ToolError> {
        call.check_content("content", &content)?;
        let past = current_open_history(session.as_ref(), call)
            .await?
            .for_judge();
        Ok(Self {
            text: content.clone(),
            question: None,
            input_text: Some(content),
            thought: None,
            session,
            parent: past.latest.clone(),
            branch: past.branch.clone(),
            target_id: None,
            answer: None,
            question_past: SessionHistory::default(),
            past,
        })
    }

    async fn from_thought_id(
        id: &ThoughtId,
        session: Option<&SessionId>,
        call: &ToolContext,
    ) -> Result<Self, ToolError> {
        let thought = crate::lookup::thought(call, id).await?;
        let home = crate::lookup::session(call, &thought.session_id).await?;
        if let Some(named) = session
            && *named != home.id
        {
            crate::lookup::session(call, named).await?;
            return Err(crate::lookup::wrong_parent(
                (crate::lookup::THOUGHT, thought.id.as_str()),
                (crate::lookup::SESSION, named.as_str()),
            ));
        }
        Self::from_thought(thought, home, call).await
    }

    /// Takes the latest thought at the session's current position, or the best node of a graph.
    async fn from_latest(session: Session, call: &ToolContext) -> Result<Self, ToolError> {
        let latest = match latest_thought(&session, call).await? {
            Some(tip) => latest_non_reflection(&tip, call).await?,
            None => None,
        };
        if let Some(latest) = call.memoize("subject", latest) {
            let thought = crate::lookup::thought(call, &latest).await?;
            return Self::from_thought(thought, session, call).await;
        }
        let past = current_history(Some(&session), call).await?.for_judge();
        let node = best_node(&session, call).await?;
        let Some(node) = call.memoize("node", node) else {
            return Err(invalid_argument(
                "session_id",
                "names a session without thoughts; there is nothing to reflect on",
            ));
        };
        Ok(Self {
            answer: node_answer(&node).map(str::to_owned),
            question: past.graph_problem.clone(),
            text: node.content,
            input_text: None,
            thought: None,
            session: Some(session),
            parent: past.latest.clone(),
            branch: past.branch.clone(),
            target_id: Some(node.id.to_string()),
            question_past: SessionHistory::default(),
            past,
        })
    }

    /// Takes a thought as the subject, with its ancestors.
    async fn from_thought(
        thought: Thought,
        session: Session,
        call: &ToolContext,
    ) -> Result<Self, ToolError> {
        if thought.set_aside {
            return Err(crate::lookup::set_aside(
                crate::lookup::THOUGHT,
                thought.id.as_str(),
            ));
        }
        let past = ancestor_history(thought.parent_id.as_ref(), call).await?;
        let past = call.memoize("past", past.for_model(call).await.for_judge());
        let (parent, branch) =
            call.memoize("place", reflection_parent(&thought, &session, call).await?);
        let asking = asking_thought(&thought, call).await?;
        let before = asking.as_ref().and_then(|it| it.parent_id.as_ref());
        let question_past = ancestor_history(before, call).await?;
        let question_past = call.memoize("question_past", question_past.for_model(call).await);
        Ok(Self {
            answer: metadata_text(&thought, "answer"),
            question: asking.and_then(|it| it.input),
            text: thought.content.clone(),
            input_text: None,
            parent: Some(parent),
            branch,
            target_id: Some(thought.id.to_string()),
            thought: Some(thought),
            session: Some(session),
            question_past,
            past,
        })
    }
}

/// The thought whose input is the question that `thought` answers: itself, else the thought it
/// improves, else the nearest ancestor.
async fn asking_thought(
    thought: &Thought,
    call: &ToolContext,
) -> Result<Option<Thought>, ToolError> {
    /// The largest number of ancestors that are searched.
    const MAX_ANCESTORS: u32 = 20;
    let thought = with_question(thought.clone(), call).await?;
    if thought.input.is_some() {
        return Ok(Some(thought));
    }
    let start = metadata_text(&thought, "improves").map_or(thought.id, ThoughtId::from);
    for ancestor in call.store().ancestors(&start, MAX_ANCESTORS).await? {
        let ancestor = with_question(ancestor, call).await?;
        if ancestor.input.is_some() {
            return Ok(Some(ancestor));
        }
    }
    Ok(None)
}

/// The parent of a reflection on a thought: the latest thought of its branch, so that the later
/// steps stay on the line. A closed branch is not continued; the reflection is added outside it.
async fn reflection_parent(
    thought: &Thought,
    session: &Session,
    call: &ToolContext,
) -> Result<(ThoughtId, Option<BranchId>), ToolError> {
    let tip = match &thought.branch_id {
        Some(id) => {
            let branch = crate::lookup::branch(call, id, &session.id).await?;
            if branch.state != BranchState::Active {
                return Ok((thought.id.clone(), None));
            }
            let on_branch = call.store().latest_branch_thoughts(id, 1).await?;
            on_branch.into_iter().next()
        }
        None if session.active_branch_id.is_none() => latest_thought(session, call).await?,
        None => None,
    };
    let tip = tip.map(|tip| tip.id);
    Ok((
        tip.unwrap_or_else(|| thought.id.clone()),
        thought.branch_id.clone(),
    ))
}

/// The latest thought of the line that is not a reflection.
async fn latest_non_reflection(
    tip: &Thought,
    call: &ToolContext,
) -> Result<Option<ThoughtId>, ToolError> {
    /// The largest number of consecutive reflections that are skipped.
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
