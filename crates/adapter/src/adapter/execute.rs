//! Executes one tool: validates the arguments, calls the server, and calls the fallback server if
//! the failure is transient and no effect can be repeated.

use std::sync::{Arc, Mutex, PoisonError};

use deliberate_core::did_you_mean;
use deliberate_json_schema::SchemaViolation;
use serde_json::Value;
use tokio::task::spawn_blocking;

use super::{Adapter, Next, ToolInvocation};
use crate::{
    CallOptions, ClientError, ClientErrorKind, McpClient,
    client::{CachePolicy, InputMode, ToolCallResult, ToolDef},
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
        let first = match self.call_once(primary, &invocation, options).await {
            Ok(executed) => return Ok(executed),
            Err(first) => first,
        };
        let Some(other) = self.fallback_for(&first.error, first.tool.as_deref(), &invocation)
        else {
            return first.answer.ok_or(first.error);
        };
        tracing::debug!(
            server = primary.name(),
            other = other.name(),
            code = first.error.code(),
            "calling the fallback server"
        );
        match self.call_once(other, &invocation, options).await {
            Ok(executed) => Ok(executed),
            Err(mut second) => {
                second.error.earlier_error = Some(Box::new(first.error));
                second.answer.or(first.answer).ok_or(second.error)
            }
        }
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
        let when = config.fallback_policy;
        let idempotent = tool.is_some_and(ToolDef::idempotent) || when.allow_repeat;
        // The server may have started and then asked for something that this client does not know.
        let harmless = failed.repeats_no_effect(idempotent);
        let helps = failed.is_repeatable(idempotent)
            || (when.on_unknown_tool && failed.may_differ_elsewhere() && harmless);
        let allowed = || {
            let before = config.before_fallback.as_ref();
            before.is_none_or(|before| before(failed, invocation))
        };
        (helps && allowed()).then_some(other)
    }

    /// Calls the tool at one server.
    async fn call_once(
        &self,
        client: &McpClient,
        invocation: &ToolInvocation,
        options: &CallOptions,
    ) -> Result<ToolCallResult, FailedCall> {
        let name = invocation.tool.as_str();
        let checked = tokio::select! {
            biased;
            () = options.cancellation.cancelled() => {
                let mut error = ClientError::new(client.name(), ClientErrorKind::Cancelled);
                error.delivery = DeliveryStatus::No;
                Err(FailedCall::new(error, None))
            }
            checked = self.check_arguments(client, invocation) => checked,
        };
        let tool = checked.map_err(|failed| failed.with_subject(name))?;
        let options = CallOptions {
            meta: invocation.meta.clone(),
            ..options.clone()
        };
        let hands_over = options.input_mode == InputMode::ReturnToCaller;
        let result = client
            .call(name, invocation.arguments.clone(), options)
            .await
            .map_err(|error| FailedCall::new(error, tool.clone()))?;
        let executed = ToolCallResult {
            result,
            server: client.name().to_owned(),
        };
        let waits = hands_over
            && executed
                .result
                .get("resultType")
                .is_some_and(|kind| kind == "input_required");
        if let (Some(tool), false, true) = (&tool, waits, self.0.config.validate)
            && let Some(reason) = result_violation(tool, &executed.result).await
        {
            let answer = executed.without_structured_content(&reason);
            let kind = ClientErrorKind::Malformed { reason };
            let error = ClientError::new(client.name(), kind).with_subject(name);
            return Err(FailedCall {
                error,
                tool: Some(tool.clone()),
                answer: Some(answer),
            });
        }
        Ok(executed)
    }

    /// Validates the arguments and returns the tool definition.
    async fn check_arguments(
        &self,
        client: &McpClient,
        invocation: &ToolInvocation,
    ) -> Result<Option<Arc<ToolDef>>, FailedCall> {
        if !self.0.config.validate {
            let known = client.cached_tools();
            return Ok(known.and_then(|list| list.get(&invocation.tool).cloned()));
        }
        let list = client
            .tools(CachePolicy::Cached)
            .await
            .map_err(|mut error| {
                // Whatever happened to the listing, the call itself was not sent.
                error.delivery = DeliveryStatus::No;
                FailedCall::new(error, None)
            })?;
        let Some(tool) = list.get(&invocation.tool) else {
            let names = list.tools.iter().map(|tool| tool.name.as_str());
            let nearest = did_you_mean(&invocation.tool, names);
            let kind = ClientErrorKind::UnknownTool { nearest };
            let error = ClientError::new(client.name(), kind);
            return Err(FailedCall::new(error, None));
        };
        let faults = argument_faults(tool, &invocation.arguments).await;
        if faults.is_empty() {
            return Ok(Some(tool.clone()));
        }
        let error = ClientError::new(client.name(), ClientErrorKind::InvalidArguments(faults));
        Err(FailedCall::new(error, Some(tool.clone())))
    }
}

/// Returns the violations of the input schema. The server's schema decides how long that takes, so only
/// a quick check is done on the runtime.
async fn argument_faults(tool: &Arc<ToolDef>, arguments: &Value) -> Vec<SchemaViolation> {
    if tool.checks_arguments_quickly(arguments) {
        return tool.check_arguments(arguments);
    }
    let (tool, arguments) = (tool.clone(), arguments.clone());
    let checked = spawn_blocking(move || tool.check_arguments(&arguments)).await;
    // What can't be checked is the server's to check.
    checked.unwrap_or_default()
}

/// Returns how a result violates the output schema.
async fn result_violation(tool: &Arc<ToolDef>, result: &Value) -> Option<String> {
    if tool.checks_result_quickly(result) {
        return tool.result_violation(result);
    }
    let (tool, result) = (tool.clone(), result.clone());
    let checked = spawn_blocking(move || tool.result_violation(&result)).await;
    checked.unwrap_or_default()
}

/// A call that failed at one server.
struct FailedCall {
    error: ClientError,
    /// The definition of the tool, if it is known.
    tool: Option<Arc<ToolDef>>,
    /// The usable part of an invalid answer.
    answer: Option<ToolCallResult>,
}

impl FailedCall {
    fn new(error: ClientError, tool: Option<Arc<ToolDef>>) -> Self {
        Self {
            error,
            tool,
            answer: None,
        }
    }

    fn with_subject(mut self, tool: &str) -> Self {
        self.error = self.error.with_subject(tool);
        self
    }
}
