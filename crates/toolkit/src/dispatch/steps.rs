//! The steps of a long call: a tool that has more to do is run again with the arguments that it
//! returned for its next step, after the changes of the current step are committed.
//!
//! Long work is durable step by step: after a crash of the process, the committed steps are there,
//! and the next worker continues from them. Most calls have one step. A step whose commit conflicts
//! with another call's is run again if it sent no model request.

use std::time::Duration;

use deliberate_core::{Change, SuspendedCall, SuspensionId, Timestamp};
use deliberate_store::StoreError;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    CallFailure, TimeLimit, ToolRun,
    heartbeat::{heartbeat_interval, send_heartbeats},
    invocation_log::CallStart,
};
use crate::{
    CallEvent, CallOutcome, CallerContext, ErrorCode, RESUME_TOOL, Registry, ToolContext,
    ToolError, ToolOutput,
    background::{self, CallHandle, CallStage, ResumeState, StoredCall, lease_expiry},
    tool::StepOutput,
    tool_context::{CallEnv, Journal},
};

/// How often a step is run again after conflicts. Each conflict means that another call made
/// progress, so the limit is reached only under extreme contention.
const MAX_CONFLICT_RETRIES: u32 = 50;

/// The result of a step.
enum StepResult {
    /// Committed; the call continues with these arguments. The text describes the work done so far.
    Next(Value, Option<String>),
    /// The last step ended.
    Done(Result<ToolOutput<Value>, ToolError>),
    /// Stopped because the server shuts down.
    Stopped,
    /// Another call committed a conflicting change; nothing was stored.
    Conflict,
    /// Another worker continues the call of that id; nothing was stored.
    TakenOver(SuspensionId),
}

/// The state of the running step.
struct StepContext {
    limit: TimeLimit,
    /// The number of model requests before the step.
    requests_before: i64,
    /// Whether the step was resumed with replies.
    resumed: bool,
    /// The number of retries after conflicts.
    retries: u32,
    /// The work of the previous steps, in words.
    partial_summary: Option<String>,
}

impl StepContext {
    fn may_retry(&self, ending: &CallFailure, call: &ToolContext) -> bool {
        ending.is_retryable
            && call.request_count() == self.requests_before
            && self.retries < MAX_CONFLICT_RETRIES
    }
}

impl Registry {
    /// Runs a call step by step.
    pub(crate) async fn run(
        &self,
        mut run: ToolRun<'_>,
        start: CallStart,
        caller: CallerContext,
        hold: &CallHandle,
    ) -> Result<CallOutcome, ToolError> {
        let journal = run.journal.take();
        let mut now = StepContext {
            limit: self.time_limit(run.entry, &run.arguments, start.instant),
            requests_before: 0,
            resumed: journal.is_some(),
            retries: 0,
            partial_summary: None,
        };
        set_resume_state(&run, &start, journal.as_ref(), hold).await;
        let mut call = ToolContext::new(
            self.call_env(&start, caller, hold),
            now.limit.deadline,
            journal,
        );
        let mut signs = heartbeat_interval();
        loop {
            let leg = tokio::select! {
                leg = self.run_step(&run, &start, &call, now.limit, hold) => leg,
                () = send_heartbeats(&call, &mut signs) => return Err(ToolError::Internal),
                // Another worker has the lease now, and its answer counts.
                id = self.renew_lease(hold) => return self.stored_outcome(&id).await,
            };
            let ending = match leg {
                StepResult::Next(arguments, so_far) => {
                    now = self.next_step(&mut run, &call, arguments, so_far);
                    call = call.next_step(now.limit.deadline);
                    continue;
                }
                StepResult::TakenOver(id) => {
                    let answer = self.wait_for_other_worker(&id, hold);
                    return tokio::select! {
                        error = self.cancelled_or_stopping(call.cancellation()) => Err(error),
                        answer = self.run_guarded(run.entry, now.limit, answer) => answer,
                    };
                }
                StepResult::Stopped => {
                    let kept = (hold, now.partial_summary);
                    return Err(self.abort_for_shutdown(&run, start, &call, kept).await);
                }
                StepResult::Conflict => CallFailure::conflict(),
                StepResult::Done(outcome) => {
                    let kept = hold.set_finishing().await;
                    match self.finish(&run, &start, &call, kept, outcome).await {
                        Ok(answer) => return Ok(answer),
                        Err(ending) => ending,
                    }
                }
            };
            if run.entry.is_replayable() && now.may_retry(&ending, &call) {
                now.retries += 1;
                backoff(now.retries, start.number).await;
                // The memo holds data that another call has changed, and no model has seen it.
                if !now.resumed {
                    call = call.next_step(now.limit.deadline);
                    set_resume_state(&run, &start, None, hold).await;
                }
                continue;
            }
            let ending = CallFailure {
                error: with_partial_summary(ending.error, now.partial_summary),
                ..ending
            };
            return Err(self.finish_failed(start, ending, &call, hold).await);
        }
    }

