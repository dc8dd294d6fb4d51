//! Background calls: calls that continue after their caller stopped waiting.
//!
//! Many clients give up after a minute, whatever progress they receive. A call that takes longer
//! than its caller waits is stored like a suspended one and continues. The caller gets an id, and
//! fetches the answer with it from this process or another. The worker owns the call through a
//! lease, which it renews. If the lease expires, the next request for the answer runs the call
//! again from its last committed step, or reports it as lost if its effects are outside this server.

use std::{pin::pin, sync::Arc, time::Duration};

use deliberate_core::{Change, SuspendedCall, SuspensionId};
use deliberate_store::StoreError;
use serde::{Deserialize as _, Serialize};
use serde_json::{Value, json};
use tokio::{
    sync::{Mutex as AsyncMutex, Notify, mpsc},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    context::{Journal, caller_presence::Presence, progress::SharedProgress},
    lease::lease_expiry,
    running_calls::POLL_INTERVAL,
    task::{CallState, CallTask},
};
use crate::{
    CallOutcome, CallerContext, ForegroundWait, RESUME_TOOL, Registry, ToolError, UpstreamError,
};

/// The state of a call when its caller stops waiting.
#[derive(Debug, Clone, PartialEq)]
pub enum TimedOutcome {
    /// The call has ended or waits for replies.
    Outcome(CallOutcome),
    /// The call continues in the background.
    StillRunning(StillRunning),
}

/// A background call, as its caller is told of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StillRunning {
    /// The id that the answer is fetched with.
    pub id: String,
    /// The latest progress message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub doing: String,
    /// How much of the work is done, 0 to 1, if the tool knows how much there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    /// The next step for the client, in a sentence.
    pub next: String,
}

/// Connects a call with the caller that waits for it. The task and the caller run concurrently.
#[derive(Default)]
pub(crate) struct CallHandle {
    /// Stops the call.
    pub(super) stop: CancellationToken,
    pub(super) progress: SharedProgress,
    pub(super) presence: Arc<AsyncMutex<Presence>>,
    /// Signaled when the caller stops waiting.
    leaves: Notify,
    /// Answers it. `None` if the caller waits until the call has ended.
    answers: Option<mpsc::Sender<BackgroundMove>>,
}

/// What became of a call whose caller stops waiting.
#[derive(Debug, Clone)]
pub(super) enum BackgroundMove {
    /// It is a background call.
    Moved(SuspensionId),
    /// It waits for a background call.
    WaitingFor(SuspensionId),
    /// It can't be moved now.
    NotYet,
    /// Only this caller can use the answer.
    Pinned,
}

impl CallHandle {
    /// Creates the handle of a call that ends when `stop` is cancelled.
    pub(super) fn new(stop: CancellationToken) -> Self {
        Self {
            stop,
            ..Self::default()
        }
    }

    /// Waits until the caller stops waiting.
    pub(super) async fn caller_left(&self) {
        self.leaves.notified().await;
    }

    /// Tells the caller what became of the call.
    pub(super) fn answer(&self, moved: BackgroundMove) {
        if let Some(answers) = &self.answers {
            // The caller may be gone, and asks once at a time.
            let _ = answers.try_send(moved);
        }
    }

