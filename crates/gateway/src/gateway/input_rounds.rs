//! Runs a call with the requests that its upstream server makes meanwhile. A client that can
//! be asked during the call is asked; another receives the request as the result, and the call is
//! suspended until it is sent again.

use std::{ops::ControlFlow, sync::Arc};

use deliberate_mcp_client::{
    ClientErrorKind,
    client::{CallOptions, InputMode, McpProgress, ResumedInput, ToolCallResult},
};
use deliberate_toolkit::{CallerPresence, ClientFeatures, TraceContext};
use serde_json::{Map, Value, json};

use super::{CallTarget, Gateway, Upstream, UpstreamCall, call_tool::without_server_info};
use crate::{
    GatewayError,
    client_requests::{
        CallIdentity, ClientPermissions, ELICIT, RequestRelay, ServerRequest,
        SuspendedUpstreamCall, decline_response, prefix_with_server,
    },
    injection_scan::mark_untrusted,
    pins::canonical,
};

/// How often a server may ask for input that nobody can give.
const MAX_ROUNDS: usize = 10;

/// A call of a tool, or of a method like one, by one of our clients.
pub(crate) struct ClientToolCall<'a> {
    pub(crate) gateway: &'a Arc<Gateway>,
    pub(crate) client: &'a ClientFeatures,
    pub(crate) owner: Option<String>,
    /// The trace context of the call.
    pub(crate) trace: Option<TraceContext>,
    /// Whether the caller still waits for the result and can be asked.
    pub(crate) presence: CallerPresence,
    pub(crate) on_progress: &'a (dyn Fn(McpProgress) + Sync),
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) target: CallTarget,
    pub(crate) arguments: Value,
}

/// The state and the input of a call that is sent again.
pub(crate) struct ResumedCall {
    pub(crate) state: String,
    pub(crate) responses: Map<String, Value>,
}

/// The state of a running call.
enum CallStep {
    Done(ToolCallResult),
    NeedsInput(UpstreamCall, Vec<(String, ServerRequest)>),
}

/// The result that suspends a call, or the next step of one that goes on.
type Suspension = ControlFlow<Value, CallStep>;

