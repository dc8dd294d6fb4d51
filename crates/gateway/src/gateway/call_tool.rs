//! Calling a tool at its server, or at the one that stands in for it.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use deliberate_adapter::{
    ClientErrorKind,
    adapter::{Adapter, ToolCallResult},
    client::{CallOptions, McpProgress, ToolDef},
};
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::{CatalogTool, Gateway, Upstream};
use crate::GatewayError;

/// Progress that waits to be told; more than this is dropped, since the newest says it all.
const PROGRESS_QUEUE: usize = 16;
/// What a server says of itself in every result; ours is said instead.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// What a call takes beside its server: finding the tool, waiting for a place.
const CALL_OVERHEAD: Duration = Duration::from_secs(30);

/// A call that was begun. Dropping it takes it back.
pub(crate) struct UpstreamCall {
    pub(crate) outcome: BoxFuture<'static, Result<ToolCallResult, GatewayError>>,
    pub(crate) progress: mpsc::Receiver<McpProgress>,
}

impl Gateway {
    /// Calls a tool by its name (`server__tool`). The result is as the server wrote it; one that
    /// says `isError` is a result.
    pub async fn call(
        self: &Arc<Self>,
        tool: &str,
        arguments: Value,
        options: CallOptions,
    ) -> Result<Value, GatewayError> {
        let (served, tool) = self.find_tool(tool).await?;
        let caller = self.upstream_caller();
        let executed = caller
            .call_with_fallback(&served, &tool, arguments, options)
            .await?;
        Ok(without_server_info(executed.result))
    }

    /// Begins a call.
    pub(crate) fn start_call(
        self: &Arc<Self>,
        served: &Arc<Upstream>,
        tool: &Arc<CatalogTool>,
        arguments: Value,
        mut options: CallOptions,
    ) -> UpstreamCall {
        let (sender, progress) = mpsc::channel(PROGRESS_QUEUE);
        options.progress = Some(Arc::new(move |update| {
            // Full means that newer news is on its way; closed, that nobody listens.
            drop(sender.try_send(update));
        }));
        let caller = self.upstream_caller();
        let (served, tool) = (served.clone(), tool.clone());
        let outcome = Box::pin(async move {
            caller
                .call_with_fallback(&served, &tool, arguments, options)
                .await
        });
        UpstreamCall { outcome, progress }
    }

    /// The longest a call of that tool may take: as long as its server may, and the one that
    /// stands in for it. Nothing, if there is no such server.
    pub(crate) fn max_duration(&self, full: &str) -> Option<Duration> {
        let served = self.upstream_of_tool(full)?;
        let longest = |served: &Upstream| {
            let limits = &served.settings.config.limits;
            limits.total_timeout.saturating_add(limits.connect_timeout)
        };
        let other = served.settings.fallback.as_deref();
        let other = other.and_then(|name| self.servers.get(name));
        let other = other.map_or(Duration::ZERO, |other| longest(other));
        Some(
            longest(served)
                .saturating_add(other)
                .saturating_add(CALL_OVERHEAD),
        )
    }

    fn upstream_caller(self: &Arc<Self>) -> UpstreamCaller {
        UpstreamCaller {
            clients: self.clients.clone(),
            gateway: Arc::downgrade(self),
        }
    }
}

/// Makes calls. One that waits is kept by the gateway, which must not keep itself by that.
struct UpstreamCaller {
    clients: Adapter,
    gateway: Weak<Gateway>,
}

impl UpstreamCaller {
    /// The server is called; on a failure that may pass, and by which nothing can happen twice,
    /// the one that stands in for it.
    async fn call_with_fallback(
        &self,
        served: &Upstream,
        tool: &CatalogTool,
        arguments: Value,
        options: CallOptions,
    ) -> Result<ToolCallResult, GatewayError> {
        let Some(other) = served.settings.fallback.as_deref() else {
            let executed = self.call_at(served.name(), &tool.def, arguments, options);
            return Ok(executed.await?);
        };
        let first = self.call_at(served.name(), &tool.def, arguments.clone(), options.clone());
        let failed = match first.await {
            Ok(executed) => return Ok(executed),
            Err(failed) => failed,
        };
        let helps = failed.is_repeatable(tool.def.idempotent()) || failed.may_differ_elsewhere();
        if !helps || options.resumed_input.is_some() {
            return Err(failed.into());
        }
        // Its definition has to be as good as that of the first.
        let Some(stand_in) = self.find_fallback_tool(other, &tool.def.name).await else {
            return Err(failed.into());
        };
        tracing::debug!(
            server = served.name(),
            other,
            code = failed.code(),
            "another server is called"
        );
        let executed = self.call_at(other, &stand_in.def, arguments, options).await;
        executed.map_err(|mut error| {
            error.earlier_error = Some(Box::new(failed));
            error.into()
        })
    }

    async fn find_fallback_tool(&self, server: &str, tool: &str) -> Option<Arc<CatalogTool>> {
        let gateway = self.gateway.upgrade()?;
        gateway.find_server_tool(server, tool).await.ok()
    }

    /// Calls a tool as it was judged: what its server says of it meanwhile does not count.
    async fn call_at(
        &self,
        server: &str,
        tool: &ToolDef,
        arguments: Value,
        options: CallOptions,
    ) -> Result<ToolCallResult, deliberate_adapter::ClientError> {
        let wrong = |kind| {
            deliberate_adapter::ClientError::new(server, kind).with_subject(tool.name.as_str())
        };
        let faults = tool.check_arguments(&arguments);
        if !faults.is_empty() {
            return Err(wrong(ClientErrorKind::InvalidArguments(faults)));
        }
        let executed = self
            .clients
            .execute(server, &tool.name, arguments, options)
            .await?;
        match output_violation(tool, &executed.result) {
            Some(reason) => Err(wrong(ClientErrorKind::Malformed { reason })),
            None => Ok(executed),
        }
    }
}

/// What a tool answers as structure must be what it promised.
fn output_violation(tool: &ToolDef, result: &Value) -> Option<String> {
    let failed = result.get("isError").is_some_and(|failed| failed == true);
    let structure = result.get("structuredContent").filter(|_| !failed)?;
    let faults = tool.check_output(structure);
    let first = faults.first()?;
    Some(format!(
        "its structured answer breaks its own schema: {first}"
    ))
}

/// A result as it is handed on.
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
