//! Tells a tool whether its caller still waits, for tools that would ask the caller something.

use std::sync::Arc;

use tokio::sync::Mutex as AsyncMutex;

/// Whether a caller waits for the answer of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Presence {
    /// The caller waits, until it has waited long enough.
    #[default]
    Connected,
    /// The caller waits until the call has ended.
    Pinned,
    /// The call is a background call.
    Disconnected,
}

/// Tells whether a caller waits for the answer of a call.
#[derive(Clone)]
pub struct CallerPresence(pub(crate) Arc<AsyncMutex<Presence>>);

impl CallerPresence {
    /// Returns whether the caller waits. If not, the call is a background call: no one can be asked
    /// anything, and the answer is stored until it is fetched.
    pub async fn is_connected(&self) -> bool {
        *self.0.lock().await != Presence::Disconnected
    }

    /// Returns whether the caller waits and, if so, keeps the call in the foreground until it is
    /// answered. It is for an answer that only this caller can use.
    pub async fn pin_connection(&self) -> bool {
        let mut presence = self.0.lock().await;
        if *presence == Presence::Disconnected {
            return false;
        }
        *presence = Presence::Pinned;
        true
    }
}
