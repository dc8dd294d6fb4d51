//! One call as a state machine: its state, and the loop that runs it step by step.
//!
//! A tool that has more to do is run again with the arguments that it returned for its next step,
//! after the changes of the current step are committed. So long work is durable step by step: after a
//! crash of the process, the committed steps are there, and the next worker continues from them. Most
//! calls have one step. A step whose commit conflicts with another call's is run again if it sent no
//! model request.

use std::{pin::pin, time::Duration};

use deliberate_core::{SuspendedCall, SuspensionId};
use deliberate_store::StoreError;
use serde_json::Value;
use tokio::time::{Interval, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::{
    background::{BackgroundMove, CallHandle},
    commit::StepFailure,
    context::{CallEnv, Journal, budget::BudgetUse, progress},
    dispatch::TimeLimit,
    invocation_log::CallStart,
    running_calls::RunningGuard,
};
use crate::{
    CallOutcome, CallerContext, ErrorCode, Principal, RESUME_TOOL, Registry, ToolContext,
    ToolError,
    external_tools::ResolvedCall,
    registry::RegisteredTool,
    tool::{AnyTool, StepOutput},
};

/// How often a step is run again after conflicts. Each conflict means that another call made
/// progress, so the limit is reached only under extreme contention.
const MAX_CONFLICT_RETRIES: u32 = 50;

/// The state of a call. `Suspended` and `Background` are rows in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallState {
    /// It is being authorized and validated, or waits for another worker's answer.
    Queued,
    /// It waits for a permit, runs, or is being committed, and its caller waits.
    Running,
    /// It does the same under a lease, and its answer is stored.
    Background,
    /// It waits for replies of its client's model.
    Suspended,
    /// It has ended, and its changes are committed.
    Done,
    /// It has ended with an error, and nothing of its last step is committed.
    Failed,
}

/// One call from its arrival to its end.
pub(super) struct CallTask<'a> {
    pub(super) registry: &'a Registry,
    /// Connects it with the caller that waits for it.
    pub(super) handle: &'a CallHandle,
    /// What the invocation log has of it.
    pub(super) start: CallStart,
    pub(super) entry: &'a RegisteredTool,
    pub(super) state: CallState,
    /// The arguments of the current step.
    pub(super) arguments: Value,
    /// The client's arguments, if the call has reached a further step.
    pub(super) called_with: Option<Value>,
    /// The replies with which the current step was resumed; `None` if it asks the model at hand.
    pub(super) journal: Option<Journal>,
    /// What the tool keeps from the committed steps.
    pub(super) notes: Option<Value>,
    /// What the committed steps have used.
    pub(super) used: BudgetUse,
    /// The stored row as this task has last read or written it.
    pub(super) row: Option<Box<SuspendedCall>>,
    /// Lists a background call in this process.
    pub(super) registration: Option<RunningGuard>,
    pub(super) limit: TimeLimit,
    /// When the lease is renewed. All steps share the timer, because they may be short.
    pub(super) renewal: Interval,
    /// The number of model requests before the current step.
    pub(super) requests_before: i64,
    /// How often the current step was run again.
    pub(super) retries: u32,
    /// The work of the committed steps, in words.
    pub(super) partial_summary: Option<String>,
}

/// The failure of a run.
pub(super) struct CallFailure {
    pub(super) error: ToolError,
    /// Whether a conflicting commit was the cause and nothing of the run is stored.
    pub(super) is_retryable: bool,
}

impl CallFailure {
    pub(super) fn new(error: impl Into<ToolError>) -> Self {
        Self {
            error: error.into(),
            is_retryable: false,
        }
    }

    /// Creates the failure of a run that conflicts with another call's commit.
    pub(super) fn conflict(reason: String) -> Self {
        Self {
            error: StoreError::Conflict { reason }.into(),
            is_retryable: true,
        }
    }
}

/// How a run of the tool ended.
enum RunEnd {
    /// With an output or an error.
    Output(Box<Result<StepOutput, ToolError>>),
    /// The server shuts down.
    Stopped,
    /// Another worker has the call.
    LeaseLost,
}

