//! Carries results past the SDK's types, which drop every field they do not know.
//!
//! A request is given a [`RawResultSlot`]. Who answers puts a result there that is to be sent as it is, and
//! gives the SDK another in its place; whoever sends the answer puts the first in again: [`RawResultService`]
//! where the transport is ours, `http_builder::take_raw_result` where it is the SDK's. Knows nothing of what the
//! results say.

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

/// The place for the result of one request.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawResultSlot(Arc<Mutex<Option<Value>>>);

impl RawResultSlot {
    /// The slot of that request, if what it holds will be sent.
    pub(crate) fn from_context(context: &RequestContext<RoleServer>) -> Option<&Self> {
        let beside = || context.extensions.get::<Parts>()?.extensions.get::<Self>();
        context.extensions.get::<Self>().or_else(beside)
    }

    /// Puts a result in.
    pub(crate) fn fill(&self, result: Value) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }

    /// What was put in.
    pub(crate) fn take(&self) -> Option<Value> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.take()
    }

    /// Whether something was put in.
    pub(crate) fn is_filled(&self) -> bool {
        let slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.is_some()
    }
}

/// A handler whose results in slots are sent.
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

/// Whether the result of such a request may come from another server.
pub(crate) fn may_have_raw_result(request: &ClientRequest) -> bool {
    matches!(
        request,
        ClientRequest::CallToolRequest(_) | ClientRequest::ListToolsRequest(_)
    )
}
