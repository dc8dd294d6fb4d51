//! A thinker that is asked as the settings say, whatever the tools would have.

use std::sync::Arc;

use deliberate_thinker::{Ask, Listening, Reply, ThinkError, Thinker};
use futures::future::BoxFuture;

/// A thinker whose asks are tuned by the settings.
pub(super) struct Tuned {
    pub(super) thinker: Arc<dyn Thinker>,
    pub(super) temperature: Option<f32>,
    pub(super) max_tokens: Option<u32>,
}

impl Tuned {
    fn tuned(&self, ask: &Ask) -> Ask {
        Ask {
            temperature: self.temperature.unwrap_or(ask.temperature),
            max_tokens: self.max_tokens.unwrap_or(ask.max_tokens),
            ..ask.clone()
        }
    }
}

impl Thinker for Tuned {
    fn name(&self) -> &str {
        self.thinker.name()
    }

    fn think<'a>(
        &'a self,
        ask: &'a Ask,
        deadline: tokio::time::Instant,
    ) -> BoxFuture<'a, Result<Reply, ThinkError>> {
        Box::pin(async move { self.thinker.think(&self.tuned(ask), deadline).await })
    }

    fn think_streaming<'a>(
        &'a self,
        ask: &'a Ask,
        deadline: tokio::time::Instant,
        on: Listening<'a>,
    ) -> BoxFuture<'a, Result<Reply, ThinkError>> {
        Box::pin(async move {
            let tuned = self.tuned(ask);
            self.thinker.think_streaming(&tuned, deadline, on).await
        })
    }

    fn calls_functions(&self) -> bool {
        self.thinker.calls_functions()
    }

    fn check(&self, deadline: tokio::time::Instant) -> BoxFuture<'_, Result<(), ThinkError>> {
        self.thinker.check(deadline)
    }
}
