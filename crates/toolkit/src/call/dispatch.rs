//! The dispatcher: [`Registry::call`] is the one way that a call is run. This file receives a call,
//! authorizes it and validates its arguments; `task` runs it.

use std::{panic::AssertUnwindSafe, time::Duration};

use deliberate_core::ModelUsage;
use futures::FutureExt;
use serde_json::{Map, Value};
use tokio::time::Instant;
use tracing::{Instrument as _, Span, field::Empty};

use super::{
    background::CallHandle,
    context::progress::send_waiting_heartbeats,
    suspend::{ContinuedCall, Resumption},
    task::{CallState, CallTask},
};
use crate::{
    CALL_SPAN, CallEvent, CallOutcome, CallerContext, Registry, ToolContext, ToolError,
    TraceContext, compute,
    external_tools::ResolvedCall,
    registry::RegisteredTool,
    tool::{AnyTool, StepOutput},
};

impl Registry {
    /// Calls a tool. Every front uses this function.
    ///
    /// The arguments are validated against the tool's schema; the call runs within the limits; it
    /// stops when `caller` cancels it; a panic becomes an error. The changes are committed together
    /// with the log record before the answer is returned; a call that fails leaves its log record
    /// and nothing else.
    pub async fn call(
        &self,
        name: &str,
        arguments: Value,
        caller: CallerContext,
    ) -> Result<CallOutcome, ToolError> {
        // What stops this call does not stop its caller.
        let stop = caller.cancellation.child_token();
        let handle = CallHandle::new(stop.clone());
        let caller = CallerContext {
            cancellation: stop,
            ..caller
        };
        self.call_with_handle(name, arguments, caller, &handle)
            .await
    }

    /// Does the same, with the handle that lets the call become a background call.
    pub(super) async fn call_with_handle(
        &self,
        name: &str,
        arguments: Value,
        caller: CallerContext,
        handle: &CallHandle,
    ) -> Result<CallOutcome, ToolError> {
        let called = self
            .tools
            .resolve(name, arguments, caller.input_reply.as_ref())
            .inspect_err(|_| self.listeners.emit(CallEvent::UnknownTool))?;
        let tool = called.entry.meta.name;
        let external = self.tools.logged_external_name(tool, &called.arguments);
        let target = self.tools.call_target(tool, &called.arguments);
        let server = target.and_then(|target| target.server);
        let span = call_span(
            external.as_deref().unwrap_or(tool),
            server.as_deref(),
            &caller,
        );
        let task = span.in_scope(|| CallTask::new(self, &called, &caller.principal, handle));
        // Boxed, so that the future of a caller does not carry the size of the whole call.
        Box::pin(task.dispatch(called, caller).instrument(span)).await
    }

    /// Returns the time limit of a call that started then.
    pub(super) fn time_limit(
        &self,
        entry: &RegisteredTool,
        arguments: &Value,
        start: Instant,
    ) -> TimeLimit {
        let time = entry.time_limit(arguments, self.deps.limits.call_time);
        TimeLimit {
            time,
            deadline: start + time,
        }
    }

    /// Runs `work` within its time limit. A panic becomes an error of this call alone.
    pub(super) async fn run_guarded<T>(
        &self,
        entry: &RegisteredTool,
        limit: TimeLimit,
        work: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<T, ToolError> {
        let caught = AssertUnwindSafe(work).catch_unwind();
        match tokio::time::timeout_at(limit.deadline, caught).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => {
                let tool = entry.meta.name;
                tracing::error!(tool, "a tool panicked");
                self.listeners.emit(CallEvent::Panicked { tool });
                Err(ToolError::Internal)
            }
            Err(_) => {
                let limit_ms = u64::try_from(limit.time.as_millis()).unwrap_or(u64::MAX);
                Err(if entry.is_replayable() {
                    ToolError::Timeout { limit_ms }
                } else {
                    ToolError::TimeoutUnknownEffect { limit_ms }
                })
            }
        }
    }

    /// Waits for a permit, then runs the tool.
    pub(super) async fn run_with_permit(
        &self,
        entry: &RegisteredTool,
        tool: &dyn AnyTool,
        arguments: Value,
        call: &ToolContext,
    ) -> Result<StepOutput, ToolError> {
        let is_read = entry.is_local_read(&arguments);
        let permits = self.permits.acquire(entry, is_read, call.principal());
        let _permits = permits.await.inspect_err(|error| {
            if let Some(target) = self.tools.call_target(entry.meta.name, &arguments) {
                target.audit_refusal(call.principal(), entry.meta.name, Duration::ZERO, error);
            }
        })?;
        compute::with_call_limits(call, tool.run(arguments, call)).await
    }
}