impl RunEnd {
    fn error(error: ToolError) -> Self {
        Self::Output(Box::new(Err(error)))
    }
}

impl<'a> CallTask<'a> {
    pub(super) fn new(
        registry: &'a Registry,
        called: &ResolvedCall<'a>,
        principal: &Principal,
        handle: &'a CallHandle,
    ) -> Self {
        let entry = called.entry;
        let start = registry.start_call(entry.meta.name, &called.arguments, principal);
        let renewal_time = registry.deps.limits.lease_renewal;
        let mut renewal = tokio::time::interval_at(start.instant + renewal_time, renewal_time);
        renewal.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            limit: registry.time_limit(entry, &called.arguments, start.instant),
            registry,
            handle,
            start,
            entry,
            state: CallState::Queued,
            arguments: Value::Null,
            called_with: None,
            journal: None,
            notes: None,
            used: BudgetUse::default(),
            row: None,
            registration: None,
            renewal,
            requests_before: 0,
            retries: 0,
            partial_summary: None,
        }
    }

    /// Runs the call to its end, or until it is suspended.
    pub(super) async fn run(mut self, caller: CallerContext) -> Result<CallOutcome, ToolError> {
        let Some(tool) = self.entry.tool() else {
            return Err(ToolError::Internal);
        };
        if self.state == CallState::Queued {
            self.state = CallState::Running;
        }
        let mut call = self.first_context(caller).await;
        let mut heartbeats = progress::heartbeat_interval();
        loop {
            let output = match self.run_tool(tool, &call, &mut heartbeats).await {
                RunEnd::Output(output) => *output,
                RunEnd::Stopped => return Err(self.abort_for_shutdown(&call).await),
                RunEnd::LeaseLost => return self.outcome_elsewhere(&call).await,
            };
            let ended = match output {
                Ok(StepOutput {
                    outcome,
                    next: Some(next),
                    partial_summary,
                }) => match self
                    .commit_step(&call, outcome, next, partial_summary)
                    .await
                {
                    Ok(()) => {
                        let deadline = self.limit.deadline;
                        call = call.next_step(deadline, self.notes.clone(), self.used);
                        continue;
                    }
                    Err(StepFailure::TakenOver) => return self.outcome_elsewhere(&call).await,
                    Err(StepFailure::Failed(failure)) => Err(failure),
                },
                Ok(output) => self.finish(&call, Ok(output.outcome)).await,
                Err(error) => self.finish(&call, Err(error)).await,
            };
            let failure = match ended {
                Ok(outcome) => return Ok(outcome),
                Err(failure) => failure,
            };
            if !self.may_retry(&failure, &call) {
                return Err(self.fail(failure.error, &call).await);
            }
            self.retries += 1;
            backoff(self.retries, self.start.number).await;
            // The memo holds data that another call has changed, and no model has seen it.
            if self.journal.is_none() {
                call = call.next_step(self.limit.deadline, self.notes.clone(), self.used);
            }
        }
    }

    /// Creates the context of the step that this task begins with.
    async fn first_context(&self, caller: CallerContext) -> ToolContext {
        if self.state == CallState::Background {
            self.handle.set_disconnected().await;
        }
        let registry = self.registry;
        let env = CallEnv {
            deps: registry.deps.clone(),
            tools: registry.tools.clone(),
            listeners: registry.listeners.clone(),
            number: self.start.number,
            tool: self.start.tool,
            caller,
            progress: self.handle.progress.clone(),
            presence: self.handle.presence.clone(),
            log: registry.log.clone(),
            span_reader: registry.span_reader,
            permits: registry.permits.clone(),
        };
        let (deadline, journal) = (self.limit.deadline, self.journal.clone());
        ToolContext::new(env, deadline, journal, self.notes.clone(), self.used)
    }

    /// Runs the tool once. Meanwhile the client hears that the call lives, the lease is renewed, and
    /// the call moves to the background if its caller stops waiting.
    async fn run_tool(
        &mut self,
        tool: &dyn AnyTool,
        call: &ToolContext,
        heartbeats: &mut Interval,
    ) -> RunEnd {
        let (registry, entry) = (self.registry, self.entry);
        let work = registry.run_with_permit(entry, tool, self.arguments.clone(), call);
        let mut work = pin!(registry.run_guarded(entry, self.limit, work));
        let finished = CancellationToken::new();
        let mut attendance = pin!(self.attend(&finished));
        let end = tokio::select! {
            biased;
            () = call.cancellation().cancelled() => RunEnd::error(ToolError::Cancelled),
            () = registry.shutdown.cancelled() => RunEnd::Stopped,
            output = &mut work => RunEnd::Output(Box::new(output)),
            _ = &mut attendance => return RunEnd::LeaseLost,
            () = progress::send_heartbeats(call, heartbeats) => RunEnd::error(ToolError::Internal),
        };
        // A commit that is under way is waited for, so that the task knows what is stored.
        finished.cancel();
        match attendance.await {
            Ok(()) => end,
            Err(_) => RunEnd::LeaseLost,
        }
    }

    fn may_retry(&self, failure: &CallFailure, call: &ToolContext) -> bool {
        failure.is_retryable
            && self.entry.is_replayable()
            && call.request_count() == self.requests_before
            && self.retries < MAX_CONFLICT_RETRIES
    }

    /// Waits for the outcome of a call that another worker continues.
    pub(super) async fn outcome_elsewhere(
        &mut self,
        call: &ToolContext,
    ) -> Result<CallOutcome, ToolError> {
        let Some(id) = self.row.as_ref().map(|row| row.id.clone()) else {
            return Err(ToolError::Internal);
        };
        // This worker does not run it any more.
        self.registration = None;
        let registry = self.registry;
        let outcome = registry.wait_for_other_worker(&id, self.handle);
        let outcome = tokio::select! {
            error = registry.cancelled_or_stopping(call.cancellation()) => Err(error),
            outcome = registry.run_guarded(self.entry, self.limit, outcome) => {
                if let Err(error) = &outcome
                    && error.code() == ErrorCode::Cancelled.as_str()
                {
                    // Whoever cancelled the call did not run it: this worker knows what it has used.
                    registry
                        .record_failure(&self.start, error, call.usage(), None)
                        .await;
                    return outcome;
                }
                outcome
            }
        };
        let code = outcome.as_ref().err().map(ToolError::code);
        self.start.end(code, &call.usage().usage);
        outcome
    }
}

