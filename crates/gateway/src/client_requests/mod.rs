//! Relays the requests that an upstream server makes during a tool call to the client, and the
//! answers back.
//!
//! A client of the handshake revisions is asked during its call. A client of 2026-07-28 is asked
//! through the result of its call: the call is suspended (`suspended_calls`) until the client sends
//! it again with the requested input. A client that cannot be asked counts as declining.

mod suspended_calls;

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use deliberate_mcp_client::{
    client::ClientHandler,
    jsonrpc::{RpcError, code},
};
use deliberate_toolkit::{CallerPresence, ClientFeatures, ClientRequestError, ClientRequests};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

pub(crate) use suspended_calls::{CallIdentity, SuspendedUpstreamCall, SuspendedUpstreamCalls};

pub(crate) const ELICIT: &str = "elicitation/create";
pub(crate) const SAMPLE: &str = "sampling/createMessage";
pub(crate) const ROOTS: &str = "roots/list";

/// A request of an upstream server that waits for its answer.
pub(crate) struct ServerRequest {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
    pub(crate) reply: oneshot::Sender<Result<Value, RpcError>>,
}

/// The requests that an upstream server may make to a client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ClientPermissions {
    pub(crate) elicit: bool,
    pub(crate) elicit_url: bool,
    pub(crate) sample: bool,
    pub(crate) roots: bool,
}

impl ClientPermissions {
    /// Combines the client's features with what the server is allowed to ask.
    pub(crate) fn for_client(client: &ClientFeatures, sampling: bool) -> Self {
        // A client can be asked during the call or through its result, or not at all.
        let reachable = client.modern || client.requests.is_some();
        Self {
            elicit: reachable && client.elicitation,
            elicit_url: reachable && client.elicitation_url,
            sample: reachable && client.sampling && sampling,
            roots: reachable && client.roots,
        }
    }

    /// Returns true if any request in a result is allowed. A result without requests only wants the
    /// call to be sent again.
    pub(crate) fn allows_any(self, result: &Value) -> bool {
        let requests = result.get("inputRequests").and_then(Value::as_object);
        let mut requests = requests.into_iter().flat_map(|all| all.values()).peekable();
        requests.peek().is_none()
            || requests.any(|request| {
                let method = request.get("method").and_then(Value::as_str);
                let params = request.get("params").unwrap_or(&Value::Null);
                self.allows(method.unwrap_or_default(), params)
            })
    }

    pub(crate) fn allows(self, method: &str, params: &Value) -> bool {
        match method {
            ELICIT if params.get("mode").is_some_and(|mode| mode == "url") => self.elicit_url,
            ELICIT => self.elicit,
            SAMPLE => self.sample,
            ROOTS => self.roots,
            _ => false,
        }
    }
}

/// Returns the answer to a request that is not allowed.
pub(crate) fn decline_response(method: &str) -> Result<Value, RpcError> {
    match method {
        ELICIT => Ok(json!({ "action": "cancel" })),
        ROOTS => Ok(json!({ "roots": [] })),
        other => Err(RpcError::new(
            code::METHOD_NOT_FOUND,
            format!("this client does not support {other}"),
        )),
    }
}

/// Puts the server's name before a question to the user, because the client shows it as ours.
pub(crate) fn prefix_with_server(server: &str, params: &mut Value) {
    if let Some(Value::String(message)) = params.get_mut("message") {
        *message = format!("{server} asks: {message}");
    }
}

/// The way to ask the client of a call.
enum RequestRoute {
    DuringCall(Arc<dyn ClientRequests>),
    /// Through the result of its call.
    InResponse(mpsc::Sender<ServerRequest>),
    Unavailable,
}

/// Answers an upstream server's requests during one call by asking the client of that call.
pub(crate) struct RequestRelay {
    client: ClientFeatures,
    /// The servers that may ask the client's model; a fallback may answer for the called server.
    sampling_servers: Arc<BTreeSet<String>>,
    presence: CallerPresence,
    route: RequestRoute,
    /// The user behind the call.
    owner: String,
    logged: AtomicUsize,
}

