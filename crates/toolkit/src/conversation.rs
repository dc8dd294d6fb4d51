//! The reasoning sessions whose steps stand in the conversation of a connection.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use deliberate_core::{SessionId, Timestamp};

/// The most sessions that are remembered for a connection; the oldest are forgotten first, so that
/// their steps are shown once more.
const MAX_SESSIONS: usize = 256;

/// The sessions that the client's model of one connection has made or read, and until when. It lives
/// as long as the connection: an MCP session, or a process over standard input and output. A client
/// whose requests are independent has none, so that its model is always shown the earlier steps.
#[derive(Debug, Clone, Default)]
pub struct ConversationSessions(Arc<Mutex<VecDeque<(SessionId, Timestamp)>>>);

impl ConversationSessions {
    /// Tells whether the steps of a session that was last changed at `changed_at` stand in the
    /// conversation: another connection may have added some since.
    pub fn is_current(&self, id: &SessionId, changed_at: Timestamp) -> bool {
        let sessions = self.lock();
        let mut known = sessions.iter().filter(|(known, _)| known == id);
        known.any(|(_, seen_until)| changed_at <= *seen_until)
    }

    /// Remembers that the steps of the session until `seen_until` stand in the conversation.
    pub fn insert(&self, id: SessionId, seen_until: Timestamp) {
        let mut sessions = self.lock();
        if let Some((_, known)) = sessions.iter_mut().find(|(known, _)| *known == id) {
            *known = seen_until.max(*known);
            return;
        }
        if sessions.len() == MAX_SESSIONS {
            sessions.pop_front();
        }
        sessions.push_back((id, seen_until));
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(SessionId, Timestamp)>> {
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
        let at = Timestamp::from_micros(5);
        for number in 0..=MAX_SESSIONS {
            conversation.insert(id(number), at);
            conversation.insert(id(number), at);
        }
        let contains = |number| conversation.is_current(&id(number), at);
        assert!(!contains(0));
        assert!(contains(1) && contains(MAX_SESSIONS));
    }

    #[test]
    fn a_session_that_another_connection_changed_is_not_current() {
        let conversation = ConversationSessions::default();
        let id = SessionId::from("s".to_owned());
        let at = Timestamp::from_micros;
        conversation.insert(id.clone(), at(5));
        conversation.insert(id.clone(), at(3));
        assert!(conversation.is_current(&id, at(5)) && !conversation.is_current(&id, at(6)));
        conversation.insert(id.clone(), at(6));
        assert!(conversation.is_current(&id, at(6)));
    }
}
