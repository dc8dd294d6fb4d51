//! The server itself: handles a message and sends the answers. It knows nothing of transports.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};

use super::{
    protocol_version,
    rpc_result::{RpcFailure, RpcResult, code, response_message},
    session::{ClientExchange, MessageSender, lock},
};
use crate::{ServedEras, faults::ServerFaults};

/// The state of the mock MCP server.
#[derive(Debug, Default)]
pub(crate) struct MockMcpServer {
    pub(crate) eras: ServedEras,
    pub(crate) faults: ServerFaults,
    /// Whether no fault is enabled, so that `echo` may use the fast path.
    pub(crate) fast: bool,
    pub(crate) pages: bool,
    pub(crate) state: Option<PathBuf>,
    /// The number of calls so far.
    pub(crate) calls: AtomicU64,
    pub(crate) counted: Mutex<u64>,
    /// Whether the tool descriptions have changed.
    pub(crate) changed: AtomicBool,
    pub(crate) listeners: Mutex<Vec<ChangeSubscriber>>,
}

/// A client that subscribed to changes.
#[derive(Debug)]
pub(crate) struct ChangeSubscriber {
    pub(crate) out: MessageSender,
    /// The id of the subscription request in the stateless revision.
    pub(crate) subscription: Option<Value>,
}

impl MockMcpServer {
    /// Handles a message. Answers go out through the exchange; the work of a request is a task of
    /// its own, which the client can cancel.
    pub(crate) fn handle_message(
        self: &Arc<Self>,
        exchange: ClientExchange,
        message: Value,
    ) -> Option<tokio::task::JoinHandle<()>> {
        if message["method"].is_null() {
            exchange.session.resolve_response(message);
            return None;
        }
        if message["id"].is_null() {
            self.handle_notification(&exchange, &message);
            return None;
        }
        exchange.session.requests.fetch_add(1, Ordering::Relaxed);
        let (upstream, session) = (Arc::clone(self), Arc::clone(&exchange.session));
        let id = message["id"].clone();
        let work = tokio::spawn(async move { upstream.respond(&exchange, &message).await });
        session.track_request(&id, work.abort_handle());
        Some(work)
    }

    fn handle_notification(&self, exchange: &ClientExchange, message: &Value) {
        match message["method"].as_str() {
            Some("notifications/cancelled") => {
                exchange.session.cancel(&message["params"]["requestId"]);
            }
            Some("notifications/initialized") => lock(&self.listeners).push(ChangeSubscriber {
                out: exchange.out.clone(),
                subscription: None,
            }),
            _ => {}
        }
    }

    async fn respond(&self, exchange: &ClientExchange, message: &Value) {
        let method = message["method"].as_str().unwrap_or_default();
        let name = message["params"]["name"].as_str().unwrap_or_default();
        let hangs = |on: &String| on == method || on == name;
        if self.faults.hang_on.iter().any(hangs)
            || (method == "server/discover" && self.faults.no_discover)
        {
            return std::future::pending().await;
        }
        let id = &message["id"];
        let answer = self
            .dispatch(exchange, id, method, &message["params"])
            .await;
        if self.faults.garbage {
            let _ = exchange.out.send("Server is running, have fun!".to_owned());
            let _ = exchange.out.send(r#"{"jsonrpc":"2.0","id":"#.to_owned());
        }
        let mut message = response_message(id, &answer);
        if self.faults.wrong_ids {
            let mut wrong = message.clone();
            wrong["id"] = json!(id.as_u64().unwrap_or_default() + 1_000_000);
            exchange.send(&wrong);
        }
        if self.faults.never_id && method == "tools/call" {
            message.as_object_mut().map(|fields| fields.remove("id"));
        }
        exchange.send(&message);
    }

    async fn dispatch(
        &self,
        exchange: &ClientExchange,
        id: &Value,
        method: &str,
        params: &Value,
    ) -> RpcResult {
        let stateless = self.is_stateless_request(method, params)?;
        if !protocol_version::is_known_method(method, stateless) {
            return Err(RpcFailure::unknown_method(method));
        }
        let mut result = match method {
            "initialize" => self.initialize(params),
            "server/discover" if self.faults.exit_on_discover => crash(),
            "server/discover" => self.discover(),
            "ping" | "logging/setLevel" | "resources/unsubscribe" => Ok(json!({})),
            "tools/list" => self.list_tools(params).await,
            "tools/call" => self.call_tool(exchange, stateless, params).await,
            "resources/subscribe" => Ok(Self::subscribe(exchange, params)),
            "subscriptions/listen" => self.listen(exchange, id, params).await,
            _ => self.handle_listing_request(method, params, stateless),
        }?;
        if stateless && let Some(fields) = result.as_object_mut() {
            fields
                .entry("resultType")
                .or_insert_with(|| json!("complete"));
            if method.ends_with("/list") || method == "resources/read" {
                fields.insert("ttlMs".to_owned(), json!(60_000));
                fields.insert("cacheScope".to_owned(), json!("private"));
            }
        }
        Ok(result)
    }

    /// Announces a change of the tools to all subscribers.
    pub(crate) fn announce_change(&self) {
        if self.changed.swap(true, Ordering::AcqRel) {
            return;
        }
        for listener in lock(&self.listeners).iter() {
            let mut message =
                json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
            if let Some(id) = &listener.subscription {
                message["params"] =
                    json!({ "_meta": { "io.modelcontextprotocol/subscriptionId": id } });
            }
            let _ = listener.out.send(message.to_string());
        }
    }

    async fn listen(&self, exchange: &ClientExchange, id: &Value, params: &Value) -> RpcResult {
        if !params["notifications"].is_object() {
            return Err(RpcFailure::new(
                code::INVALID_PARAMS,
                "notifications must name what to listen to",
            ));
        }
        exchange.notify(
            "notifications/subscriptions/acknowledged",
            &json!({
                "_meta": { "io.modelcontextprotocol/subscriptionId": id },
                "notifications": params["notifications"],
            }),
        );
        lock(&self.listeners).push(ChangeSubscriber {
            out: exchange.out.clone(),
            subscription: Some(id.clone()),
        });
        std::future::pending().await
    }
}

/// Ends the process like a crash.
#[expect(clippy::exit, reason = "a crash is the purpose of this function")]
pub(crate) fn crash() -> ! {
    std::process::exit(3)
}
