//! The dispatcher: [`Registry::call`] is the one way that a call is run.

pub(crate) mod call_outcome;
pub(crate) mod call_permits;
pub(crate) mod compact_prompts;
pub(crate) mod heartbeat;
pub(crate) mod invocation_log;
pub(crate) mod shutdown;
pub(crate) mod steps;
pub(crate) mod suspend;

use std::{panic::AssertUnwindSafe, time::Duration};

use deliberate_core::{Change, ModelUsage, SessionId, SuspendedCall, SuspensionId};
use deliberate_llm::ModelError;
use deliberate_store::StoreError;
use futures::FutureExt;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use tracing::{Instrument as _, Span, field::Empty};

use super::{
    background::{self, CallHandle, StoredCall},
    external_tools::{ResolvedCall, upstream_failure},
    tool_context::{Journal, usage::UsageTally},
};
use crate::{
    CALL_SPAN, CallEvent, CallOutcome, CallerContext, ErrorCode, Principal, Registry,
    ResourceChange, ToolContext, ToolError, ToolOutput, TraceContext, compute,
    registry::{RegisteredTool, ToolAction},
    tool::{AnyTool, StepOutput},
};
use heartbeat::send_waiting_heartbeats;
use invocation_log::CallStart;
use suspend::Resumption;