    /// Prepares the next step with these arguments.
    fn next_step(
        &self,
        run: &mut ToolRun<'_>,
        call: &ToolContext,
        arguments: Value,
        so_far: Option<String>,
    ) -> StepContext {
        let before = std::mem::replace(&mut run.arguments, arguments);
        run.called_with.get_or_insert(before);
        clear_replies(run);
        StepContext {
            limit: self.time_limit(run.entry, &run.arguments, Instant::now()),
            requests_before: call.request_count(),
            resumed: false,
            retries: 0,
            partial_summary: so_far,
        }
    }

    /// Ends a call that failed, and its stored record if there is one.
    async fn finish_failed(
        &self,
        start: CallStart,
        ending: CallFailure,
        call: &ToolContext,
        hold: &CallHandle,
    ) -> ToolError {
        let kept = hold.set_finishing().await.map(|kept| kept.id);
        let handed_over = ending.background_id.or(kept);
        let over = handed_over.map(|id| Change::EndSuspension {
            id,
            outcome: background::encode_failure(&ending.error),
            failed: true,
        });
        self.record_failure(start, &ending.error, call.usage(), over)
            .await;
        ending.error
    }

    fn call_env(&self, start: &CallStart, caller: CallerContext, hold: &CallHandle) -> CallEnv {
        CallEnv {
            deps: self.deps.clone(),
            tools: self.tools.clone(),
            listeners: self.listeners.clone(),
            number: start.number,
            tool: start.tool,
            caller,
            status: hold.status.clone(),
            stage: hold.stage.clone(),
            log: self.log.clone(),
            span_reader: self.span_reader,
            permits: self.permits.clone(),
        }
    }

    async fn run_step(
        &self,
        run: &ToolRun<'_>,
        start: &CallStart,
        call: &ToolContext,
        limit: TimeLimit,
        hold: &CallHandle,
    ) -> StepResult {
        let ran = tokio::select! {
            biased;
            () = call.cancellation().cancelled() => Err(ToolError::Cancelled),
            () = self.shutdown.cancelled() => return StepResult::Stopped,
            ran = self.run_guarded(run.entry, limit, self.run_with_permit(run, call)) => ran,
        };
        match ran {
            Ok(StepOutput {
                outcome,
                next: Some(next),
                partial_summary: so_far,
            }) => {
                let next = (next, so_far);
                self.commit_step(run, start, outcome, next, hold).await
            }
            Ok(ran) => StepResult::Done(Ok(ran.outcome)),
            Err(error) => StepResult::Done(Err(error)),
        }
    }

    /// Commits the changes of a step. From then on, a worker that takes the call over continues
    /// with the next step.
    async fn commit_step(
        &self,
        run: &ToolRun<'_>,
        start: &CallStart,
        outcome: ToolOutput<Value>,
        (next, so_far): (Value, Option<String>),
        hold: &CallHandle,
    ) -> StepResult {
        let next = match run.entry.check_next(next) {
            Ok(next) => next,
            Err(error) => return StepResult::Done(Err(error)),
        };
        let touched = self.resource_changes(&outcome.changes, outcome.session.as_ref());
        let mut changes = outcome.changes;
        // The lock is held until the commit, because lease renewal writes the same row.
        let mut stage = hold.stage.lock().await;
        let kept = stage.stored_call().or_else(|| {
            let suspended = run.suspended.as_deref()?;
            Some((
                StoredCall::from_suspended(suspended),
                suspended.running_until,
            ))
        });
        let until = lease_expiry(self.deps.clock.now());
        let journal = Journal::for_step(run.called_with.as_ref().or(Some(&run.arguments)));
        if let Some((kept, seen)) = &kept {
            // This comes first, and the commit is rejected if another worker has the lease, so that
            // a step takes effect once.
            changes.insert(
                0,
                Change::RenewLease {
                    id: kept.id.clone(),
                    seen: *seen,
                    until,
                },
            );
            changes.push(Change::Suspend(SuspendedCall {
                id: kept.id.clone(),
                tool_name: run.entry.meta.name.to_owned(),
                arguments: next.clone(),
                journal: json!(journal),
                asks: json!([]),
                created_at: kept.started_at,
                expires_at: self.suspension_expiry(self.deps.clock.now()),
                owner: start.principal.owner(),
                running_until: Some(until),
                outcome: None,
                failed: false,
            }));
        }
        match (self.deps.store.commit(changes).await, kept) {
            (Ok(()), kept) => {
                if let Some((kept, _)) = kept {
                    self.record_lease(&mut stage, kept, until, start.principal.owner(), hold);
                } else if let CallStage::Running(work) = &mut *stage {
                    // This comes before the call can be moved to the background, so that no step is
                    // repeated.
                    work.arguments.clone_from(&next);
                    work.journal = json!(journal);
                }
                if !touched.is_empty() {
                    self.listeners.emit(CallEvent::ResourcesChanged(&touched));
                }
                StepResult::Next(next, so_far)
            }
            (Err(StoreError::AlreadyEnded), Some((kept, _))) => StepResult::TakenOver(kept.id),
            (Err(StoreError::Conflict { .. }), _) => StepResult::Conflict,
            (Err(error), _) => StepResult::Done(Err(error.into())),
        }
    }

