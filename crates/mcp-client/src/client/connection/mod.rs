//! A live connection: sends requests and waits for their answers. Incoming messages are handled in
//! `incoming`.

pub(crate) mod handshake;
pub(crate) mod incoming;
pub(crate) mod pending_requests;
pub(crate) mod reconnect;

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use serde_json::{Map, Value, json, value::RawValue};
use tokio::{sync::oneshot, time::Instant};

use super::{ClientHandler, ServerInfo, call_options::ProgressListener};
use crate::{
    jsonrpc::{self, RequestId},
    transport::{
        DeliveryStatus, McpEra, McpTransport, MessageKind, NegotiatedProtocol, OutgoingMessage,
        TransportError,
    },
};
use incoming::ConnectionState;
use pending_requests::{DeadlineExtension, LostResponse, PendingOutcome, PendingRequest};

/// The time to wait for the result of a send after its connection has ended.
const SEND_RESULT_GRACE: Duration = Duration::from_secs(1);

/// A live connection with its negotiated parameters.
pub(crate) struct McpConnection {
    pub(super) transport: Arc<dyn McpTransport>,
    pub(super) state: Arc<ConnectionState>,
    server_info: OnceLock<Arc<ServerInfo>>,
    pub(super) opened_at: Instant,
    /// Whether the end of the connection was handled.
    pub(super) end_handled: AtomicBool,
}

pub(super) struct McpRequest {
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
    pub(super) name: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) response_timeout: Option<Duration>,
    pub(super) total_timeout: Option<Duration>,
    pub(super) progress: Option<ProgressListener>,
    pub(super) wants_progress: bool,
    pub(super) handler: Option<Arc<dyn ClientHandler>>,
    /// Whether the server is notified when the caller no longer waits.
    pub(super) cancellable: bool,
}

/// The reason why a request has no answer.
pub(super) enum RequestFailure {
    Lost(LostResponse),
    Timeout {
        after: Duration,
        sent: DeliveryStatus,
    },
}

impl McpConnection {
    pub(super) fn new(transport: Arc<dyn McpTransport>, state: Arc<ConnectionState>) -> Self {
        // This is the only place that sets it.
        drop(state.transport.set(Arc::downgrade(&transport)));
        Self {
            transport,
            state,
            server_info: OnceLock::new(),
            opened_at: Instant::now(),
            end_handled: AtomicBool::new(false),
        }
    }

    pub(super) fn set_server_info(&self, side: ServerInfo) {
        self.transport.set_protocol(&NegotiatedProtocol {
            version: side.version.clone(),
            era: side.era,
        });
        let asks_nothing = side.era == McpEra::Stateless;
        (self.state.is_stateless).store(asks_nothing, Ordering::Relaxed);
        drop(self.server_info.set(Arc::new(side)));
    }

    /// Returns what the server reported about itself; available once the handshake is complete.
    pub(super) fn server_info(&self) -> Option<&Arc<ServerInfo>> {
        self.server_info.get()
    }

    pub(super) fn is_stateless(&self) -> bool {
        self.server_info()
            .is_some_and(|side| side.era == McpEra::Stateless)
    }

    pub(super) fn is_live(&self) -> bool {
        !self.state.ended.is_cancelled()
    }