/// The most log messages that are passed on during one call.
const MAX_LOG_MESSAGES: usize = 1_000;
/// The owner of calls by the client that started this program, or by any user of this machine.
const OPERATOR: &str = "operator";

impl RequestRelay {
    /// Creates a relay for a client, and the receiver of the requests that the call's result must
    /// carry.
    pub(crate) fn new(
        client: &ClientFeatures,
        samplers: Arc<BTreeSet<String>>,
        waits: CallerPresence,
        owner: Option<&str>,
    ) -> (Self, mpsc::Receiver<ServerRequest>) {
        // Requests are received at once; a server with more than this many at a time waits.
        let (sender, questions) = mpsc::channel(8);
        let request_route = match (&client.requests, client.modern) {
            (_, true) => RequestRoute::InResponse(sender),
            (Some(requests), false) => RequestRoute::DuringCall(requests.clone()),
            (None, false) => RequestRoute::Unavailable,
        };
        let relay = Self {
            client: client.clone(),
            sampling_servers: samplers,
            presence: waits,
            route: request_route,
            owner: owner.unwrap_or(OPERATOR).to_owned(),
            logged: AtomicUsize::new(0),
        };
        (relay, questions)
    }

    async fn forward(
        &self,
        server: &str,
        method: &'static str,
        mut params: Value,
    ) -> Result<Value, RpcError> {
        let may =
            ClientPermissions::for_client(&self.client, self.sampling_servers.contains(server));
        if !may.allows(method, &params) || !self.presence.is_connected().await {
            return decline_response(method);
        }
        if method == ELICIT {
            prefix_with_server(server, &mut params);
        }
        match &self.route {
            RequestRoute::Unavailable => decline_response(method),
            RequestRoute::DuringCall(client) => {
                client.request(method, params).await.map_err(to_rpc_error)
            }
            RequestRoute::InResponse(questions) => {
                let (reply, answer) = oneshot::channel();
                let question = ServerRequest {
                    method,
                    params,
                    reply,
                };
                if questions.send(question).await.is_err() {
                    return decline_response(method);
                }
                answer.await.unwrap_or_else(|_| decline_response(method))
            }
        }
    }
}

fn to_rpc_error(refused: ClientRequestError) -> RpcError {
    RpcError {
        code: refused.code.into(),
        message: refused.message,
        data: refused.data,
    }
}

impl ClientHandler for RequestRelay {
    fn audience(&self) -> Option<&str> {
        Some(&self.owner)
    }

    fn log(&self, server: &str, params: &Value) {
        let Some(log) = &self.client.log else { return };
        if self.logged.fetch_add(1, Ordering::Relaxed) < MAX_LOG_MESSAGES {
            let mut message = params.clone();
            // A client shows the logger, so it says whose message this is.
            if let Some(fields) = message.as_object_mut() {
                let logger = fields.get("logger").and_then(Value::as_str);
                let name = logger.map_or(server.to_owned(), |name| format!("{server}/{name}"));
                fields.insert("logger".to_owned(), name.into());
            }
            (log.send)(message);
        }
    }

    fn sample<'a>(
        &'a self,
        server: &'a str,
        params: Value,
    ) -> BoxFuture<'a, Result<Value, RpcError>> {
        Box::pin(self.forward(server, SAMPLE, params))
    }

    fn elicit<'a>(
        &'a self,
        server: &'a str,
        params: Value,
    ) -> BoxFuture<'a, Result<Value, RpcError>> {
        Box::pin(self.forward(server, ELICIT, params))
    }

    fn list_roots<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let told = self
                .forward(server, ROOTS, json!({}))
                .await
                .unwrap_or_default();
            match told.get("roots") {
                Some(Value::Array(roots)) => roots.clone(),
                _ => Vec::new(),
            }
        })
    }
}
