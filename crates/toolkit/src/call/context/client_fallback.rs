//! The model of a call, replaced by the client's own replies once the client declines sampling.

use std::sync::{Arc, OnceLock};

use deliberate_llm::{
    ChatModel, ClientDriven, ModelError, ModelReply, ModelRequest, OnStreamEvent,
};
use futures::future::BoxFuture;
use tokio::time::Instant;

/// A model whose requests wait for the client's replies after the client has declined one. Only
/// sampling can be declined; with any other model nothing is replaced.
pub(super) struct ClientFallback {
    model: Arc<dyn ChatModel>,
    client: ClientDriven,
    /// The client's reason, once it has declined.
    declined: OnceLock<String>,
}

impl ClientFallback {
    pub(super) fn new(model: Arc<dyn ChatModel>) -> Self {
        Self {
            model,
            client: ClientDriven::default(),
            declined: OnceLock::new(),
        }
    }

    /// Returns the model without the requests that wait.
    pub(super) fn model(&self) -> &Arc<dyn ChatModel> {
        &self.model
    }

    /// Returns the client's reason and its waiting requests, if it has declined.
    pub(super) fn declined(&self) -> Option<(&str, &ClientDriven)> {
        let reason = self.declined.get()?;
        Some((reason, &self.client))
    }

    /// Returns the model's answer, or that of the client's replies if the client declines now.
    async fn or_client(
        &self,
        answer: Result<ModelReply, ModelError>,
        ask: &ModelRequest,
        deadline: Instant,
    ) -> Result<ModelReply, ModelError> {
        match answer {
            Err(ModelError::Declined { reason }) => {
                tracing::info!("the client declined sampling; its own reply is awaited");
                // A concurrent request may have been declined first.
                self.declined.get_or_init(|| reason);
                self.client.complete(ask, deadline).await
            }
            answer => answer,
        }
    }
}

impl ChatModel for ClientFallback {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn complete<'a>(
        &'a self,
        ask: &'a ModelRequest,
        deadline: Instant,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            if let Some((_, client)) = self.declined() {
                return client.complete(ask, deadline).await;
            }
            let answer = self.model.complete(ask, deadline).await;
            self.or_client(answer, ask, deadline).await
        })
    }

    fn complete_streaming<'a>(
        &'a self,
        ask: &'a ModelRequest,
        deadline: Instant,
        on: OnStreamEvent<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            if let Some((_, client)) = self.declined() {
                return client.complete(ask, deadline).await;
            }
            let answer = self.model.complete_streaming(ask, deadline, on).await;
            self.or_client(answer, ask, deadline).await
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

    fn check(&self, deadline: Instant) -> BoxFuture<'_, Result<(), ModelError>> {
        self.model.check(deadline)
    }
}
