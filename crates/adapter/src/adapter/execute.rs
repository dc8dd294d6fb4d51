//! Executes one tool: validates the arguments, calls the server, and calls the fallback server if
//! the failure is transient and no effect can be repeated.

use std::sync::{Arc, Mutex, PoisonError};

use deliberate_core::did_you_mean;
use serde_json::Value;

use super::{Adapter, Next, ToolInvocation};
use crate::{
    CallOptions, ClientError, ClientErrorKind, McpClient,
    client::{CachePolicy, FailedCall, ToolCallResult, ToolDef},
    transport::DeliveryStatus,
};

impl Adapter {
    /// Executes a tool of a server: validates, calls, and falls back after a transient failure.
    pub async fn execute(
        &self,
        server: &str,
        tool: &str,
        arguments: Value,
        options: CallOptions,
    ) -> Result<ToolCallResult, ClientError> {
        let by = Arc::new(Mutex::new(server.to_owned()));
        let invocation = ToolInvocation {
            server: server.to_owned(),
            tool: tool.to_owned(),
            arguments,
            meta: options.meta.clone(),
        };
        let end = |invocation: ToolInvocation| -> futures::future::BoxFuture<'_, Result<Value, ClientError>> {
            let (options, by) = (&options, by.clone());
            Box::pin(async move {
                let executed = self.execute_with_fallback(invocation, options).await?;
                *by.lock().unwrap_or_else(PoisonError::into_inner) = executed.server;
                Ok(executed.result)
            })
        };
        let next = Next {
            remaining: &self.0.config.interceptors,
            terminal: &end,
        };
        let result = next.run(invocation).await?;
        let by = by.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(ToolCallResult { result, server: by })
    }

    async fn execute_with_fallback(
        &self,
        invocation: ToolInvocation,
        options: &CallOptions,
    ) -> Result<ToolCallResult, ClientError> {
        let Some(primary) = self.client(&invocation.server) else {
            let names = self.0.clients.keys().map(String::as_str);
            let nearest = did_you_mean(&invocation.server, names);
            let kind = ClientErrorKind::UnknownTool { nearest };
            return Err(ClientError::new(invocation.server.as_str(), kind));
        };
        let (tool, first) = self.call_once(primary, &invocation, options).await;
        let failed = match first {
            Ok(executed) => return Ok(executed),
            Err(failed) => failed,
        };
        let other = self.fallback_for(&failed.error, tool.as_deref(), &invocation);
        // The state of a call that is sent again means nothing to another server.
        let Some(other) = other.filter(|_| options.resumed_input.is_none()) else {
            return failed.into_result();
        };
        tracing::debug!(
            server = primary.name(),
            other = other.name(),
            code = failed.error.code(),
            "calling the fallback server"
        );
        let (_, second) = self.call_once(other, &invocation, options).await;
        failed.or_fallback(second)
    }

    /// Returns the fallback server to call after this failure, if any.
    fn fallback_for(
        &self,
        failed: &ClientError,
        tool: Option<&ToolDef>,
        invocation: &ToolInvocation,
    ) -> Option<&McpClient> {
        let config = &self.0.config;
        let other = self.client(config.fallbacks.get(&invocation.server)?)?;
        let policy = config.fallback_policy;
        let idempotent = tool.is_some_and(ToolDef::idempotent) || policy.allow_repeat;
        let allowed = || {
            let before = config.before_fallback.as_ref();
            before.is_none_or(|before| before(failed, invocation))
        };
        let helps = failed.may_fall_back(idempotent, policy.on_unknown_tool);
        (helps && allowed()).then_some(other)
    }

    /// Calls the tool at one server. Returns its definition, too, if it is known.
    async fn call_once(
        &self,
        client: &McpClient,
        invocation: &ToolInvocation,
        options: &CallOptions,
    ) -> (Option<Arc<ToolDef>>, Result<ToolCallResult, FailedCall>) {
        let name = invocation.tool.as_str();
        let arguments = invocation.arguments.clone();
        let options = CallOptions {
            meta: invocation.meta.clone(),
            ..options.clone()
        };
        if !self.0.config.validate {
            let known = client.cached_tools();
            let result = client.call(name, arguments, options).await;
            let answer = result.map(|result| ToolCallResult {
                result,
                server: client.name().to_owned(),
            });
            let tool = known.and_then(|list| list.get(name).cloned());
            return (tool, answer.map_err(FailedCall::from));
        }
        match find_tool(client, name, &options).await {
            Ok(tool) => {
                let called = client.call_checked(&tool, arguments, options).await;
                (Some(tool), called)
            }
            Err(error) => (None, Err(error.with_subject(name).into())),
        }
    }
}

/// Returns the definition of a server's tool.
async fn find_tool(
    client: &McpClient,
    name: &str,
    options: &CallOptions,
) -> Result<Arc<ToolDef>, ClientError> {
    let listed = tokio::select! {
        biased;
        () = options.cancellation.cancelled() => {
            Err(ClientError::new(client.name(), ClientErrorKind::Cancelled))
        }
        listed = client.tools(CachePolicy::Cached) => listed,
    };
    let list = listed.map_err(|mut error| {
        // Whatever happened to the listing, the call itself was not sent.
        error.delivery = DeliveryStatus::No;
        error
    })?;
    list.get(name).cloned().ok_or_else(|| {
        let names = list.tools.iter().map(|tool| tool.name.as_str());
        let nearest = did_you_mean(name, names);
        ClientError::new(client.name(), ClientErrorKind::UnknownTool { nearest })
    })
}
