//! A thinker that is asked as the settings say, whatever the tools would have.

use std::sync::Arc;

use deliberate_llm::{ChatModel, ModelError, ModelReply, ModelRequest, OnStreamEvent};
use futures::future::BoxFuture;

/// A thinker whose asks are tuned by the settings.
pub(super) struct ModelWithOverrides {
    pub(super) model: Arc<dyn ChatModel>,
    pub(super) temperature: Option<f32>,
    pub(super) max_tokens: Option<u32>,
}

impl ModelWithOverrides {
    fn apply(&self, ask: &ModelRequest) -> ModelRequest {
        ModelRequest {
            temperature: self.temperature.unwrap_or(ask.temperature),
            max_tokens: self.max_tokens.unwrap_or(ask.max_tokens),
            ..ask.clone()
        }
    }
}

impl ChatModel for ModelWithOverrides {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn complete<'a>(
        &'a self,
        ask: &'a ModelRequest,
        deadline: tokio::time::Instant,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move { self.model.complete(&self.apply(ask), deadline).await })
    }

    fn complete_streaming<'a>(
        &'a self,
        ask: &'a ModelRequest,
        deadline: tokio::time::Instant,
        on: OnStreamEvent<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let tuned = self.apply(ask);
            self.model.complete_streaming(&tuned, deadline, on).await
        })
    }

    fn supports_tools(&self) -> bool {
        self.model.supports_tools()
    }

    fn check(&self, deadline: tokio::time::Instant) -> BoxFuture<'_, Result<(), ModelError>> {
        self.model.check(deadline)
    }
}