    /// Notes the new expiry of the lease in the call's stage.
    fn record_lease(
        &self,
        stage: &mut CallStage,
        mut call: StoredCall,
        now_until: Timestamp,
        owner: Option<String>,
        hold: &CallHandle,
    ) {
        if let CallStage::Background {
            lease_expiry: until,
            ..
        } = stage
        {
            *until = now_until;
            return;
        }
        call.pending = None;
        let here = self.register_running(&call.id, owner, hold);
        *stage = CallStage::Background {
            stored: call,
            lease_expiry: now_until,
            guard: here,
        };
    }

    /// Waits for the answer of a call that another worker continues.
    async fn wait_for_other_worker(
        &self,
        id: &SuspensionId,
        hold: &CallHandle,
    ) -> Result<CallOutcome, ToolError> {
        hold.set_waiting_for(id).await;
        loop {
            let suspension = self.deps.store.suspended_call(id).await?;
            match suspension {
                Some(it)
                    if it.outcome.is_none()
                        && (self.is_running(&it) || self.background_calls.contains(id)) =>
                {
                    self.background_calls.wait_for(id).await;
                }
                Some(it) if it.outcome.is_none() => {
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

/// Adds the work of the committed steps to an error, unless the caller cancelled the call.
pub(crate) fn with_partial_summary(error: ToolError, so_far: Option<String>) -> ToolError {
    let Some(so_far) = so_far.filter(|_| !matches!(error, ToolError::Cancelled)) else {
        return error;
    };
    let hint = error.hint().map(|it| format!("{it} ")).unwrap_or_default();
    let hint = format!("{hint}Completed steps are saved. {so_far}");
    ToolError::from_code_text(error.code(), error.to_string(), Some(hint))
}

/// Updates the data to store if the call becomes a background call.
async fn set_resume_state(
    run: &ToolRun<'_>,
    start: &CallStart,
    journal: Option<&Journal>,
    hold: &CallHandle,
) {
    if !hold.may_move_to_background {
        return;
    }
    let of_leg = || Journal::for_step(run.called_with.as_ref());
    let journal = journal.cloned().unwrap_or_else(of_leg);
    hold.set_running(ResumeState {
        suspended_id: run.suspended.as_ref().map(|it| it.id.clone()),
        tool: run.entry.meta.name,
        arguments: run.arguments.clone(),
        journal: json!(journal),
        started_at: run
            .suspended
            .as_ref()
            .map_or(start.started_at, |it| it.created_at),
        owner: start.principal.owner(),
    })
    .await;
}

/// Removes the replies of a resumed call, which were for the previous step.
fn clear_replies(run: &mut ToolRun<'_>) {
    if let Some(suspended) = run.suspended.as_deref_mut() {
        suspended.arguments.clone_from(&run.arguments);
        suspended.journal = json!(Journal::default());
        suspended.asks = json!([]);
    }
}

/// Waits for a short time that differs per call, so that competing calls do not conflict again.
async fn backoff(times: u32, number: u64) {
    let longest = u64::from(times.min(10)) * 4;
    let own = number.wrapping_mul(7).wrapping_add(u64::from(times) * 3) % longest.max(1);
    tokio::time::sleep(Duration::from_millis(own)).await;
}
