//! What a server asks while one of its tools runs, carried to the client and back.
//!
//! A client of the handshake revisions is asked during its call. A client of 2026-07-28 is asked
//! by the answer to its call: the call waits here (`waiting`) until it is sent again with what was
//! asked for. Who can't be asked has declined.

mod waiting;

use std::{collections::BTreeSet, sync::Arc};

use deliberate_adapter::{
    client::Handler,
    wire::{RpcError, code},
};
use deliberate_toolkit::{ClientRefused, ClientRequests, ClientSide, Waits};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

pub(crate) use waiting::{Bound, Paused, Waiting};

pub(crate) const ELICIT: &str = "elicitation/create";
pub(crate) const SAMPLE: &str = "sampling/createMessage";
pub(crate) const ROOTS: &str = "roots/list";

/// Something a server asks, which waits for its answer.
pub(crate) struct Question {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
    pub(crate) reply: oneshot::Sender<Result<Value, RpcError>>,
}

/// What a client may be asked by a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct May {
    pub(crate) elicit: bool,
    pub(crate) elicit_url: bool,
    pub(crate) sample: bool,
    pub(crate) roots: bool,
}

impl May {
    /// What this client can do, and the server is allowed.
    pub(crate) fn of(client: &ClientSide, sampling: bool) -> Self {
        // Who can't be asked during the call, nor by its answer, can't be asked.
        let reachable = client.modern || client.requests.is_some();
        Self {
            elicit: reachable && client.elicitation,
            elicit_url: reachable && client.elicitation_url,
            sample: reachable && client.sampling && sampling,
            roots: reachable && client.roots,
        }
    }

    /// Whether any of what a result asks for may be; one that asks for nothing only wants to be
    /// sent again.
    pub(crate) fn ask_any_of(self, result: &Value) -> bool {
        let requests = result.get("inputRequests").and_then(Value::as_object);
        let mut requests = requests.into_iter().flat_map(|all| all.values()).peekable();
        requests.peek().is_none()
            || requests.any(|request| {
                let method = request.get("method").and_then(Value::as_str);
                let params = request.get("params").unwrap_or(&Value::Null);
                self.ask(method.unwrap_or_default(), params)
            })
    }

    /// Whether this may be asked.
    pub(crate) fn ask(self, method: &str, params: &Value) -> bool {
        match method {
            ELICIT if params.get("mode").is_some_and(|mode| mode == "url") => self.elicit_url,
            ELICIT => self.elicit,
            SAMPLE => self.sample,
            ROOTS => self.roots,
            _ => false,
        }
    }
}

/// What a server is answered that may not ask.
pub(crate) fn declined(method: &str) -> Result<Value, RpcError> {
    match method {
        ELICIT => Ok(json!({ "action": "cancel" })),
        ROOTS => Ok(json!({ "roots": [] })),
        other => Err(RpcError::new(
            code::METHOD_NOT_FOUND,
            format!("{other} is not offered"),
        )),
    }
}

/// Puts the server's name before what it asks a person: a client says that we ask.
pub(crate) fn say_who_asks(server: &str, params: &mut Value) {
    if let Some(Value::String(message)) = params.get_mut("message") {
        *message = format!("{server} asks: {message}");
    }
}

/// How the client of a call is asked.
enum Way {
    /// During its call.
    Now(Arc<dyn ClientRequests>),
    /// By the answer to it.
    Later(mpsc::Sender<Question>),
    /// Not at all.
    Never,
}

/// Answers what a server asks during one call by asking the client of that call.
pub(crate) struct Relay {
    client: ClientSide,
    /// The servers that may ask its model: another may stand in for the one that was called.
    samplers: Arc<BTreeSet<String>>,
    waits: Waits,
    way: Way,
}

impl Relay {
    /// For that client, and where the questions come out that its answer has to carry.
    pub(crate) fn new(
        client: &ClientSide,
        samplers: Arc<BTreeSet<String>>,
        waits: Waits,
    ) -> (Self, mpsc::Receiver<Question>) {
        // A question is taken at once; a server that asks more than this at a time waits.
        let (sender, questions) = mpsc::channel(8);
        let way = match (&client.requests, client.modern) {
            (_, true) => Way::Later(sender),
            (Some(requests), false) => Way::Now(requests.clone()),
            (None, false) => Way::Never,
        };
        let relay = Self {
            client: client.clone(),
            samplers,
            waits,
            way,
        };
        (relay, questions)
    }

    async fn ask(
        &self,
        server: &str,
        method: &'static str,
        mut params: Value,
    ) -> Result<Value, RpcError> {
        let may = May::of(&self.client, self.samplers.contains(server));
        if !may.ask(method, &params) || !self.waits.someone().await {
            return declined(method);
        }
        if method == ELICIT {
            say_who_asks(server, &mut params);
        }
        match &self.way {
            Way::Never => declined(method),
            Way::Now(client) => client.request(method, params).await.map_err(refused),
            Way::Later(questions) => {
                let (reply, answer) = oneshot::channel();
                let question = Question {
                    method,
                    params,
                    reply,
                };
                if questions.send(question).await.is_err() {
                    return declined(method);
                }
                answer.await.unwrap_or_else(|_| declined(method))
            }
        }
    }
}

fn refused(refused: ClientRefused) -> RpcError {
    RpcError {
        code: refused.code.into(),
        message: refused.message,
        data: refused.data,
    }
}

impl Handler for Relay {
    fn sample<'a>(
        &'a self,
        server: &'a str,
        params: Value,
    ) -> BoxFuture<'a, Result<Value, RpcError>> {
        Box::pin(self.ask(server, SAMPLE, params))
    }

    fn elicit<'a>(
        &'a self,
        server: &'a str,
        params: Value,
    ) -> BoxFuture<'a, Result<Value, RpcError>> {
        Box::pin(self.ask(server, ELICIT, params))
    }

    fn roots<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let told = self.ask(server, ROOTS, json!({})).await.unwrap_or_default();
            match told.get("roots") {
                Some(Value::Array(roots)) => roots.clone(),
                _ => Vec::new(),
            }
        })
    }
}
