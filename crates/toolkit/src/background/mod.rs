//! Calls that run on after their caller stopped waiting.
//!
//! A caller waits so long and no longer: many clients give up after a minute, whatever they are
//! told meanwhile. A call that takes longer is kept in the store like a suspended one, runs on, and
//! is told to its caller by an id under which the answer can be had, from this process or another.
//! Whoever runs it says so again and again; if that ends, the call is run again from its start by
//! the next who asks for it, or told as lost if its work was outside.

pub(crate) mod caller_presence;
mod handle;
mod running;
pub(crate) mod status;

use std::{sync::Arc, time::Duration};

use deliberate_core::{Change, SuspendedCall, SuspensionId, Timestamp};
use deliberate_store::StoreError;
use serde::{Deserialize as _, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) use handle::{CallHandle, CallStage, ResumeState, StoredCall};
pub(crate) use running::{BackgroundCalls, RunningGuard, StatusText};

use crate::{CallOutcome, CallerContext, RESUME_TOOL, Registry, ToolError, UpstreamError};
use running::RunningBackgroundCall;

/// How long it is believed that a call runs, after someone said so.
const LEASE: Duration = Duration::from_secs(20);

/// How often that is said.
const LEASE_RENEWAL: Duration = Duration::from_secs(5);

/// How long to wait until a call that could not be handed over may be.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// How a call stands when its caller has waited long enough.
#[derive(Debug, Clone, PartialEq)]
pub enum TimedOutcome {
    /// It is over, or waits for replies.
    Outcome(CallOutcome),
    /// It runs on.
    StillRunning(StillRunning),
}

/// A call that runs on without its caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StillRunning {
    /// Names the call; its answer is had with it.
    pub id: String,
    /// What it was doing last.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub doing: String,
    /// What to do, in a sentence.
    pub next: String,
}

impl StillRunning {
    fn new(id: &SuspensionId, doing: String) -> Self {
        Self {
            id: id.to_string(),
            doing,
            next: format!(
                "The call takes longer and runs on. Call {RESUME_TOOL} with this id alone to have its \
                 answer."
            ),
        }
    }
}

/// What came of handing a call over.
enum HandOver {
    Background(SuspensionId),
    WaitingFor(SuspensionId),
    NotYet,
    Finishing,
}

impl Registry {
    /// Calls a tool like [`Registry::call`], but waits no longer than `patience` for tools that
    /// think: a call that takes longer runs on, and its answer is had by calling [`RESUME_TOOL`].
    pub async fn call_with_timeout(
        self: &Arc<Self>,
        name: &str,
        arguments: Value,
        caller: CallerContext,
        patience: Duration,
    ) -> Result<TimedOutcome, ToolError> {
        if !self.may_run_in_background(name, &caller) {
            let call = Box::pin(self.call(name, arguments, caller));
            return call.await.map(TimedOutcome::Outcome);
        }
        let stop = CancellationToken::new();
        let hold = Arc::new(CallHandle {
            may_move_to_background: true,
            ..CallHandle::new(stop.clone())
        });
        let cancelled = caller.cancellation.clone();
        let mut work = Box::pin({
            let (registry, hold, name) = (self.clone(), hold.clone(), name.to_owned());
            let caller = CallerContext {
                cancellation: stop.clone(),
                ..caller
            };
            async move {
                registry
                    .call_with_handle(&name, arguments, caller, &hold)
                    .await
            }
        });
        let mut waited_until = Instant::now() + patience;
        loop {
            tokio::select! {
                biased;
                answer = &mut work => return answer.map(TimedOutcome::Outcome),
                () = cancelled.cancelled() => {
                    stop.cancel();
                    return work.await.map(TimedOutcome::Outcome);
                }
                () = tokio::time::sleep_until(waited_until) => {}
            }
            // The call goes on meanwhile: it may hold what handing over waits for.
            let handed = tokio::select! {
                biased;
                handed = self.move_to_background(&hold) => handed,
                answer = &mut work => return answer.map(TimedOutcome::Outcome),
            };
            match handed {
                HandOver::Background(id) => {
                    let doing = hold.status.get();
                    // Whoever asks for the answer finds it in the store, or the failure.
                    tokio::spawn(async move { drop(work.await) });
                    return Ok(TimedOutcome::StillRunning(StillRunning::new(&id, doing)));
                }
                HandOver::WaitingFor(id) => {
                    let doing = self.background_calls.status(&id);
                    return Ok(TimedOutcome::StillRunning(StillRunning::new(&id, doing)));
                }
                HandOver::NotYet => waited_until = Instant::now() + POLL_INTERVAL,
                HandOver::Finishing => return work.await.map(TimedOutcome::Outcome),
            }
        }
    }

    /// Whether a caller may stop waiting for what is called by that name.
    fn may_run_in_background(&self, name: &str, caller: &CallerContext) -> bool {
        let called = self
            .tools
            .resolve(name, json!({}), caller.input_reply.as_ref());
        called.is_ok_and(|called| called.entry.may_run_in_background())
    }