/// A tool to run, with its arguments and, if it was suspended, the replies.
pub(crate) struct ToolRun<'a> {
    pub(crate) entry: &'a RegisteredTool,
    pub(crate) tool: &'a dyn AnyTool,
    pub(crate) arguments: Value,
    pub(crate) journal: Option<Journal>,
    pub(crate) suspended: Option<Box<SuspendedCall>>,
    /// The client's arguments, if the call has reached a further step.
    pub(crate) called_with: Option<Value>,
}

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
        let hold = CallHandle::new(caller.cancellation.clone());
        self.call_with_handle(name, arguments, caller, &hold).await
    }

    /// Does the same, with the `hold` that lets the call become a background call.
    pub(crate) async fn call_with_handle(
        &self,
        name: &str,
        arguments: Value,
        caller: CallerContext,
        hold: &CallHandle,
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
        self.call_resolved(called, caller, hold)
            .instrument(span)
            .await
    }

    async fn call_resolved(
        &self,
        called: ResolvedCall<'_>,
        caller: CallerContext,
        hold: &CallHandle,
    ) -> Result<CallOutcome, ToolError> {
        let entry = called.entry;
        let mut begun = self.start_call(entry.meta.name, &called.arguments, &caller.principal);
        let limit = self.time_limit(entry, &called.arguments, begun.instant);
        let target = self.tools.call_target(entry.meta.name, &called.arguments);
        let prepared = self.run_guarded(entry, limit, async {
            called.check_allowed(&begun.principal)?;
            self.prepare(entry, called.arguments, &begun.principal, hold)
                .await
        });
        let prepared = tokio::select! {
            biased;
            error = self.cancelled_or_stopping(&caller.cancellation) => Err(error),
            prepared = prepared => prepared,
            () = send_waiting_heartbeats(&caller) => Err(ToolError::Internal),
        };
        match prepared {
            Ok(PreparedCall::Run(run, references)) => {
                begun.set_references(references);
                self.run(*run, begun, caller, hold).await
            }
            Ok(PreparedCall::Ended(answer)) => {
                begun.end(None, &ModelUsage::default());
                Ok(answer)
            }
            Err(error) => {
                if let Some(target) = target {
                    let elapsed = begun.instant.elapsed();
                    target.audit_refusal(&begun.principal, entry.meta.name, elapsed, &error);
                }
                self.record_failure(begun, &error, UsageTally::default(), None)
                    .await;
                Err(error)
            }
        }
    }

    /// Resolves the tool and the arguments of the call.
    async fn prepare<'a>(
        &'a self,
        entry: &'a RegisteredTool,
        arguments: Value,
        principal: &Principal,
        hold: &CallHandle,
    ) -> Result<PreparedCall<'a>, ToolError> {
        let store = self.deps.store.as_ref();
        let checked = entry.check(arguments)?;
        let resolve = self
            .tools
            .resolve_references(entry.meta.name, checked.clone(), store);
        let arguments = resolve.await?;
        match &entry.action {
            ToolAction::Run(tool) => {
                let references = changed_fields(&checked, &arguments);
                let run = ToolRun {
                    entry,
                    tool: tool.as_ref(),
                    arguments,
                    journal: None,
                    suspended: None,
                    called_with: None,
                };
                Ok(PreparedCall::Run(Box::new(run), references))
            }
            ToolAction::Resume => match self.prepare_resume(arguments, principal, hold).await? {
                Resumption::Ended(output) => Ok(PreparedCall::Ended(CallOutcome::Done(output))),
                Resumption::Continue { suspended, journal } => {
                    // The principal's scope was checked when the suspended call was found.
                    let entry = self.registered_tool(&suspended.tool_name)?;
                    let ToolAction::Run(tool) = &entry.action else {
                        return Err(ToolError::Internal);
                    };
                    let called_with = suspended.journal.get("called_with").cloned();
                    let run = ToolRun {
                        entry,
                        tool: tool.as_ref(),
                        arguments: suspended.arguments.clone(),
                        journal,
                        suspended: Some(suspended),
                        called_with,
                    };
                    Ok(PreparedCall::Run(Box::new(run), Map::new()))
                }
            },
        }
    }

    /// Returns the time limit of a call that started then.
    pub(crate) fn time_limit(
        &self,
        entry: &RegisteredTool,
        arguments: &Value,
        begun: Instant,
    ) -> TimeLimit {
        let time = entry.time_limit(arguments, self.deps.limits.call_time);
        TimeLimit {
            time,
            deadline: begun + time,
        }
    }

    /// Runs `work` within its time limit. A panic becomes an error of this call alone.
    pub(crate) async fn run_guarded<T>(
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
    pub(crate) async fn run_with_permit(
        &self,
        run: &ToolRun<'_>,
        call: &ToolContext,
    ) -> Result<StepOutput, ToolError> {
        let is_read = run.entry.is_local_read(&run.arguments);
        let permits = self.permits.acquire(run.entry, is_read, call.principal());
        let tool = run.entry.meta.name;
        let _permits = permits.await.inspect_err(|error| {
            if let Some(target) = self.tools.call_target(tool, &run.arguments) {
                target.audit_refusal(call.principal(), tool, Duration::ZERO, error);
            }
        })?;
        compute::with_call_limits(call, run.tool.run(run.arguments.clone(), call)).await
    }

    /// Commits the result of the run and returns the answer. `kept` is the stored record of a
    /// background call.
    pub(crate) async fn finish(
        &self,
        run: &ToolRun<'_>,
        start: &CallStart,
        call: &ToolContext,
        stored_call: Option<StoredCall>,
        outcome: Result<ToolOutput<Value>, ToolError>,
    ) -> Result<CallOutcome, CallFailure> {
        let bill = call.usage();
        let handed_over = stored_call.as_ref().map(|kept| kept.id.clone());
        let failed = |error| CallFailure {
            error,
            background_id: handed_over.clone(),
            is_retryable: false,
        };
        let earlier =
            stored_call.or_else(|| run.suspended.as_deref().map(StoredCall::from_suspended));
        let (answer, session, mut changes) = match outcome {
            Ok(mut outcome) => {
                if run.entry.meta.asks_model {
                    bill.add_model(&mut outcome.output);
                    bill.add_cut_note(&mut outcome.output);
                }
                let mut changes = outcome.changes;
                changes.extend(earlier.as_ref().map(|kept| {
                    let output = outcome.output.clone();
                    Change::EndSuspension {
                        id: kept.id.clone(),
                        outcome: self.tools.to_stored_outcome(output),
                        failed: false,
                    }
                }));
                (CallOutcome::Done(outcome.output), outcome.session, changes)
            }
            Err(ToolError::Model(ModelError::Pending)) => {
                let owner = start.principal.owner();
                let (needs, suspension) = self
                    .suspend(run, earlier.clone(), owner, call)
                    .map_err(failed)?;
                let changes = suspension.map(Change::Suspend);
                (
                    CallOutcome::NeedsReply(needs),
                    None,
                    changes.into_iter().collect(),
                )
            }
            Err(error) => return Err(failed(error)),
        };
        let output = match &answer {
            CallOutcome::Done(output) => output.clone(),
            CallOutcome::NeedsReply(needs) => json!({ "needs_reply": { "id": needs.id } }),
        };
        let code = upstream_failure(&output).map(ErrorCode::as_str);
        let touched = self.resource_changes(&changes, session.as_ref());
        let known = call.sessions_known_after(session.as_ref(), &changes).await;
        let record = self.record(start, bill.clone(), session, Ok(output));
        if changes.is_empty() {
            self.log.enqueue(&self.deps.store, record);
            start.end(code, &bill.usage);
            call.remember_sessions(&answer, known);
            return Ok(answer);
        }
        // A deletion removes the texts of the records that it finds, also those of its own call.
        let is_deletion =
            |change: &Change| matches!(change, Change::DeleteSession(_) | Change::DeleteRun(_));
        let position = changes.iter().position(is_deletion);
        let position = position.unwrap_or(changes.len());
        changes.insert(position, Change::AddInvocation(record));
        match (self.deps.store.commit(changes).await, earlier) {
            (Ok(()), _) => {
                if !touched.is_empty() {
                    self.listeners.emit(CallEvent::ResourcesChanged(&touched));
                }
                start.end(code, &bill.usage);
                call.remember_sessions(&answer, known);
                Ok(answer)
            }
            // Another worker ended the same call first, and its answer counts.
            (Err(StoreError::AlreadyEnded), Some(earlier)) => {
                start.end(None, &bill.usage);
                self.stored_outcome(&earlier.id).await.map_err(failed)
            }
            (Err(StoreError::Conflict { reason }), None) => Err(CallFailure {
                error: StoreError::Conflict { reason }.into(),
                background_id: handed_over,
                is_retryable: true,
            }),
            (Err(error), _) => Err(failed(error.into())),
        }
    }

    pub(crate) async fn stored_outcome(&self, id: &SuspensionId) -> Result<CallOutcome, ToolError> {
        let suspension = self.deps.store.suspended_call(id).await?;
        let suspension = suspension.map(|call| self.tools.restore_stored_call(call));
        match suspension.map(|it| (it.outcome, it.failed)) {
            Some((Some(outcome), false)) => Ok(CallOutcome::Done(outcome)),
            Some((Some(outcome), true)) => Err(background::decode_failure(&outcome)),
            _ => Err(ToolError::Cancelled),
        }
    }

    /// Returns the resources that these changes affect, each once.
    pub(crate) fn resource_changes(
        &self,
        changes: &[Change],
        session: Option<&SessionId>,
    ) -> Vec<ResourceChange> {
        let mut touched = Vec::new();
        for family in self.resources() {
            for change in changes {
                for one in family.changes_for(change, session) {
                    if !touched.contains(&one) {
                        touched.push(one);
                    }
                }
            }
        }
        touched
    }
}

/// The time limit of a call and the resulting deadline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeLimit {
    pub(crate) time: Duration,
    pub(crate) deadline: Instant,
}

/// The failure of a run.
pub(crate) struct CallFailure {
    pub(crate) error: ToolError,
    /// The id of the background call, if it is one.
    pub(crate) background_id: Option<SuspensionId>,
    /// Whether a conflicting commit was the cause and nothing of the run is stored.
    pub(crate) is_retryable: bool,
}

impl CallFailure {
    /// Creates the failure of a run that conflicts with another call's commit.
    pub(crate) fn conflict() -> Self {
        let reason = "another call changed the same data meanwhile".to_owned();
        Self {
            error: StoreError::Conflict { reason }.into(),
            background_id: None,
            is_retryable: true,
        }
    }
}

enum PreparedCall<'a> {
    /// The run, and the arguments in which short references were replaced.
    Run(Box<ToolRun<'a>>, Map<String, Value>),
    /// A suspended or background call that had already ended; its answer is returned again.
    Ended(CallOutcome),
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
