//! Requests of upstream servers to the client during its call, forwarded unchanged; only for the
//! handshake revisions.

use std::sync::Arc;

use deliberate_toolkit::{ClientFeatures, ClientRequestError, ClientRequests};
use futures::future::BoxFuture;
use rmcp::{
    ErrorData, Peer, RoleServer,
    model::{CancelledNotificationParam, CustomRequest, ErrorCode, RequestId, ServerRequest},
    service::{PeerRequestOptions, RequestContext, ServiceError},
};
use serde_json::Value;

use super::{client_info::ClientInfo, logging::ClientLogLevel};

/// The requests that this client supports; `deaf` means that it cannot receive any during the call.
pub(super) fn client_features(
    client: &ClientInfo,
    context: &RequestContext<RoleServer>,
    log_level: &ClientLogLevel,
    deaf: bool,
) -> ClientFeatures {
    let asks = client.request_support;
    let offers = asks.elicitation || asks.elicitation_url || asks.roots || client.supports_sampling;
    let requests = (offers && !client.modern && !deaf).then(|| {
        let way: Arc<dyn ClientRequests> = Arc::new(PeerRequests(context.peer.clone()));
        way
    });
    ClientFeatures {
        modern: client.modern,
        elicitation: asks.elicitation,
        elicitation_url: asks.elicitation_url,
        sampling: client.supports_sampling,
        roots: asks.roots,
        requests,
        log: log_level.forwarder(context, client.modern),
    }
}

struct PeerRequests(Peer<RoleServer>);

impl ClientRequests for PeerRequests {
    fn request(
        &self,
        method: &str,
        params: Value,
    ) -> BoxFuture<'_, Result<Value, ClientRequestError>> {
        let request = CustomRequest::new(method, Some(params));
        let request = ServerRequest::CustomRequest(request);
        Box::pin(async move {
            let options = PeerRequestOptions::no_options();
            let sent = self.0.send_cancellable_request(request, options).await;
            let handle = sent.map_err(to_request_error)?;
            let mut asked = PeerRequestGuard {
                peer: self.0.clone(),
                id: Some(handle.id.clone()),
            };
            let answer = handle.await_response().await;
            asked.id = None;
            let answer = answer.map_err(to_request_error)?;
            serde_json::to_value(answer)
                .map_err(|_| unreachable_error("its answer cannot be parsed"))
        })
    }
}

/// A pending request. Dropping it notifies the client of the cancellation.
struct PeerRequestGuard {
    peer: Peer<RoleServer>,
    id: Option<RequestId>,
}

impl Drop for PeerRequestGuard {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let peer = self.peer.clone();
        let reason = "its call has ended".to_owned();
        runtime.spawn(async move {
            let params = CancelledNotificationParam::new(Some(id), Some(reason));
            // The transport notices a client that is gone.
            drop(peer.notify_cancelled(params).await);
        });
    }
}

fn to_request_error(error: ServiceError) -> ClientRequestError {
    match error {
        ServiceError::McpError(ErrorData {
            code,
            message,
            data,
            ..
        }) => ClientRequestError {
            code: code.0,
            message: message.into_owned(),
            data,
        },
        error => {
            tracing::debug!(%error, "a request to the client failed");
            unreachable_error("the request to it failed")
        }
    }
}

fn unreachable_error(message: &str) -> ClientRequestError {
    ClientRequestError {
        code: ErrorCode::INTERNAL_ERROR.0,
        message: message.to_owned(),
        data: None,
    }
}