    /// Keeps a running call in the store, so that it can be picked up.
    async fn move_to_background(&self, hold: &CallHandle) -> HandOver {
        let mut stage = hold.stage.lock().await;
        match &mut *stage {
            CallStage::Preparing => HandOver::NotYet,
            CallStage::Finishing { .. } => HandOver::Finishing,
            CallStage::WaitingFor(id) => HandOver::WaitingFor(id.clone()),
            CallStage::Background { stored: kept, .. } => HandOver::Background(kept.id.clone()),
            CallStage::Running(work)
                if !self.background_calls.has_room_for(work.owner.as_ref()) =>
            {
                HandOver::NotYet
            }
            CallStage::Running(work) => {
                let until = lease_expiry(self.deps.clock.now());
                let suspension = self.to_suspended_call(work, until);
                let kept = StoredCall::from_suspended(&suspension);
                let change = Change::Suspend(suspension);
                if let Err(error) = self.deps.store.commit(vec![change]).await {
                    tracing::warn!(%error, "a long call can't be kept; its caller has to wait");
                    return HandOver::NotYet;
                }
                let handed = HandOver::Background(kept.id.clone());
                let here = self.register_running(&kept.id, work.owner.clone(), hold);
                *stage = CallStage::Background {
                    stored: kept,
                    lease_expiry: until,
                    guard: here,
                };
                handed
            }
        }
    }

    pub(crate) fn register_running(
        &self,
        id: &SuspensionId,
        owner: Option<String>,
        hold: &CallHandle,
    ) -> Option<RunningGuard> {
        self.background_calls
            .register(id, |over| RunningBackgroundCall {
                owner,
                stop: hold.stop.clone(),
                finished: over,
                status: hold.status.clone(),
            })
    }

    fn to_suspended_call(&self, work: &ResumeState, until: Timestamp) -> SuspendedCall {
        let fresh = || SuspensionId::from(self.deps.ids.new_id());
        SuspendedCall {
            id: work.suspended_id.clone().unwrap_or_else(fresh),
            tool_name: work.tool.to_owned(),
            arguments: work.arguments.clone(),
            journal: work.journal.clone(),
            asks: json!([]),
            created_at: work.started_at,
            expires_at: self.suspension_expiry(self.deps.clock.now()),
            owner: work.owner.clone(),
            running_until: Some(until),
            outcome: None,
            failed: false,
        }
    }

    /// Says again and again that a call which was handed over runs. Ends if it is another's by now:
    /// someone else has ended it or taken it over.
    pub(crate) async fn renew_lease(&self, hold: &CallHandle) -> SuspensionId {
        loop {
            tokio::time::sleep(LEASE_RENEWAL).await;
            let mut stage = hold.stage.lock().await;
            let CallStage::Background {
                stored: kept,
                lease_expiry: until,
                ..
            } = &mut *stage
            else {
                continue;
            };
            let next = lease_expiry(self.deps.clock.now());
            let change = Change::RunOn {
                id: kept.id.clone(),
                seen: Some(*until),
                until: next,
            };
            match self.deps.store.commit(vec![change]).await {
                Ok(()) => *until = next,
                Err(StoreError::AlreadyEnded) => return kept.id.clone(),
                Err(error) => tracing::warn!(%error, "a long call can't be kept up"),
            }
        }
    }

    /// Takes over a call that nobody runs any more; false if someone else was first.
    pub(crate) async fn take_over(
        &self,
        abandoned: &SuspendedCall,
        hold: &CallHandle,
    ) -> Result<bool, ToolError> {
        let until = lease_expiry(self.deps.clock.now());
        let change = Change::RunOn {
            id: abandoned.id.clone(),
            seen: abandoned.running_until,
            until,
        };
        match self.deps.store.commit(vec![change]).await {
            Ok(()) => {
                let owner = abandoned.owner.clone();
                *hold.stage.lock().await = CallStage::Background {
                    stored: StoredCall::from_suspended(abandoned),
                    lease_expiry: until,
                    guard: self.register_running(&abandoned.id, owner, hold),
                };
                Ok(true)
            }
            Err(StoreError::AlreadyEnded) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the calls that run on are over.
    pub async fn wait_background_calls(&self) {
        self.background_calls.wait_for_all().await;
    }
}

pub(crate) fn lease_expiry(now: Timestamp) -> Timestamp {
    now.plus_micros(i64::try_from(LEASE.as_micros()).unwrap_or(i64::MAX))
}

/// What is kept of a failure, to be told again.
pub(crate) fn encode_failure(error: &ToolError) -> Value {
    if let ToolError::Upstream(far) = error {
        return json!({ "far": far });
    }
    json!({
        "code": error.code(),
        "message": error.to_string(),
        "hint": error.hint(),
    })
}

/// A failure that was kept.
pub(crate) fn decode_failure(outcome: &Value) -> ToolError {
    let far = outcome.get("far").map(UpstreamError::deserialize);
    if let Some(Ok(far)) = far {
        return ToolError::Upstream(Box::new(far));
    }
    let text = |key: &str| outcome.get(key).and_then(Value::as_str).map(str::to_owned);
    match (text("code"), text("message")) {
        (Some(code), Some(message)) => ToolError::Custom {
            code,
            message,
            hint: text("hint"),
        },
        _ => ToolError::Internal,
    }
}
