//! The reasoning sessions whose steps stand in the conversation of a connection.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use deliberate_core::SessionId;

/// The most sessions that are remembered for a connection; the oldest are forgotten first, so that
/// their steps are shown once more.
const MAX_SESSIONS: usize = 256;

/// The sessions that the client's model of one connection has made or read. It lives as long as the
/// connection: an MCP session, or a process over standard input and output. A client whose requests
/// are independent has none, so that its model is always shown the earlier steps.
#[derive(Debug, Clone, Default)]
pub struct ConversationSessions(Arc<Mutex<VecDeque<SessionId>>>);

impl ConversationSessions {
    /// Tells whether the steps of the session stand in the conversation.
    pub fn contains(&self, id: &SessionId) -> bool {
        self.lock().contains(id)
    }

    /// Remembers that the steps of the session stand in the conversation.
    pub fn insert(&self, id: SessionId) {
        let mut sessions = self.lock();
        if sessions.contains(&id) {
            return;
        }
        if sessions.len() == MAX_SESSIONS {
            sessions.pop_front();
        }
        sessions.push_back(id);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<SessionId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_sessions_are_forgotten_first() {
        let conversation = ConversationSessions::default();
        let id = |number: usize| SessionId::from(format!("s{number}"));
        for number in 0..=MAX_SESSIONS {
            conversation.insert(id(number));
            conversation.insert(id(number));
        }
        assert!(!conversation.contains(&id(0)));
        assert!(conversation.contains(&id(1)) && conversation.contains(&id(MAX_SESSIONS)));
    }
}