impl CallTask<'_> {
    /// Authorizes and validates the call, then runs it.
    async fn dispatch(
        mut self,
        called: ResolvedCall<'_>,
        caller: CallerContext,
    ) -> Result<CallOutcome, ToolError> {
        let registry = self.registry;
        let entry = self.entry;
        let target = registry
            .tools
            .call_target(entry.meta.name, &called.arguments);
        let limit = self.limit;
        let prepared = registry.run_guarded(entry, limit, async {
            called.check_allowed(&self.start.principal)?;
            self.prepare(called.arguments).await
        });
        let prepared = tokio::select! {
            biased;
            error = registry.cancelled_or_stopping(&caller.cancellation) => Err(error),
            prepared = prepared => prepared,
            () = send_waiting_heartbeats(&caller) => Err(ToolError::Internal),
        };
        match prepared {
            Ok(None) => self.run(caller).await,
            Ok(Some(output)) => {
                self.start.end(None, &ModelUsage::default());
                Ok(CallOutcome::Done(output))
            }
            Err(error) => {
                if let Some(target) = target {
                    let elapsed = self.start.instant.elapsed();
                    target.audit_refusal(&self.start.principal, entry.meta.name, elapsed, &error);
                }
                self.reject(&error).await;
                Err(error)
            }
        }
    }

    /// Validates the arguments and resolves what they refer to: entities by short references, or a
    /// stored call. Returns the output of a stored call that has ended.
    async fn prepare(&mut self, arguments: Value) -> Result<Option<Value>, ToolError> {
        let registry = self.registry;
        let store = registry.deps.store.as_ref();
        let checked = self.entry.check(arguments)?;
        let name = self.entry.meta.name;
        let resolve = registry
            .tools
            .resolve_references(name, checked.clone(), store);
        let arguments = resolve.await?;
        if self.entry.tool().is_some() {
            self.start
                .set_references(changed_fields(&checked, &arguments));
            self.arguments = arguments;
            self.limit = registry.time_limit(self.entry, &self.arguments, self.start.instant);
            return Ok(None);
        }
        let principal = self.start.principal.clone();
        let resumed = registry.prepare_resume(arguments, &principal, self.handle);
        match resumed.await? {
            Resumption::Ended(output) => Ok(Some(output)),
            Resumption::Continue(resumed) => {
                let ContinuedCall {
                    row,
                    journal,
                    asks_client,
                    is_leased,
                    registration,
                } = *resumed;
                // The principal's scope was checked when the stored call was found.
                self.entry = registry.registered_tool(&row.tool_name)?;
                self.arguments.clone_from(&row.arguments);
                self.notes.clone_from(&row.notes);
                self.called_with.clone_from(&journal.called_with);
                self.used = journal.used;
                self.journal = asks_client.then_some(journal);
                if is_leased {
                    self.state = CallState::Background;
                }
                self.registration = registration;
                self.row = Some(row);
                self.limit = registry.time_limit(self.entry, &self.arguments, self.start.instant);
                Ok(None)
            }
        }
    }
}

/// The time limit of a call and the resulting deadline.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeLimit {
    pub(super) time: Duration,
    pub(super) deadline: Instant,
}

/// Returns the fields of `after` that differ from those of `before`.
fn changed_fields(before: &Value, after: &Value) -> Map<String, Value> {
    let fields = after.as_object().into_iter().flatten();
    fields
        .filter(|(name, value)| before.get(name.as_str()) != Some(value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Creates the span of a call. It costs nothing unless traces are collected, and has no content.
fn call_span(tool: &str, server: Option<&str>, caller: &CallerContext) -> Span {
    let trace = caller.trace.as_ref();
    tracing::info_span!(
        target: CALL_SPAN,
        "tools/call",
        otel.kind = "server",
        mcp.method.name = "tools/call",
        mcp.protocol.version = caller.protocol,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = tool,
        gen_ai.tool.type = "function",
        deliberate.upstream_server = server,
        enduser.id = caller.principal.name.as_deref(),
        error.type = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        deliberate.model_calls = Empty,
        traceparent = trace.map(TraceContext::parent),
        tracestate = trace.and_then(TraceContext::state),
    )
}
