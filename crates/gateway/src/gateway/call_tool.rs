//! Calls a tool at its upstream server, or at the fallback server, or a method of the server.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use deliberate_mcp_client::{
    ClientErrorKind,
    client::{CallOptions, McpProgress, ToolCallResult, ToolDef},
    transport::DeliveryStatus,
};
use deliberate_toolkit::compute;
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::{CatalogTool, Gateway, ServerMethod, Upstream};
use crate::GatewayError;

/// The number of queued progress notifications. Further ones are dropped; the newest is enough.
const PROGRESS_QUEUE: usize = 16;
/// The `_meta` key with which a server describes itself in every result. It is removed, because our
/// server adds its own.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The time of a call beyond its server's: finding the tool and waiting for a slot.
const CALL_OVERHEAD: Duration = Duration::from_secs(30);

/// What a call runs at its server.
#[derive(Clone)]
pub(crate) enum CallTarget {
    Tool(Arc<CatalogTool>),
    Method(ServerMethod),
}

impl CallTarget {
    /// Returns the name at the server.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Tool(tool) => &tool.def.name,
            Self::Method(method) => method.name(),
        }
    }
}

/// A running call. Dropping it cancels it.
pub(crate) struct UpstreamCall {
    pub(crate) outcome: BoxFuture<'static, Result<ToolCallResult, GatewayError>>,
    pub(crate) progress: mpsc::Receiver<McpProgress>,
}

impl Gateway {
    /// Calls a tool by its qualified name (`server__tool`). Returns the result as the server wrote
    /// it; one with `isError` is a result too.
    pub async fn call(
        self: &Arc<Self>,
        tool: &str,
        arguments: Value,
        options: CallOptions,
    ) -> Result<Value, GatewayError> {
        let (upstream, tool) = self.find_tool(tool).await?;
        let caller = self.upstream_caller(None);
        let executed = caller
            .call_with_fallback(&upstream, &tool, arguments, options)
            .await?;
        Ok(without_server_info(executed.result))
    }

    pub(crate) fn start_call(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        target: &CallTarget,
        arguments: Value,
        principal: Option<String>,
        mut options: CallOptions,
    ) -> UpstreamCall {
        let (sender, progress) = mpsc::channel(PROGRESS_QUEUE);
        options.progress = Some(Arc::new(move |update| {
            // A full queue means that newer progress is queued; a closed one, that nobody listens.
            drop(sender.try_send(update));
        }));
        let (upstream, target) = (upstream.clone(), target.clone());
        let caller = self.upstream_caller(principal);
        let outcome = Box::pin(async move {
            match target {
                CallTarget::Tool(tool) => {
                    caller
                        .call_with_fallback(&upstream, &tool, arguments, options)
                        .await
                }
                CallTarget::Method(method) => {
                    let principal = caller.principal.as_deref();
                    method.run(&upstream, &arguments, principal, options).await
                }
            }
        });
        UpstreamCall { outcome, progress }
    }

    /// Returns the maximum duration of a call of this tool: that of its server and its fallback.
    /// Returns none if the server does not exist.
    pub(crate) fn max_duration(&self, full: &str) -> Option<Duration> {
        let upstream = self.upstream_of_tool(full)?;
        let other = upstream.settings.fallback.as_deref();
        let other = other.and_then(|name| self.upstream(name).ok());
        let other = other.map_or(Duration::ZERO, |other| other.longest_call());
        Some(
            upstream
                .longest_call()
                .saturating_add(other)
                .saturating_add(CALL_OVERHEAD),
        )
    }

    /// Returns the configured time after which a call of this tool continues in the background.
    pub(crate) fn background_after(&self, full: &str) -> Option<Duration> {
        self.upstream_of_tool(full)?.settings.background_after
    }

    fn upstream_caller(self: &Arc<Self>, principal: Option<String>) -> UpstreamCaller {
        UpstreamCaller {
            principal,
            gateway: Arc::downgrade(self),
        }
    }
}

/// Makes calls. A suspended call is stored in the gateway, so it holds only a weak reference to it.
struct UpstreamCaller {
    /// The principal with whose credentials the call is made.
    principal: Option<String>,
    gateway: Weak<Gateway>,
}

