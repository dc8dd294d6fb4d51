//! Tells a tool whether its caller still waits, for tools that would ask the caller something.

use std::sync::Arc;

use tokio::sync::Mutex as AsyncMutex;

use super::CallStage;

/// Tells whether a caller waits for the answer of a call.
#[derive(Clone)]
pub struct CallerPresence(pub(crate) Arc<AsyncMutex<CallStage>>);

impl CallerPresence {
    /// Returns whether the caller waits. If not, the call is a background call: no one can be asked
    /// anything, and the answer is stored until it is fetched.
    pub async fn is_connected(&self) -> bool {
        self.0.lock().await.stored_call().is_none()
    }

    /// Returns whether the caller waits and, if so, keeps the call in the foreground until it is
    /// answered. It is for an answer that only this caller can use.
    pub async fn pin_connection(&self) -> bool {
        let mut stage = self.0.lock().await;
        if stage.stored_call().is_some() {
            return false;
        }
        *stage = CallStage::Finishing { guard: None };
        true
    }
}
