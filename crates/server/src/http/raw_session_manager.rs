//! The SDK's session manager with raw results of upstream servers. The replacement happens between
//! the SDK's service and its session, so that it also applies to resumed streams.

use std::collections::HashMap;

use futures::Stream;
use rmcp::{
    RoleServer,
    model::{
        ClientJsonRpcMessage, ClientNotification, CustomResult, GetExtensions as _, JsonRpcMessage,
        RequestId, ServerJsonRpcMessage, ServerResult,
    },
    transport::{
        Transport,
        streamable_http_server::{
            SessionId, SessionManager,
            session::{
                ServerSseMessage,
                local::{LocalSessionManager, LocalSessionManagerError},
            },
        },
    },
};

use crate::raw_result::{RawResultSlot, may_have_raw_result};

type InnerTransport = <LocalSessionManager as SessionManager>::Transport;

/// Wraps the SDK's session manager.
#[derive(Default)]
pub(super) struct RawSessionManager(pub(super) LocalSessionManager);

impl SessionManager for RawSessionManager {
    type Error = LocalSessionManagerError;
    type Transport = RawSession;

    async fn create_session(&self) -> Result<(SessionId, RawSession), Self::Error> {
        let (id, inner) = self.0.create_session().await?;
        let slots = HashMap::new();
        Ok((id, RawSession { inner, slots }))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.0.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.0.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.0.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.0.create_stream(id, message).await
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.0.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.0.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.0.resume(id, last_event_id).await
    }
}

/// A session with the slots of its unanswered requests.
pub(super) struct RawSession {
    inner: InnerTransport,
    slots: HashMap<RequestId, RawResultSlot>,
}

impl RawSession {
    /// Adds a slot to a request.
    fn track_request(&mut self, message: &mut ClientJsonRpcMessage) {
        match message {
            JsonRpcMessage::Request(request) if may_have_raw_result(&request.request) => {
                let slot = RawResultSlot::default();
                request.request.extensions_mut().insert(slot.clone());
                self.slots.insert(request.id.clone(), slot);
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // The SDK does not answer a cancelled request.
                    self.slots.remove(id);
                }
            }
            _ => {}
        }
    }

    /// Replaces the result of a response with the value of the request's slot.
    fn replace_result(&mut self, message: &mut ServerJsonRpcMessage) {
        match message {
            JsonRpcMessage::Response(response) => {
                let slot = self.slots.remove(&response.id);
                if let Some(result) = slot.and_then(|slot| slot.take()) {
                    // The SDK writes it, with marks of large integers, which the event stream
                    // replaces.
                    response.result = ServerResult::CustomResult(CustomResult::new(result));
                }
            }
            JsonRpcMessage::Error(error) => {
                if let Some(id) = &error.id {
                    self.slots.remove(id);
                }
            }
            _ => {}
        }
    }
}

impl Transport<RoleServer> for RawSession {
    type Error = <InnerTransport as Transport<RoleServer>>::Error;

    fn send(
        &mut self,
        mut message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.replace_result(&mut message);
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let mut message = self.inner.receive().await?;
        self.track_request(&mut message);
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