    /// Waits for `work`; a caller that stops waiting meanwhile gets this answer.
    pub(super) async fn answer_while<T>(
        &self,
        moved: &BackgroundMove,
        work: impl Future<Output = T>,
    ) -> T {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                output = &mut work => return output,
                () = self.caller_left() => self.answer(moved.clone()),
            }
        }
    }

    /// Notes that nobody waits for the answer any more.
    pub(super) async fn set_disconnected(&self) {
        *self.presence.lock().await = Presence::Disconnected;
    }
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
        let (answers, mut moves) = mpsc::channel(1);
        let handle = Arc::new(CallHandle {
            answers: Some(answers),
            ..CallHandle::new(stop.clone())
        });
        let cancelled = caller.cancellation.clone();
        let mut work = Box::pin({
            let (registry, handle, name) = (self.clone(), handle.clone(), name.to_owned());
            let caller = CallerContext {
                cancellation: stop.clone(),
                ..caller
            };
            async move {
                registry
                    .call_with_handle(&name, arguments, caller, &handle)
                    .await
            }
        });
        let mut waits_until = Instant::now() + wait.after;
        let mut is_leaving = false;
        loop {
            tokio::select! {
                biased;
                outcome = &mut work => return outcome.map(TimedOutcome::Outcome),
                () = cancelled.cancelled() => {
                    stop.cancel();
                    return work.await.map(TimedOutcome::Outcome);
                }
                () = tokio::time::sleep_until(waits_until), if !is_leaving => {
                    let progress_at = handle.progress.updated_at();
                    let progress_at = progress_at.filter(|_| wait.progress_restarts);
                    match progress_at.map(|at| at + wait.after) {
                        Some(later) if later > waits_until => waits_until = later,
                        _ => {
                            is_leaving = true;
                            handle.leaves.notify_one();
                        }
                    }
                }
                Some(moved) = moves.recv() => match moved {
                    BackgroundMove::Moved(id) => {
                        let running = StillRunning::new(&id, &handle.progress.stored());
                        // The store holds the answer or the error for later requests.
                        tokio::spawn(async move { drop(work.await) });
                        return Ok(TimedOutcome::StillRunning(running));
                    }
                    BackgroundMove::WaitingFor(id) => {
                        let progress = self.progress_of(&id).await;
                        return Ok(TimedOutcome::StillRunning(StillRunning::new(&id, &progress)));
                    }
                    BackgroundMove::NotYet => {
                        is_leaving = false;
                        waits_until = Instant::now() + POLL_INTERVAL;
                    }
                    // Its caller waits for its end, and may still cancel it.
                    BackgroundMove::Pinned => {}
                },
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

    /// Waits until all background calls of this process have ended.
    pub async fn wait_background_calls(&self) {
        self.background_calls.wait_for_all().await;
    }
}

impl CallTask<'_> {
    /// Stores a running call, so that any process can take it over.
    pub(super) async fn move_to_background(&mut self) -> BackgroundMove {
        if let (CallState::Background, Some(row)) = (self.state, &self.row) {
            return BackgroundMove::Moved(row.id.clone());
        }
        // A tool that asks whether its caller waits gets the answer after the commit.
        let presence = self.handle.presence.clone();
        let mut presence = presence.lock().await;
        if *presence == Presence::Pinned {
            return BackgroundMove::Pinned;
        }
        let registry = self.registry;
        let owner = self.start.principal.owner();
        if !registry.background_calls.has_room_for(owner.as_ref()) {
            return BackgroundMove::NotYet;
        }
        let row = self.to_row();
        let change = Change::Suspend(registry.tools.to_stored_call(row.clone()));
        match registry.deps.store.commit(vec![change]).await {
            Ok(()) => {}
            // Another worker that was given the same replies has the call: its outcome counts.
            Err(StoreError::AlreadyEnded) if self.row.is_some() => {
                return BackgroundMove::WaitingFor(row.id);
            }
            Err(error) => {
                tracing::warn!(%error, "a long call can't be stored as a background call; its caller has to wait");
                return BackgroundMove::NotYet;
            }
        }
        let moved = BackgroundMove::Moved(row.id.clone());
        self.enter_background(row);
        *presence = Presence::Disconnected;
        moved
    }

    /// Returns the row of a leased call: enough to run its current step again.
    fn to_row(&self) -> SuspendedCall {
        let deps = &self.registry.deps;
        let now = deps.clock.now();
        let stored = self.row.as_deref();
        let of_step = || Journal::for_step(self.called_with.as_ref(), self.used);
        SuspendedCall {
            id: stored.map_or_else(|| SuspensionId::from(deps.ids.new_id()), |it| it.id.clone()),
            tool_name: self.entry.meta.name.to_owned(),
            arguments: self.arguments.clone(),
            journal: json!(self.journal.clone().unwrap_or_else(of_step)),
            asks: json!([]),
            created_at: stored.map_or(self.start.started_at, |it| it.created_at),
            expires_at: self.registry.suspension_expiry(now),
            owner: self.start.principal.owner(),
            running_until: Some(lease_expiry(now, &deps.limits)),
            outcome: None,
            failed: false,
            fence: stored.map_or(0, |it| it.fence + 1),
            notes: self.notes.clone(),
            progress: self.handle.progress.stored(),
        }
    }
}

impl StillRunning {
    fn new(id: &SuspensionId, progress: &deliberate_core::StoredProgress) -> Self {
        Self {
            id: id.to_string(),
            doing: progress.message.clone(),
            progress: progress.fraction,
            next: format!(
                "The call continues in the background. Call {RESUME_TOOL} with this id alone to get \
                 its answer."
            ),
        }
    }
}

/// Encodes an error for the store.
pub(super) fn encode_failure(error: &ToolError) -> Value {
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
pub(super) fn decode_failure(outcome: &Value) -> ToolError {
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
