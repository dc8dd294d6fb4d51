//! What the model that replies still sees of earlier calls.

use std::sync::PoisonError;

use deliberate_core::{Change, SessionId};

use crate::{CallOutcome, ClientPrompt, ToolContext};

impl ToolContext {
    /// Tells whether the model that will reply sees the earlier requests of this call: the client's
    /// own model, between calls.
    pub async fn model_remembers(&self) -> bool {
        !self.shared.env.caller.prompts_leave_conversation && !self.has_model().await
    }

    /// Tells whether the model that will reply still sees the steps of this session: the client's own
    /// model, in a connection in which the session was begun, read, or shown to it once, if no other
    /// connection changed it since. If not, the prompt has to show them. The answer is the same when
    /// the call is run again.
    pub async fn model_knows_session(&self, id: &SessionId) -> bool {
        let knows = self.model_has_seen_session(id).await;
        if !knows {
            let sessions = self.shared.sessions_in_prompts.lock();
            let mut sessions = sessions.unwrap_or_else(PoisonError::into_inner);
            sessions.push(id.clone());
        }
        knows
    }

    /// Like [`ToolContext::model_knows_session`], for a prompt that does not show the whole session if
    /// the model does not know it.
    pub async fn model_has_seen_session(&self, id: &SessionId) -> bool {
        if self.shared.env.caller.conversation.is_none() || !self.model_remembers().await {
            return false;
        }
        let is_current = self.conversation_has_all_of(id).await;
        self.memoize(&format!("knows/{id}"), is_current)
    }

    /// Shortens the instructions that the client's own model has had before in this conversation.
    pub(crate) fn shorten_known_instructions(&self, asks: &mut [ClientPrompt]) {
        let caller = &self.shared.env.caller;
        let conversation = caller.conversation.as_ref();
        if let Some(conversation) = conversation.filter(|_| !caller.prompts_leave_conversation) {
            conversation.shorten_known_instructions(asks);
        }
    }

    /// Tells whether everything in this session stands in the conversation. A session that can't be
    /// read is shown once more.
    async fn conversation_has_all_of(&self, id: &SessionId) -> bool {
        let Some(conversation) = &self.shared.env.caller.conversation else {
            return false;
        };
        match self.store().session(id).await {
            Ok(Some(session)) => conversation.is_current(id, session.updated_at),
            _ => false,
        }
    }

    /// Remembers that the answer of this call shows the caller the steps of a session.
    pub fn show_session(&self, id: SessionId) {
        if let Some(conversation) = &self.shared.env.caller.conversation {
            conversation.insert(id, self.now());
        }
    }

    /// Returns the sessions whose steps stand in the conversation once these changes are committed:
    /// those that they begin, and the session of the call if all of it stands there already.
    pub(crate) async fn sessions_known_after(
        &self,
        session: Option<&SessionId>,
        changes: &[Change],
    ) -> Vec<SessionId> {
        let mut known = begun_sessions(changes);
        if let Some(id) = session.filter(|id| !changes.is_empty() && !known.contains(id))
            && self.conversation_has_all_of(id).await
        {
            known.push(id.clone());
        }
        known
    }

    /// Remembers the sessions that the caller knows after this call, or whose steps its prompts show.
    pub(crate) fn remember_sessions(&self, outcome: &CallOutcome, known: Vec<SessionId>) {
        let shown = match outcome {
            CallOutcome::Done(_) => known,
            CallOutcome::NeedsReply(_) => {
                let sessions = self.shared.sessions_in_prompts.lock();
                sessions.unwrap_or_else(PoisonError::into_inner).clone()
            }
        };
        for id in shown {
            self.show_session(id);
        }
    }
}

/// Returns the sessions that these changes begin.
fn begun_sessions(changes: &[Change]) -> Vec<SessionId> {
    let begun = changes.iter().filter_map(|change| match change {
        Change::AddSession(session) => Some(session.id.clone()),
        _ => None,
    });
    begun.collect()
}
