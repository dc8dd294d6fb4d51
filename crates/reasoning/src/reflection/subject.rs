//! What is reflected on: a thought, a text, or the latest thought of a session.

use deliberate_core::{Session, SessionId, Thought, ThoughtId, cut_to_tokens};
use deliberate_toolkit::{Call, Issue, Kind, ToolError};

use crate::{
    context::{Past, latest_thought, line, standing},
    session::{WorksOn, known},
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
    /// What the reflection builds on.
    pub(super) parent: Option<ThoughtId>,
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
                let session = match id {
                    Some(id) => Some(known(id, WorksOn::Any, call).await?),
                    None => None,
                };
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
        let past = standing(session.as_ref(), call).await?;
        Ok(Self {
            text: content.clone(),
            given: Some(content),
            thought: None,
            session,
            parent: past.latest.clone(),
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

    async fn latest(session: Session, call: &Call) -> Result<Self, ToolError> {
        let latest = latest_thought(&session, call).await?;
        let latest = call.keep("subject", latest.map(|it| it.id));
        let Some(latest) = latest else {
            return Err(wrong(
                "session_id",
                "names a session without thoughts; there is nothing to reflect on",
            ));
        };
        let thought = call.thought(&latest).await?;
        Self::stored(thought, session, call).await
    }

    /// A thought that is part of the reasoning, with the line it stands on.
    async fn stored(thought: Thought, session: Session, call: &Call) -> Result<Self, ToolError> {
        if thought.set_aside {
            return Err(ToolError::SetAside {
                what: Kind::Thought,
                id: thought.id.to_string(),
            });
        }
        let past = line(thought.parent_id.as_ref(), call).await?;
        Ok(Self {
            text: cut_to_tokens(&thought.content, call.context_tokens()),
            given: None,
            parent: Some(thought.id.clone()),
            thought: Some(thought),
            session: Some(session),
            past,
        })
    }
}

fn wrong(field: &str, rule: &str) -> ToolError {
    ToolError::Invalid(vec![Issue::new(field, rule)])
}
