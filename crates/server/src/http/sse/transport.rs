//! A session as a transport of the SDK, and the task that serves it.

use std::{io, pin::pin, sync::Arc};

use deliberate_json_schema::unmark_large_integers;
use rmcp::{
    RoleServer, ServerHandler, ServiceExt,
    model::JsonRpcMessage,
    service::{ServerInitializeError, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::sync::mpsc;

use super::session::{Inbound, SseSession};
use crate::raw_result::RawResultService;

struct SseSessionTransport {
    session: Arc<SseSession>,
    inbox: mpsc::Receiver<Inbound>,
}

impl Transport<RoleServer> for SseSessionTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let session = self.session.clone();
        async move {
            let id = match &message {
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
            };
            let text = serde_json::to_string(&message).map_err(io::Error::other)?;
            let text = unmark_large_integers(text);
            if session.send(&text, id).await {
                Ok(())
            } else {
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
    }

    async fn receive(&mut self) -> Option<Inbound> {
        self.inbox.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.session.close();
        Ok(())
    }
}

/// Serves a session until it ends, and calls `gone` at that moment.
pub(super) async fn serve<H: ServerHandler>(
    handler: H,
    session: Arc<SseSession>,
    inbox: mpsc::Receiver<Inbound>,
    gone: impl FnOnce(),
) {
    let transport = SseSessionTransport {
        session: session.clone(),
        inbox,
    };
    let over = session.cancellation.clone();
    let served = async {
        match RawResultService(handler)
            .serve_with_ct(transport, over)
            .await
        {
            Ok(service) => drop(service.waiting().await),
            // The client disconnected before its first message; this is not an error.
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {}
            Err(error) => tracing::debug!(%error, "a session could not be initialized"),
        }
    };
    let mut served = pin!(served);
    let ended = tokio::select! {
        () = &mut served => true,
        () = session.cancellation.cancelled() => false,
        () = session.wait_until_stalled() => {
            session.abort();
            false
        }
    };
    session.close();
    gone();
    if !ended {
        // The running requests are cancelled; the SDK waits a moment for them.
        served.await;
    }
}
