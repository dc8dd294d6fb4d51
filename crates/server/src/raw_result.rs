//! Carries results past the SDK's types, which drop unknown fields.
//!
//! A request gets a [`RawResultSlot`]. The handler puts a result that must be sent unchanged into
//! the slot and gives the SDK another one in its place; the sender replaces it:
//! [`RawResultService`] for our own transports, `http::raw_result` for the SDK's. This module does
//! not know the contents of results.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, PoisonError},
};

use http::request::Parts;
use rmcp::{
    ErrorData, RoleServer, ServerHandler, Service,
    model::{
        ClientNotification, ClientRequest, CustomResult, ProtocolVersion, ServerConfig,
        ServerResult,
    },
    service::{NotificationContext, RequestContext},
};
use serde_json::Value;

/// The slot for the raw result of one request.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawResultSlot(Arc<Mutex<Option<Value>>>);

impl RawResultSlot {
    /// The slot of a request, if the transport sends raw results.
    pub(crate) fn from_context(context: &RequestContext<RoleServer>) -> Option<&Self> {
        let beside = || context.extensions.get::<Parts>()?.extensions.get::<Self>();
        context.extensions.get::<Self>().or_else(beside)
    }

    pub(crate) fn fill(&self, result: Value) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }

    pub(crate) fn take(&self) -> Option<Value> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.take()
    }

    pub(crate) fn is_filled(&self) -> bool {
        let slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.is_some()
    }
}

/// A handler whose raw results replace those of the SDK.
pub(crate) struct RawResultService<H>(pub(crate) H);

impl<H: ServerHandler> Service<RoleServer> for RawResultService<H> {
    async fn handle_request(
        &self,
        request: ClientRequest,
        mut context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        if !may_have_raw_result(&request) {
            return self.0.handle_request(request, context).await;
        }
        let slot = RawResultSlot::default();
        context.extensions.insert(slot.clone());
        let result = self.0.handle_request(request, context).await?;
        let handed_on = slot.take().map(CustomResult::new);
        Ok(handed_on.map_or(result, ServerResult::CustomResult))
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        ServerHandler::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        ServerHandler::supported_protocol_versions(&self.0)
    }
}

/// Tells whether the result of a request may come from an upstream server.
pub(crate) fn may_have_raw_result(request: &ClientRequest) -> bool {
    matches!(
        request,
        ClientRequest::CallToolRequest(_)
            | ClientRequest::ListToolsRequest(_)
            | ClientRequest::GetTaskRequest(_)
    )
}