impl Registry {
    /// Waits for the outcome of a call that another worker continues.
    pub(super) async fn wait_for_other_worker(
        &self,
        id: &SuspensionId,
        handle: &CallHandle,
    ) -> Result<CallOutcome, ToolError> {
        loop {
            match self.deps.store.suspended_call(id).await? {
                Some(row)
                    if row.outcome.is_none()
                        && (self.is_running(&row) || self.background_calls.contains(id)) =>
                {
                    let other = self.background_calls.wait_for(id);
                    let moved = BackgroundMove::WaitingFor(id.clone());
                    handle.answer_while(&moved, other).await;
                }
                Some(row) if row.outcome.is_none() => {
                    return Err(ToolError::Custom {
                        code: ErrorCode::Conflict,
                        message: "another client resumed this call, and it waits for replies again"
                            .to_owned(),
                        hint: Some(format!(
                            "Call {RESUME_TOOL} with its id alone to get its asks."
                        )),
                    });
                }
                _ => return self.stored_outcome(id).await,
            }
        }
    }
}

/// Waits for a short time that differs per call, so that competing calls do not conflict again.
async fn backoff(times: u32, number: u64) {
    let longest = u64::from(times.min(10)) * 4;
    let own = number.wrapping_mul(7).wrapping_add(u64::from(times) * 3) % longest.max(1);
    tokio::time::sleep(Duration::from_millis(own)).await;
}
