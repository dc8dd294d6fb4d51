//! What stands in the conversation of a connection: the steps of reasoning sessions, and instructions.

use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use deliberate_core::{SessionId, Timestamp};

use crate::ClientPrompt;

/// The most sessions that are remembered for a connection; the oldest are forgotten first, so that
/// their steps are shown once more.
const MAX_SESSIONS: usize = 256;

/// The most system prompts that are remembered for a connection; others are shown every time.
const MAX_INSTRUCTIONS: usize = 64;

/// What stands after the first sentence of instructions that the model was given before.
const REST_IS_KNOWN: &str = "(The rest of these instructions is as in your earlier call.)";

/// What the client's model of one connection has seen. It lives as long as the connection: an MCP
/// session, or a process over standard input and output. A client whose requests are independent has
/// none, so that its model is always shown everything.
#[derive(Debug, Clone, Default)]
pub struct ClientConversation(Arc<Mutex<SeenByClient>>);

#[derive(Debug, Default)]
struct SeenByClient {
    /// The sessions that the model has made or read, and until when.
    sessions: VecDeque<(SessionId, Timestamp)>,
    /// The system prompts that the model was given. There is one for each kind of request.
    instructions: HashSet<String>,
}

impl ClientConversation {
    /// Tells whether the steps of a session that was last changed at `changed_at` stand in the
    /// conversation: another connection may have added some since.
    pub fn is_current(&self, id: &SessionId, changed_at: Timestamp) -> bool {
        let seen = self.lock();
        let mut known = seen.sessions.iter().filter(|(known, _)| known == id);
        known.any(|(_, seen_until)| changed_at <= *seen_until)
    }

    /// Remembers that the steps of the session until `seen_until` stand in the conversation.
    pub fn insert(&self, id: SessionId, seen_until: Timestamp) {
        let sessions = &mut self.lock().sessions;
        if let Some((_, known)) = sessions.iter_mut().find(|(known, _)| *known == id) {
            *known = seen_until.max(*known);
            return;
        }
        if sessions.len() == MAX_SESSIONS {
            sessions.pop_front();
        }
        sessions.push_back((id, seen_until));
    }

    /// Replaces the system prompts that the model was given before, and remembers the others.
    pub(crate) fn shorten_known_instructions(&self, asks: &mut [ClientPrompt]) {
        let mut seen = self.lock();
        let known = seen.instructions.clone();
        for ask in asks {
            if known.contains(&ask.system) {
                // The first sentence tells which instructions are meant.
                let (first, _) = ask.system.split_once(". ").unwrap_or((&ask.system, ""));
                ask.system = format!("{}. {REST_IS_KNOWN}", first.trim_end_matches('.'));
            } else if seen.instructions.len() < MAX_INSTRUCTIONS {
                seen.instructions.insert(ask.system.clone());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, SeenByClient> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_sessions_are_forgotten_first() {
        let conversation = ClientConversation::default();
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
        let conversation = ClientConversation::default();
        let id = SessionId::from("s".to_owned());
        let at = Timestamp::from_micros;
        conversation.insert(id.clone(), at(5));
        conversation.insert(id.clone(), at(3));
        assert!(conversation.is_current(&id, at(5)) && !conversation.is_current(&id, at(6)));
        conversation.insert(id.clone(), at(6));
        assert!(conversation.is_current(&id, at(6)));
    }
}
