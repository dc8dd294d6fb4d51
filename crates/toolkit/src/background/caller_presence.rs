//! Whether a call still has its caller, for tools that would ask them something.

use std::sync::Arc;

use tokio::sync::Mutex as AsyncMutex;

use super::CallStage;

/// Whether someone waits for the answer of a call.
#[derive(Clone)]
pub struct CallerPresence(pub(crate) Arc<AsyncMutex<CallStage>>);

impl CallerPresence {
    /// Whether someone does. If not, the call was handed over: nobody can be asked anything, and
    /// what it answers is kept for who comes for it.
    pub async fn is_connected(&self) -> bool {
        self.0.lock().await.stored_call().is_none()
    }

    /// The same, and if so they wait until the call is answered: it is not handed over any more.
    /// For an answer that only they can use.
    pub async fn pin_connection(&self) -> bool {
        let mut stage = self.0.lock().await;
        if stage.stored_call().is_some() {
            return false;
        }
        *stage = CallStage::Finishing { guard: None };
        true
    }
}
