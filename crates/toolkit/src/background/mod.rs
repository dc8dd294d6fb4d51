//! Background calls: calls that continue after their caller stopped waiting.
//!
//! Many clients give up after a minute, whatever progress they receive. A call that takes longer
//! than its caller waits is stored like a suspended one and continues. The caller gets an id, and
//! fetches the answer with it from this process or another. The worker owns the call through a
//! lease, which it renews. If the lease expires, the next request for the answer runs the call
//! again from its start, or reports it as lost if its effects are outside this server.

pub(crate) mod caller_presence;
mod handle;
mod lease;
mod running;
pub(crate) mod status;

use std::{sync::Arc, time::Duration};

use deliberate_core::{Change, SuspendedCall, SuspensionId, Timestamp};
use serde::{Deserialize as _, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) use handle::{CallHandle, CallStage, ResumeState, StoredCall};
pub(crate) use lease::lease_expiry;
pub(crate) use running::{BackgroundCalls, RunningGuard, StatusText};

use crate::{
    CallOutcome, CallerContext, ForegroundWait, RESUME_TOOL, Registry, ToolError, UpstreamError,
};
use running::RunningBackgroundCall;

/// How long to wait before trying again to move a call to the background.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The state of a call when its caller stops waiting.
#[derive(Debug, Clone, PartialEq)]
pub enum TimedOutcome {
    /// The call has ended or waits for replies.
    Outcome(CallOutcome),
    /// The call continues in the background.
    StillRunning(StillRunning),
}

/// A background call, as its caller is told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StillRunning {
    /// The id that the answer is fetched with.
    pub id: String,
    /// The latest progress message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub doing: String,
    /// The next step for the client, in a sentence.
    pub next: String,
}

impl StillRunning {
    fn new(id: &SuspensionId, doing: String) -> Self {
        Self {
            id: id.to_string(),
            doing,
            next: format!(
                "The call continues in the background. Call {RESUME_TOOL} with this id alone to get \
                 its answer."
            ),
        }
    }
}

/// The result of moving a call to the background.
enum BackgroundMove {
    Background(SuspensionId),
    WaitingFor(SuspensionId),
    NotYet,
    Finishing,
}

impl Registry {
    /// Calls a tool like [`Registry::call`], but waits at most `patience` for tools that use a
    /// model. A call that takes longer continues in the background, and [`RESUME_TOOL`] fetches its
    /// answer.
    pub async fn call_with_timeout(
        self: &Arc<Self>,
        name: &str,
        arguments: Value,
        caller: CallerContext,
        patience: Duration,
    ) -> Result<TimedOutcome, ToolError> {
        let Some(wait) = self.foreground_wait(name, &arguments, &caller, patience) else {
            let call = Box::pin(self.call(name, arguments, caller));
            return call.await.map(TimedOutcome::Outcome);
        };
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
        let mut waited_until = Instant::now() + wait.after;
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
            let progress_at = hold.status.updated_at().filter(|_| wait.progress_restarts);
            if let Some(later) = progress_at.map(|at| at + wait.after)
                && later > waited_until
            {
                waited_until = later;
                continue;
            }
            // The call runs on meanwhile, because it may hold the lock that the move waits for.
            let handed = tokio::select! {
                biased;
                handed = self.move_to_background(&hold) => handed,
                answer = &mut work => return answer.map(TimedOutcome::Outcome),
            };
            match handed {
                BackgroundMove::Background(id) => {
                    let doing = hold.status.get();
                    // The store holds the answer or the error for later requests.
                    tokio::spawn(async move { drop(work.await) });
                    return Ok(TimedOutcome::StillRunning(StillRunning::new(&id, doing)));
                }
                BackgroundMove::WaitingFor(id) => {
                    let doing = self.background_calls.status(&id);
                    return Ok(TimedOutcome::StillRunning(StillRunning::new(&id, doing)));
                }
                BackgroundMove::NotYet => waited_until = Instant::now() + POLL_INTERVAL,
                BackgroundMove::Finishing => return work.await.map(TimedOutcome::Outcome),
            }
        }
    }

    /// Returns how long the caller waits; `None` if the call can't become a background call.
    fn foreground_wait(
        &self,
        name: &str,
        arguments: &Value,
        caller: &CallerContext,
        usual: Duration,
    ) -> Option<ForegroundWait> {
        let reply = caller.input_reply.as_ref();
        let called = self.tools.resolve(name, arguments.clone(), reply).ok()?;
        if !called.entry.may_run_in_background() {
            return None;
        }
        let own = called.entry.foreground_wait(&called.arguments, usual);
        Some(ForegroundWait {
            // A client that gets no progress can't know that the call is alive.
            progress_restarts: own.progress_restarts && caller.progress.is_some(),
            ..own
        })
    }

    /// Stores a running call, so that any process can take it over.
    async fn move_to_background(&self, hold: &CallHandle) -> BackgroundMove {
        let mut stage = hold.stage.lock().await;
        match &mut *stage {
            CallStage::Preparing => BackgroundMove::NotYet,
            CallStage::Finishing { .. } => BackgroundMove::Finishing,
            CallStage::WaitingFor(id) => BackgroundMove::WaitingFor(id.clone()),
            CallStage::Background { stored: kept, .. } => {
                BackgroundMove::Background(kept.id.clone())
            }
            CallStage::Running(work)
                if !self.background_calls.has_room_for(work.owner.as_ref()) =>
            {
                BackgroundMove::NotYet
            }
            CallStage::Running(work) => {
                let until = lease_expiry(self.deps.clock.now());
                let suspension = self.to_suspended_call(work, until);
                let kept = StoredCall::from_suspended(&suspension);
                let change = Change::Suspend(suspension);
                if let Err(error) = self.deps.store.commit(vec![change]).await {
                    tracing::warn!(%error, "a long call can't be stored as a background call; its caller has to wait");
                    return BackgroundMove::NotYet;
                }
                let handed = BackgroundMove::Background(kept.id.clone());
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
        self.tools.to_stored_call(SuspendedCall {
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
        })
    }

    /// Waits until all background calls of this process have ended.
    pub async fn wait_background_calls(&self) {
        self.background_calls.wait_for_all().await;
    }
}

/// Encodes an error for the store.
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

/// Decodes a stored error.
pub(crate) fn decode_failure(outcome: &Value) -> ToolError {
    let far = outcome.get("far").map(UpstreamError::deserialize);
    if let Some(Ok(far)) = far {
        return ToolError::Upstream(Box::new(far));
    }
    let text = |key: &str| outcome.get(key).and_then(Value::as_str).map(str::to_owned);
    match (text("code"), text("message")) {
        (Some(code), Some(message)) => ToolError::from_code_text(&code, message, text("hint")),
        _ => ToolError::Internal,
    }
}