impl UpstreamCaller {
    /// Calls the server, and the fallback server after a transient failure if no effect can be
    /// repeated.
    async fn call_with_fallback(
        &self,
        upstream: &Upstream,
        tool: &CatalogTool,
        arguments: Value,
        options: CallOptions,
    ) -> Result<ToolCallResult, GatewayError> {
        let Some(other) = upstream.settings.fallback.as_deref() else {
            let executed = self.call_at(upstream, &tool.def, arguments, options);
            return Ok(executed.await?.without_violation());
        };
        let first = self.call_at(upstream, &tool.def, arguments.clone(), options.clone());
        let (failed, invalid) = match first.await {
            Ok(executed) => match executed.violation_error(&tool.def) {
                Some(failed) => (failed, Some(executed)),
                None => return Ok(executed.answer),
            },
            Err(failed) => (failed, None),
        };
        let give_up = |failed: deliberate_mcp_client::ClientError| match invalid {
            Some(executed) => Ok(executed.without_violation()),
            None => Err(GatewayError::from(failed)),
        };
        // A server may refuse parameters after it has begun to act on the others.
        let helps = (failed.is_transient() || failed.may_differ_elsewhere())
            && failed.repeats_no_effect(tool.def.idempotent());
        if !helps || options.resumed_input.is_some() {
            return give_up(failed);
        }
        // The fallback's definition must be approved like the first one.
        let Some((other, stand_in)) = self.find_fallback_tool(other, &tool.def.name).await else {
            return give_up(failed);
        };
        tracing::debug!(
            server = upstream.name(),
            other = other.name(),
            code = failed.code(),
            "calling the fallback server"
        );
        match self
            .call_at(&other, &stand_in.def, arguments, options)
            .await
        {
            Ok(executed) => Ok(executed.without_violation()),
            Err(mut error) => {
                error.earlier_error = Some(Box::new(failed));
                give_up(error)
            }
        }
    }

    async fn find_fallback_tool(
        &self,
        server: &str,
        tool: &str,
    ) -> Option<(Arc<Upstream>, Arc<CatalogTool>)> {
        let gateway = self.gateway.upgrade()?;
        gateway.find_server_tool(server, tool).await.ok()
    }

    /// Calls a tool by the definition that was evaluated; a definition that the server sends
    /// meanwhile does not count.
    async fn call_at(
        &self,
        upstream: &Upstream,
        tool: &Arc<ToolDef>,
        arguments: Value,
        options: CallOptions,
    ) -> Result<CheckedAnswer, deliberate_mcp_client::ClientError> {
        let server = upstream.name();
        let wrong = |kind| {
            deliberate_mcp_client::ClientError::new(server, kind).with_subject(tool.name.as_str())
        };
        // Schema and arguments decide how long this takes. What can't be checked in time is the
        // server's to check.
        let (def, sent) = (tool.clone(), Arc::new(arguments));
        let given = sent.clone();
        let faults = compute(move || def.check_arguments(&given)).await;
        let faults = faults.unwrap_or_default();
        if !faults.is_empty() {
            return Err(wrong(ClientErrorKind::InvalidArguments(faults)));
        }
        let (client, permit) = tokio::select! {
            biased;
            () = options.cancellation.cancelled() => {
                let mut error = wrong(ClientErrorKind::Cancelled);
                error.delivery = DeliveryStatus::No;
                return Err(error);
            }
            acquired = upstream.clients.acquire(self.principal.as_deref()) => acquired?,
        };
        let arguments = Arc::unwrap_or_clone(sent);
        let result = Arc::new(client.call(&tool.name, arguments, options).await?);
        drop(permit);
        let (def, checked) = (tool.clone(), result.clone());
        let violation = compute(move || def.result_violation(&checked)).await;
        Ok(CheckedAnswer {
            violation: violation.unwrap_or_default(),
            answer: ToolCallResult {
                result: Arc::unwrap_or_clone(result),
                server: server.to_owned(),
            },
        })
    }
}

/// A server's answer, and how its structured content violates the tool's own output schema.
struct CheckedAnswer {
    answer: ToolCallResult,
    violation: Option<String>,
}

impl CheckedAnswer {
    fn violation_error(&self, tool: &ToolDef) -> Option<deliberate_mcp_client::ClientError> {
        let reason = self.violation.clone()?;
        let kind = ClientErrorKind::Malformed { reason };
        let server = self.answer.server.as_str();
        Some(deliberate_mcp_client::ClientError::new(server, kind).with_subject(tool.name.as_str()))
    }

    /// Returns the answer without invalid structured content.
    fn without_violation(self) -> ToolCallResult {
        match self.violation {
            Some(violation) => self.answer.without_structured_content(&violation),
            None => self.answer,
        }
    }
}

/// Removes the upstream server's description of itself from a result.
pub(crate) fn without_server_info(mut result: Value) -> Value {
    let Some(fields) = result.as_object_mut() else {
        return result;
    };
    let meta = fields.get_mut("_meta").and_then(Value::as_object_mut);
    let Some(meta) = meta else { return result };
    if meta.shift_remove(SERVER_INFO).is_some() && Map::is_empty(meta) {
        fields.shift_remove("_meta");
    }
    result
}