impl ClientToolCall<'_> {
    /// Runs the call. Returns the result as the server wrote it, or one that asks for input.
    pub(crate) async fn run(
        &self,
        again: Option<ResumedCall>,
    ) -> Result<ToolCallResult, GatewayError> {
        let step = match again {
            None => self.start(&self.upstream, &self.target, None).await?,
            Some(again) => match self
                .gateway
                .suspended_calls
                .take(&again.state, &self.identity())
            {
                None => return Err(GatewayError::NotSuspended),
                Some(SuspendedUpstreamCall::InCall {
                    call,
                    open_requests,
                }) => match send_replies(open_requests, again.responses) {
                    unanswered if unanswered.is_empty() => self.drive(call).await?,
                    unanswered => CallStep::NeedsInput(call, unanswered),
                },
                Some(SuspendedUpstreamCall::BetweenCalls {
                    server,
                    state,
                    responses: mut answered,
                }) => {
                    answered.extend(again.responses);
                    self.resume(&server, state, answered).await?
                }
            },
        };
        self.drive_to_result(step).await
    }

    async fn drive_to_result(&self, mut step: CallStep) -> Result<ToolCallResult, GatewayError> {
        for _ in 0..MAX_ROUNDS {
            let suspension = match step {
                CallStep::Done(executed) if !self.asks_for_input(&executed) => {
                    return Ok(self.to_answer(executed).await);
                }
                CallStep::Done(executed) => self.suspend_between_calls(executed).await?,
                CallStep::NeedsInput(call, asked) => self.suspend_in_call(call, asked).await?,
            };
            step = match suspension {
                ControlFlow::Continue(step) => step,
                // On behalf of the server that was called.
                ControlFlow::Break(result) => {
                    let server = self.upstream.name().to_owned();
                    return Ok(ToolCallResult { result, server });
                }
            };
        }
        let reason = format!("the server asked for input {MAX_ROUNDS} times during one call");
        let error = ClientErrorKind::Malformed { reason };
        Err(deliberate_mcp_client::ClientError::new(self.upstream.name(), error).into())
    }

    /// Returns the result with the mark of its origin.
    async fn to_answer(&self, executed: ToolCallResult) -> ToolCallResult {
        let ToolCallResult { result, server } = executed;
        let upstream = self.gateway.upstream(&server);
        let trusted = upstream.is_ok_and(|upstream| upstream.settings.trust);
        let mut result = without_server_info(result);
        let (links, owner) = (&self.gateway.resource_links, self.owner.as_deref());
        match self.target {
            CallTarget::Tool(_) => links.add_result(owner, &server, &result),
            CallTarget::Method(method) => {
                links.add_prompt(owner, &server, &result);
                result = method.to_tool_result(result);
            }
        }
        if !trusted {
            mark_untrusted(&mut result, &server).await;
        }
        ToolCallResult { result, server }
    }

    fn asks_for_input(&self, executed: &ToolCallResult) -> bool {
        let kind = executed.result.get("resultType");
        self.client.modern && kind.is_some_and(|kind| kind == "input_required")
    }

    fn identity(&self) -> CallIdentity {
        let call = json!([self.target.name(), self.arguments]);
        CallIdentity {
            owner: self.owner.clone(),
            server: self.upstream.name().to_owned(),
            digest: canonical::digest(&call),
        }
    }

    async fn start(
        &self,
        upstream: &Arc<Upstream>,
        target: &CallTarget,
        again: Option<ResumedInput>,
    ) -> Result<CallStep, GatewayError> {
        let samplers = self.gateway.sampling_servers();
        let (relay, requests) = RequestRelay::new(
            self.client,
            samplers,
            self.presence.clone(),
            self.owner.as_deref(),
        );
        let options = CallOptions {
            handler: Some(Arc::new(relay)),
            input_mode: if self.client.modern {
                InputMode::ReturnToCaller
            } else {
                InputMode::AskHandler
            },
            resumed_input: again,
            meta: self.trace.as_ref().map(trace_meta).unwrap_or_default(),
            exact_integers: true,
            log_level: self.client.log.as_ref().map(|log| log.level.to_owned()),
            ..CallOptions::default()
        };
        let call = self.gateway.start_call(
            upstream,
            target,
            self.arguments.clone(),
            self.owner.clone(),
            options,
            requests,
        );
        self.drive(call).await
    }

    async fn resume(
        &self,
        server: &str,
        state: Option<String>,
        answered: Map<String, Value>,
    ) -> Result<CallStep, GatewayError> {
        // The server that asked may be the fallback, and both servers may have changed meanwhile.
        let (server, target) = match &self.target {
            CallTarget::Tool(tool) => {
                let found = self.gateway.find_server_tool(server, &tool.def.name);
                let (server, tool) = found.await?;
                (server, CallTarget::Tool(tool))
            }
            CallTarget::Method(method) => {
                (self.gateway.upstream(server)?, CallTarget::Method(*method))
            }
        };
        let responses = Value::Object(answered);
        let again = ResumedInput { state, responses };
        self.start(&server, &target, Some(again)).await
    }

    /// Continues a call until it ends or its server asks for something.
    async fn drive(&self, mut call: UpstreamCall) -> Result<CallStep, GatewayError> {
        loop {
            tokio::select! {
                biased;
                Some(update) = call.progress.recv() => (self.on_progress)(update),
                Some(question) = call.requests.recv() => {
                    let mut asked = vec![("ask-1".to_owned(), question)];
                    while let Ok(more) = call.requests.try_recv() {
                        asked.push((format!("ask-{}", asked.len() + 1), more));
                    }
                    return Ok(CallStep::NeedsInput(call, asked));
                }
                outcome = &mut call.outcome => {
                    while let Ok(update) = call.progress.try_recv() {
                        (self.on_progress)(update);
                    }
                    return outcome.map(CallStep::Done);
                }
            }
        }
    }

    /// Returns a result that passes on the requests within the call. If no caller waits for it or
    /// too many calls are suspended, the requests are declined and the call continues.
    async fn suspend_in_call(
        &self,
        call: UpstreamCall,
        asked: Vec<(String, ServerRequest)>,
    ) -> Result<Suspension, GatewayError> {
        let requests: Map<String, Value> = asked
            .iter()
            .map(|(key, question)| {
                let request = json!({ "method": question.method, "params": question.params });
                (key.clone(), request)
            })
            .collect();
        let paused = SuspendedUpstreamCall::InCall {
            call,
            open_requests: asked,
        };
        let put = if self.presence.pin_connection().await {
            self.gateway.suspended_calls.insert(self.identity(), paused)
        } else {
            Err(paused)
        };
        match put {
            Ok(state) => Ok(ControlFlow::Break(json!({
                "resultType": "input_required",
                "inputRequests": requests,
                "requestState": state,
            }))),
            Err(SuspendedUpstreamCall::InCall {
                call,
                open_requests,
            }) => {
                for (_, question) in open_requests {
                    let decline = decline_response(question.method);
                    drop(question.reply.send(decline));
                }
                Ok(ControlFlow::Continue(self.drive(call).await?))
            }
            Err(SuspendedUpstreamCall::BetweenCalls { .. }) => Err(GatewayError::NotSuspended),
        }
    }

    /// Returns the server's `input_required` result with the requests that the client may be asked;
    /// or continues the call if there are none.
    async fn suspend_between_calls(
        &self,
        executed: ToolCallResult,
    ) -> Result<Suspension, GatewayError> {
        let ToolCallResult {
            mut result,
            server: by,
            ..
        } = executed;
        let sampling = self.gateway.sampling_servers().contains(&by);
        let may = ClientPermissions::for_client(self.client, sampling);
        let stays = !may.allows_any(&result) || self.presence.pin_connection().await;
        let may = if stays {
            may
        } else {
            ClientPermissions::default()
        };
        let state = result
            .get("requestState")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let mut answered = Map::new();
        let mut asks = false;
        if let Some(requests) = result
            .get_mut("inputRequests")
            .and_then(Value::as_object_mut)
        {
            let mut refused = Vec::new();
            for (key, request) in requests.iter_mut() {
                let method = request
                    .get("method")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned();
                if may.allows(&method, request.get("params").unwrap_or(&Value::Null)) {
                    if let (ELICIT, Some(params)) = (method.as_str(), request.get_mut("params")) {
                        prefix_with_server(&by, params);
                    }
                    continue;
                }
                let answer = decline_response(&method).map_err(|error| {
                    let error = ClientErrorKind::Rpc(error.into());
                    deliberate_mcp_client::ClientError::new(by.as_str(), error)
                        .with_subject(self.target.name())
                })?;
                answered.insert(key.clone(), answer);
                refused.push(key.clone());
            }
            for key in refused {
                requests.shift_remove(&key);
            }
            asks = !requests.is_empty();
        }
        if !asks && (!answered.is_empty() || !stays) {
            let step = self.resume(&by, state, answered).await?;
            return Ok(ControlFlow::Continue(step));
        }
        let paused = SuspendedUpstreamCall::BetweenCalls {
            server: by.clone(),
            state,
            responses: answered,
        };
        let name = self
            .gateway
            .suspended_calls
            .insert(self.identity(), paused)
            .map_err(|_| {
                let busy = ClientErrorKind::Backoff {
                    wait: std::time::Duration::from_mins(1),
                    reason: "too many calls are waiting for input".to_owned(),
                };
                deliberate_mcp_client::ClientError::new(by, busy)
            })?;
        if let Some(fields) = result.as_object_mut() {
            fields.insert("requestState".to_owned(), name.into());
        }
        Ok(ControlFlow::Break(without_server_info(result)))
    }
}

/// Sends the client's responses to the server and returns the requests that are still open.
fn send_replies(
    asked: Vec<(String, ServerRequest)>,
    mut responses: Map<String, Value>,
) -> Vec<(String, ServerRequest)> {
    let mut unanswered = Vec::new();
    for (key, question) in asked {
        match responses.remove(&key) {
            // Sending fails only if the server has withdrawn its request.
            Some(response @ Value::Object(_)) => drop(question.reply.send(Ok(response))),
            _ => unanswered.push((key, question)),
        }
    }
    unanswered
}

/// Returns the trace context under the names that the protocol reserves for it in `_meta`.
fn trace_meta(trace: &TraceContext) -> Map<String, Value> {
    let parent = ("traceparent".to_owned(), trace.parent().into());
    let state = trace.state().map(|it| ("tracestate".to_owned(), it.into()));
    [parent].into_iter().chain(state).collect()
}
