//! Sends requests within the server's limits and retries once if the server certainly did not
//! receive the request.

use std::{
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use deliberate_core::FairPermit;
use deliberate_json_schema::mark_large_integers;
use serde_json::{Map, Value, json, value::RawValue};
use tokio::time::Instant;

use super::{
    CallOptions, InputMode, McpClient,
    call_options::ResumedInput,
    connection::{
        McpConnection, McpRequest, RequestFailure, handshake, pending_requests::LostResponse,
    },
    param_headers,
    result_form::repair_result,
};
use crate::{
    ClientError, ClientErrorKind,
    transport::{DeliveryStatus, McpEra},
};

/// How often a server may ask for input during one request.
const MAX_ROUNDS: usize = 10;

/// The `_meta` key with which a request of revision 2026-07-28 asks for log messages.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// The answer to a request.
pub(super) struct ServerAnswer {
    pub(super) result: Value,
    /// The size of the result as the server wrote it.
    pub(super) bytes: usize,
}

impl McpClient {
    /// Calls a tool. Returns the result as the server wrote it; a result with `isError` is not an
    /// error here.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Value,
        options: CallOptions,
    ) -> Result<Value, ClientError> {
        let about = |error: ClientError| error.with_subject(tool);
        self.check_rate_limit().map_err(about)?;
        let mut params = Map::with_capacity(3);
        params.insert("name".to_owned(), tool.into());
        params.insert("arguments".to_owned(), arguments);
        let begun = Instant::now();
        let outcome = self.send_request("tools/call", params, &options).await;
        let outcome = outcome.and_then(|answer| {
            repair_result(answer.result).map_err(|kind| ClientError::new(self.name(), kind))
        });
        self.inner
            .metrics
            .record_call(begun.elapsed(), outcome.as_ref());
        outcome.map_err(about)
    }

    /// Sends any request.
    pub async fn request(
        &self,
        method: &str,
        params: Value,
        options: CallOptions,
    ) -> Result<Value, ClientError> {
        let params = match params {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        let answer = self.send_request(method, params, &options).await?;
        Ok(answer.result)
    }

    /// Pings the server and returns the time it took to answer.
    pub async fn ping(&self) -> Result<Duration, ClientError> {
        let side = self.server_info().await?;
        let begun = Instant::now();
        let method = match side.era {
            McpEra::Handshake => "ping",
            McpEra::Stateless => "server/discover",
        };
        let options = CallOptions {
            response_timeout: Some(Duration::from_secs(10)),
            ..CallOptions::default()
        };
        // A ping takes no slot: a busy server is reachable too.
        let asked = pin!(self.request_until_complete(method, Map::new(), &options));
        let answer = self.until_stopped(&options, DeliveryStatus::No, asked);
        // A server that does not know `ping` has answered and is therefore reachable.
        match answer.await {
            Err(error) if !matches!(error.kind, ClientErrorKind::Rpc(_)) => {
                self.inner.metrics.record_ping_failure(&error);
                Err(error)
            }
            _ => {
                self.inner.metrics.record_ping(begun.elapsed());
                Ok(begun.elapsed())
            }
        }
    }

    /// Runs requests that count as one call: within the server's rate limit, and in the status.
    pub async fn count_as_call<T>(
        &self,
        requests: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, ClientError> {
        self.check_rate_limit()?;
        let begun = Instant::now();
        let outcome = requests.await;
        let counted = outcome.as_ref().map(|_| &Value::Null);
        self.inner.metrics.record_call(begun.elapsed(), counted);
        outcome
    }

    fn check_rate_limit(&self) -> Result<(), ClientError> {
        use governor::clock::Clock as _;
        let Some(pace) = &self.inner.rate_limiter else {
            return Ok(());
        };
        pace.check().map_err(|not_yet| {
            let wait = not_yet.wait_time_from(governor::clock::DefaultClock::default().now());
            ClientError::new(self.name(), ClientErrorKind::RateLimited { wait })
        })
    }

    pub(super) async fn send_request(
        &self,
        method: &str,
        params: Map<String, Value>,
        options: &CallOptions,
    ) -> Result<ServerAnswer, ClientError> {
        let slot = pin!(self.acquire_slot(options));
        let slot = self.until_stopped(options, DeliveryStatus::No, slot);
        let _slot = slot.await?;
        let work = pin!(self.request_until_complete(method, params, options));
        // The request may have been sent when it is cancelled.
        self.until_stopped(options, DeliveryStatus::Maybe, work)
            .await
    }

    /// Does some work of a request until the caller cancels it or the client is closed; `delivery`
    /// tells whether the server may have acted on the request by then.
    pub(super) async fn until_stopped<T>(
        &self,
        options: &CallOptions,
        delivery: DeliveryStatus,
        work: Pin<&mut impl Future<Output = Result<T, ClientError>>>,
    ) -> Result<T, ClientError> {
        let mut error = tokio::select! {
            biased;
            () = options.cancellation.cancelled() => {
                ClientError::new(self.name(), ClientErrorKind::Cancelled)
            }
            () = self.inner.shutdown.cancelled() => self.stopped_error(),
            outcome = work => return outcome,
        };
        error.delivery = delivery;
        Err(error)
    }

    /// Acquires one of the server's concurrent request slots, or fails when the time is over.
    async fn acquire_slot(&self, options: &CallOptions) -> Result<FairPermit, ClientError> {
        if let Some(slot) = self.inner.request_slots.try_acquire(&self.holder) {
            return Ok(slot);
        }
        // A waiting caller holds other resources: a server that hangs must not take all of them.
        let Some(_waits) = self.inner.queue_slots.try_acquire(&self.holder) else {
            let because = "too many calls are waiting for the server".to_owned();
            let wait = Duration::from_secs(1);
            return Err(ClientError::new(
                self.name(),
                ClientErrorKind::Backoff {
                    wait,
                    reason: because,
                },
            ));
        };
        let after = options
            .response_timeout
            .unwrap_or(self.config().limits.response_timeout);
        let slot = self.inner.request_slots.acquire(&self.holder);
        tokio::time::timeout(after, slot).await.map_err(|_| {
            let mut error = ClientError::new(self.name(), ClientErrorKind::Timeout { after });
            error.delivery = DeliveryStatus::No;
            error
        })
    }

    /// Sends the request, and repeats it with the input that the server asks for before it answers.
    async fn request_until_complete(
        &self,
        method: &str,
        params: Map<String, Value>,
        options: &CallOptions,
    ) -> Result<ServerAnswer, ClientError> {
        let mut again = options.resumed_input.clone();
        for _ in 0..MAX_ROUNDS {
            let sent = self.exchange_with_retry(method, &params, again.as_ref(), options);
            let (connection, raw) = sent.await?;
            let text = if options.exact_integers {
                mark_large_integers(raw.get())
            } else {
                raw.get().into()
            };
            let result: Value = serde_json::from_str(&text).map_err(|error| {
                let reason = error.to_string();
                ClientError::new(self.name(), ClientErrorKind::Malformed { reason })
            })?;
            let wants_input = connection.is_stateless()
                && result.get("resultType").and_then(Value::as_str) == Some("input_required");
            if !wants_input || options.input_mode == InputMode::ReturnToCaller {
                let bytes = raw.get().len();
                return Ok(ServerAnswer { result, bytes });
            }
            again = Some(self.collect_input(&connection, &result, options).await?);
        }
        let reason = format!("the server asked for input {MAX_ROUNDS} times during one request");
        Err(ClientError::new(
            self.name(),
            ClientErrorKind::Malformed { reason },
        ))
    }

    /// Asks the handler for the input that the server needs.
    async fn collect_input(
        &self,
        connection: &McpConnection,
        result: &Value,
        options: &CallOptions,
    ) -> Result<ResumedInput, ClientError> {
        let handler = options.handler.as_ref().unwrap_or(&self.inner.handler);
        let mut responses = Map::new();
        let wanted = result.get("inputRequests").and_then(Value::as_object);
        for (key, request) in wanted.into_iter().flatten() {
            let method = request
                .get("method")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let params = request.get("params").cloned().unwrap_or_default();
            let shared = &connection.state;
            let answer = shared.call_handler(handler.as_ref(), method, params).await;
            let answer = answer.map_err(|error| {
                let mut error = ClientError::new(self.name(), ClientErrorKind::Rpc(error.into()));
                // The rejection is ours; the server has started the call, whatever the code says.
                error.delivery = DeliveryStatus::Yes;
                error
            })?;
            responses.insert(key.clone(), answer);
        }
        let state = result.get("requestState").and_then(Value::as_str);
        Ok(ResumedInput {
            state: state.map(str::to_owned),
            responses: Value::Object(responses),
        })
    }

    /// Sends a request, and retries it on a new connection if the server certainly did not receive
    /// it.
    async fn exchange_with_retry(
        &self,
        method: &str,
        params: &Map<String, Value>,
        again: Option<&ResumedInput>,
        options: &CallOptions,
    ) -> Result<(Arc<McpConnection>, Box<RawValue>), ClientError> {
        let mut connection = self.connection().await?;
        let with_input = || {
            let mut params = params.clone();
            if let Some(again) = again {
                insert_resumed_input(again, &mut params);
            }
            params
        };
        let first = self.exchange(&connection, method, with_input(), options);
        let raw = match first.await {
            Err(error) if error.delivery == DeliveryStatus::No && !connection.is_live() => {
                connection = self.connection().await?;
                let second = self.exchange(&connection, method, with_input(), options);
                second.await?
            }
            first => first?,
        };
        Ok((connection, raw))
    }

    async fn exchange(
        &self,
        connection: &McpConnection,
        method: &str,
        mut params: Map<String, Value>,
        options: &CallOptions,
    ) -> Result<Box<RawValue>, ClientError> {
        let limits = &self.config().limits;
        let is_call = method == "tools/call";
        let mut param_headers = Vec::new();
        if let Some(side) = connection
            .server_info()
            .filter(|side| side.era == McpEra::Stateless)
        {
            if is_call {
                param_headers = self.param_headers(&params);
            }
            handshake::insert_meta(&self.inner, side, &mut params);
            if let (Some(level), Some(Value::Object(meta))) =
                (&options.log_level, params.get_mut("_meta"))
            {
                meta.insert(LOG_LEVEL.to_owned(), level.as_str().into());
            }
        }
        if !options.meta.is_empty() {
            let meta = params.entry("_meta").or_insert_with(|| json!({}));
            if let Some(meta) = meta.as_object_mut() {
                for (name, value) in &options.meta {
                    meta.entry(name.clone()).or_insert_with(|| value.clone());
                }
            }
        }
        let asking = McpRequest {
            name: mcp_name_header(method, &params),
            method: method.to_owned(),
            params,
            headers: param_headers,
            response_timeout: Some(options.response_timeout.unwrap_or(limits.response_timeout)),
            total_timeout: Some(options.total_timeout.unwrap_or(limits.total_timeout)),
            progress: options.progress.clone(),
            wants_progress: is_call || options.progress.is_some(),
            handler: options.handler.clone(),
            cancellable: true,
        };
        connection.request(asking).await.map_err(|unanswered| {
            let sent = match &unanswered {
                RequestFailure::Timeout { sent, .. } => Some(*sent),
                RequestFailure::Lost(_) => None,
            };
            let mut error = ClientError::new(self.name(), unanswered.into_kind());
            error.delivery = sent.unwrap_or(error.delivery);
            if matches!(
                error.kind,
                ClientErrorKind::Transport(_) | ClientErrorKind::Timeout { .. }
            ) {
                error.diagnosis = connection.transport.diagnosis().map(Into::into);
            }
            error
        })
    }

    fn param_headers(&self, params: &Map<String, Value>) -> Vec<(String, String)> {
        let name = params.get("name").and_then(Value::as_str);
        let (Some(name), Some(tools)) = (name, self.inner.listing_cache.last_tools()) else {
            return Vec::new();
        };
        match (tools.get(name), params.get("arguments")) {
            (Some(tool), Some(arguments)) => {
                param_headers::collect_headers(tool.input_schema(), arguments)
            }
            _ => Vec::new(),
        }
    }
}

/// Returns the value of the `Mcp-Name` header: the tool, prompt or resource of the request.
fn mcp_name_header(method: &str, params: &Map<String, Value>) -> Option<String> {
    let field = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
        _ => return None,
    };
    params.get(field)?.as_str().map(str::to_owned)
}

fn insert_resumed_input(again: &ResumedInput, params: &mut Map<String, Value>) {
    if let Some(state) = &again.state {
        params.insert("requestState".to_owned(), state.clone().into());
    }
    params.insert("inputResponses".to_owned(), again.responses.clone());
}

impl RequestFailure {
    pub(super) fn into_kind(self) -> ClientErrorKind {
        match self {
            Self::Lost(LostResponse::Rpc(error)) => ClientErrorKind::Rpc(error.into()),
            Self::Lost(LostResponse::Transport(error)) => ClientErrorKind::Transport(error),
            Self::Lost(LostResponse::Cancelled) => ClientErrorKind::Cancelled,
            Self::Timeout { after, .. } => ClientErrorKind::Timeout { after },
        }
    }
}
