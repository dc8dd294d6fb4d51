//! Asking a client during its call, for what other servers ask of theirs: requests of the handshake
//! revisions, handed on as they are.

use std::sync::Arc;

use deliberate_toolkit::{ClientFeatures, ClientRequestError, ClientRequests};
use futures::future::BoxFuture;
use rmcp::{
    ErrorData, Peer, RoleServer,
    model::{CancelledNotificationParam, CustomRequest, ErrorCode, RequestId, ServerRequest},
    service::{PeerRequestOptions, RequestContext, ServiceError},
};
use serde_json::Value;

use super::client_info::ClientInfo;

/// What this client can be asked for; `deaf` says that it can't be asked during the call.
pub(super) fn client_features(
    client: &ClientInfo,
    context: &RequestContext<RoleServer>,
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
            serde_json::to_value(answer).map_err(|_| unreachable_error("its answer can't be read"))
        })
    }
}

/// A request that is not answered yet. If nobody waits any more, the client is told.
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
        let reason = "the call it was for is over".to_owned();
        runtime.spawn(async move {
            let params = CancelledNotificationParam::new(Some(id), Some(reason));
            // A client that has gone is noticed by the transport.
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
            tracing::debug!(%error, "a client could not be asked");
            unreachable_error("it could not be asked")
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
