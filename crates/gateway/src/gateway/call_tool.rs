//! Calls a tool at its upstream server, or at the fallback server, or a method of the server.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use deliberate_mcp_client::client::{
    CallOptions, FailedCall, McpProgress, ToolCallResult, ToolDef,
};
use deliberate_toolkit::compute;
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::{CatalogTool, Gateway, ServerMethod, Upstream};
use crate::{GatewayError, client_requests::ServerRequest};

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
    /// The requests of its server that the caller's result has to carry.
    pub(crate) requests: mpsc::Receiver<ServerRequest>,
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
        let gateway = Arc::downgrade(self);
        let call = call_with_fallback(&gateway, None, &upstream, &tool, arguments, options);
        Ok(without_server_info(call.await?.result))
    }

    /// Starts a call with the credentials of a principal. A suspended call is stored in the gateway,
    /// so it holds only a weak reference to it.
    pub(crate) fn start_call(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        target: &CallTarget,
        arguments: Value,
        principal: Option<String>,
        mut options: CallOptions,
        requests: mpsc::Receiver<ServerRequest>,
    ) -> UpstreamCall {
        let (sender, progress) = mpsc::channel(PROGRESS_QUEUE);
        options.progress = Some(Arc::new(move |update| {
            // A full queue means that newer progress is queued; a closed one, that nobody listens.
            drop(sender.try_send(update));
        }));
        let (upstream, target, gateway) = (upstream.clone(), target.clone(), Arc::downgrade(self));
        let outcome = Box::pin(async move {
            let principal = principal.as_deref();
            match target {
                CallTarget::Tool(tool) => {
                    call_with_fallback(&gateway, principal, &upstream, &tool, arguments, options)
                        .await
                }
                CallTarget::Method(method) => {
                    method.run(&upstream, &arguments, principal, options).await
                }
            }
        });
        UpstreamCall {
            outcome,
            progress,
            requests,
        }
    }

    /// Returns the maximum duration of a call of this tool: that of its server and its fallback.
    /// Returns none if the server does not exist.
    pub(crate) fn max_duration(&self, full: &str) -> Option<Duration> {
        let (upstream, _) = self.split_tool_name(full)?;
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
        let (upstream, _) = self.split_tool_name(full)?;
        upstream.settings.background_after
    }
}

/// Calls the server, and the fallback server after a transient failure if no effect can be repeated.
async fn call_with_fallback(
    gateway: &Weak<Gateway>,
    principal: Option<&str>,
    upstream: &Upstream,
    tool: &CatalogTool,
    arguments: Value,
    options: CallOptions,
) -> Result<ToolCallResult, GatewayError> {
    let other = upstream.settings.fallback.as_deref();
    // The state of a call that is sent again means nothing to another server.
    let Some(other) = other.filter(|_| options.resumed_input.is_none()) else {
        let called = upstream.call_tool(&tool.def, principal, arguments, options);
        return Ok(called.await.or_else(FailedCall::into_result)?);
    };
    let first = upstream.call_tool(&tool.def, principal, arguments.clone(), options.clone());
    let failed = match first.await {
        Ok(answer) => return Ok(answer),
        Err(failed) => failed,
    };
    let helps = failed.error.may_fall_back(tool.def.idempotent(), true);
    // The fallback's definition must be approved like the first one.
    let stand_in = match gateway.upgrade().filter(|_| helps) {
        Some(gateway) => gateway.find_server_tool(other, &tool.def.name).await.ok(),
        None => None,
    };
    let Some((other, stand_in)) = stand_in else {
        return Ok(failed.into_result()?);
    };
    tracing::debug!(
        server = upstream.name(),
        other = other.name(),
        code = failed.error.code(),
        "calling the fallback server"
    );
    let second = other.call_tool(&stand_in.def, principal, arguments, options);
    Ok(failed.or_fallback(second.await)?)
}

impl Upstream {
    /// Calls a tool by the definition that was evaluated.
    async fn call_tool(
        &self,
        tool: &Arc<ToolDef>,
        principal: Option<&str>,
        arguments: Value,
        mut options: CallOptions,
    ) -> Result<ToolCallResult, FailedCall> {
        let client = self.clients.client(principal)?;
        // The threads of such checks are bounded, and each principal has a share of them.
        options.check_runner = Some(|check| compute(check).map(drop).boxed());
        client.call_checked(tool, arguments, options).await
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
