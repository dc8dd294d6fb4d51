//! Whether a call still has its caller, for tools that would ask them something.

use std::sync::Arc;

use tokio::sync::Mutex as AsyncMutex;

use crate::held::Stage;

/// Whether someone waits for the answer of a call.
#[derive(Clone)]
pub struct Waits(pub(crate) Arc<AsyncMutex<Stage>>);

impl Waits {
    /// Whether someone does. If not, the call was handed over: nobody can be asked anything, and
    /// what it answers is kept for who comes for it.
    pub async fn someone(&self) -> bool {
        self.0.lock().await.kept().is_none()
    }

    /// The same, and if so they wait until the call is answered: it is not handed over any more.
    /// For an answer that only they can use.
    pub async fn someone_to_the_end(&self) -> bool {
        let mut stage = self.0.lock().await;
        if stage.kept().is_some() {
            return false;
        }
        *stage = Stage::Ending { here: None };
        true
    }
}