    pub(super) async fn notify(&self, method: &str, params: &Value) -> Result<(), TransportError> {
        let body = jsonrpc::encode_notification(method, params);
        let message = outgoing_message(body, MessageKind::Notification, Some(method));
        self.transport.send(message).await
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn request(
        &self,
        mut asking: McpRequest,
    ) -> Result<Box<RawValue>, RequestFailure> {
        let id = self.state.pending.new_id();
        if asking.wants_progress {
            let meta = asking.params.entry("_meta").or_insert_with(|| json!({}));
            if let Some(meta) = meta.as_object_mut() {
                meta.insert("progressToken".to_owned(), id.into());
            }
        }
        let (answer, answered) = oneshot::channel();
        let moved = Arc::new(DeadlineExtension::default());
        self.state.pending.add(
            id,
            PendingRequest {
                response: answer,
                deadline_extension: moved.clone(),
                progress: asking.progress.take(),
                handler: asking.handler.take(),
                may_cause_requests: asking.wants_progress,
                is_subscription: asking.response_timeout.is_none(),
            },
        );
        let body = jsonrpc::encode_request(id, &asking.method, &Value::Object(asking.params));
        let mut message = outgoing_message(body, MessageKind::Request(id), Some(&asking.method));
        message.name = asking.name;
        message.param_headers = asking.headers;
        let mut given_up = CancelOnDrop {
            connection: self,
            id,
            sent: false,
            cancellable: asking.cancellable,
            reason: "the caller no longer waits",
        };
        let limits = (asking.response_timeout, asking.total_timeout);
        let outcome = self
            .exchange(message, answered, &moved, limits, &mut given_up)
            .await;
        if matches!(outcome, Err(RequestFailure::Timeout { .. })) {
            given_up.reason = "timeout";
        }
        outcome
    }

    async fn exchange(
        &self,
        message: OutgoingMessage,
        mut answered: oneshot::Receiver<PendingOutcome>,
        moved: &DeadlineExtension,
        (answer, longest): (Option<Duration>, Option<Duration>),
        given_up: &mut CancelOnDrop<'_>,
    ) -> Result<Box<RawValue>, RequestFailure> {
        let begun = Instant::now();
        let far = begun + Duration::from_hours(24 * 365);
        let last = longest.map_or(far, |longest| begun + longest);
        let mut limit = answer.map_or(last, |answer| (begun + answer).min(last));
        {
            let send = self.transport.send(message);
            tokio::pin!(send);
            // The answer may arrive before the send is known to be complete.
            tokio::select! {
                biased;
                outcome = &mut answered => {
                    let outcome = flatten_outcome(outcome);
                    if !matches!(&outcome, Err(RequestFailure::Lost(LostResponse::Transport(_)))) {
                        return outcome;
                    }
                    // The sender knows best whether the request was sent.
                    return match tokio::time::timeout(SEND_RESULT_GRACE, send).await {
                        Ok(Err(error)) => Err(self.on_send_failure(error)),
                        _ => outcome,
                    };
                }
                sent = &mut send => sent.map_err(|error| self.on_send_failure(error))?,
                () = tokio::time::sleep_until(limit) => {
                    return Err(RequestFailure::Timeout { after: limit.duration_since(begun), sent: DeliveryStatus::Maybe });
                }
            }
        }
        given_up.sent = true;
        loop {
            tokio::select! {
                biased;
                outcome = &mut answered => return flatten_outcome(outcome),
                () = moved.activity.notified() => {
                    if let Some(answer) = answer {
                        limit = (Instant::now() + answer).min(last);
                    }
                }
                () = tokio::time::sleep_until(limit) => {
                    if let (Some(answer), true) = (answer, limit < last && moved.waits_for_client()) {
                        limit = (Instant::now() + answer).min(last);
                        continue;
                    }
                    return Err(RequestFailure::Timeout { after: limit.duration_since(begun), sent: DeliveryStatus::Maybe });
                }
            }
        }
    }

    /// Ends the connection after a failed send: a server that accepts no messages is unusable even
    /// if the transport is still open.
    fn on_send_failure(&self, error: TransportError) -> RequestFailure {
        if let TransportError::Closed { reason, .. } = &error {
            self.state.end(reason, true);
            let link = self.transport.clone();
            tokio::spawn(async move { link.close().await });
        }
        RequestFailure::Lost(LostResponse::Transport(error))
    }
}

fn flatten_outcome(
    outcome: Result<PendingOutcome, oneshot::error::RecvError>,
) -> Result<Box<RawValue>, RequestFailure> {
    match outcome {
        Ok(outcome) => outcome.map_err(RequestFailure::Lost),
        Err(_) => Err(RequestFailure::Lost(LostResponse::Transport(
            TransportError::Closed {
                reason: "the connection was abandoned".to_owned(),
                sent: DeliveryStatus::Maybe,
            },
        ))),
    }
}

/// Notifies the server when a request is dropped before its answer arrived.
struct CancelOnDrop<'a> {
    connection: &'a McpConnection,
    id: RequestId,
    sent: bool,
    cancellable: bool,
    reason: &'static str,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let shared = &self.connection.state;
        if shared.pending.remove(self.id).is_none() {
            return;
        }
        let knows = self.connection.transport.abandon(self.id);
        if knows || !self.cancellable || !self.sent || !self.connection.is_live() {
            return;
        }
        let link = self.connection.transport.clone();
        let params = json!({ "requestId": self.id, "reason": self.reason });
        let body = jsonrpc::encode_notification("notifications/cancelled", &params);
        let message = outgoing_message(
            body,
            MessageKind::Notification,
            Some("notifications/cancelled"),
        );
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // The timeout is for a server that no longer reads.
            runtime.spawn(tokio::time::timeout(Duration::from_secs(5), async move {
                drop(link.send(message).await);
            }));
        }
    }
}

pub(super) fn outgoing_message(
    body: Vec<u8>,
    kind: MessageKind,
    method: Option<&str>,
) -> OutgoingMessage {
    OutgoingMessage {
        body: Bytes::from(body),
        kind,
        method: method.map(str::to_owned),
        name: None,
        param_headers: Vec::new(),
    }
}
