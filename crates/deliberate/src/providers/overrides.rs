//! A model whose requests take temperature and token limit from the settings.

use std::sync::Arc;

use deliberate_llm::{ChatModel, ModelError, ModelReply, ModelRequest, OnStreamEvent};
use futures::future::BoxFuture;

struct ModelWithOverrides {
    model: Arc<dyn ChatModel>,
    temperature: Option<f64>,
    max_tokens: Option<u32>,
}

/// Wraps the model if the settings override anything.
pub(super) fn apply(
    model: Arc<dyn ChatModel>,
    temperature: Option<f64>,
    max_tokens: Option<u32>,
) -> Arc<dyn ChatModel> {
    if temperature.is_none() && max_tokens.is_none() {
        return model;
    }
    Arc::new(ModelWithOverrides {
        model,
        temperature,
        max_tokens,
    })
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

    fn accepts_images(&self) -> bool {
        self.model.accepts_images()
    }

    fn has_stored_prompts(&self) -> bool {
        self.model.has_stored_prompts()
    }

    fn rate_limited_for(&self) -> Option<std::time::Duration> {
        self.model.rate_limited_for()
    }

    fn check(&self, deadline: tokio::time::Instant) -> BoxFuture<'_, Result<(), ModelError>> {
        self.model.check(deadline)
    }

    fn privacy_notes(
        &self,
        deadline: tokio::time::Instant,
    ) -> BoxFuture<'_, Result<Vec<String>, ModelError>> {
        self.model.privacy_notes(deadline)
    }
}
