//! What the model that replies still sees of earlier calls.

use std::sync::PoisonError;

use deliberate_core::{Change, SessionId};

use crate::{CallOutcome, ToolContext};

impl ToolContext {
    /// Tells whether the model that will reply sees the earlier requests of this call: the client's
    /// own model, between calls.
    pub async fn model_remembers(&self) -> bool {
        !self.shared.env.caller.prompts_leave_conversation && !self.has_model().await
    }

    /// Tells whether the model that will reply still sees the steps of this session: the client's own
    /// model, in a connection in which the session was begun, read, or shown to it once. If not, the
    /// prompt has to show them. The answer is the same when the call is run again.
    pub async fn model_knows_session(&self, id: &SessionId) -> bool {
        let Some(conversation) = &self.shared.env.caller.conversation else {
            return false;
        };
        if !self.model_remembers().await {
            return false;
        }
        let knows = self.memoize(&format!("knows/{id}"), conversation.contains(id));
        if !knows {
            let sessions = self.shared.sessions_in_prompts.lock();
            let mut sessions = sessions.unwrap_or_else(PoisonError::into_inner);
            sessions.push(id.clone());
        }
        knows
    }

    /// Remembers that the answer of this call shows the caller the steps of a session.
    pub fn show_session(&self, id: SessionId) {
        if let Some(conversation) = &self.shared.env.caller.conversation {
            conversation.insert(id);
        }
    }

    /// Remembers the sessions that a call has begun, or whose steps its prompts show.
    pub(crate) fn remember_sessions(&self, outcome: &CallOutcome, begun: Vec<SessionId>) {
        let shown = match outcome {
            CallOutcome::Done(_) => begun,
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
pub(crate) fn begun_sessions(changes: &[Change]) -> Vec<SessionId> {
    let begun = changes.iter().filter_map(|change| match change {
        Change::AddSession(session) => Some(session.id.clone()),
        _ => None,
    });
    begun.collect()
}
