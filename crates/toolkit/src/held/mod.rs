//! Calls that run on after their caller stopped waiting.
//!
//! A caller waits so long and no longer: many clients give up after a minute, whatever they are
//! told meanwhile. A call that takes longer is kept in the store like a suspended one, runs on, and
//! is told to its caller by an id under which the answer can be had, from this process or another.
//! Whoever runs it says so again and again; if that ends, the call is run again from its start by
//! the next who asks for it, or told as lost if its work was outside.

mod calls;
mod hold;

use std::{sync::Arc, time::Duration};

use deliberate_core::{Change, Suspension, SuspensionId, Timestamp};
use deliberate_store::StoreError;
use serde::{Deserialize as _, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) use calls::{Doing, HeldCalls, Presence};
pub(crate) use hold::{Hold, Kept, Stage, Work};

use crate::{Answer, Caller, Far, RESUME, Registry, ToolError};
use calls::Held;

/// How long it is believed that a call runs, after someone said so.
const BELIEVED: Duration = Duration::from_secs(20);

/// How often that is said.
const SAID_EVERY: Duration = Duration::from_secs(5);

/// How long to wait until a call that could not be handed over may be.
const NOT_YET: Duration = Duration::from_millis(500);

/// How a call stands when its caller has waited long enough.
#[derive(Debug, Clone, PartialEq)]
pub enum Within {
    /// It is over, or waits for replies.
    Answered(Answer),
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
                "The call takes longer and runs on. Call {RESUME} with this id alone to have its \
                 answer."
            ),
        }
    }
}

/// What came of handing a call over.
enum Handed {
    RunsOn(SuspensionId),
    WaitsFor(SuspensionId),
    NotYet,
    Ending,
}

impl Registry {
    /// Calls a tool like [`Registry::call`], but waits no longer than `patience` for tools that
    /// think: a call that takes longer runs on, and its answer is had by calling [`RESUME`].
    pub async fn call_within(
        self: &Arc<Self>,
        name: &str,
        arguments: Value,
        caller: Caller,
        patience: Duration,
    ) -> Result<Within, ToolError> {
        if !self.may_run_on(name, &caller) {
            let call = Box::pin(self.call(name, arguments, caller));
            return call.await.map(Within::Answered);
        }
        let stop = CancellationToken::new();
        let hold = Arc::new(Hold {
            may_be_handed_over: true,
            ..Hold::new(stop.clone())
        });
        let cancelled = caller.cancelled.clone();
        let mut work = Box::pin({
            let (registry, hold, name) = (self.clone(), hold.clone(), name.to_owned());
            let caller = Caller {
                cancelled: stop.clone(),
                ..caller
            };
            async move { registry.call_held(&name, arguments, caller, &hold).await }
        });
        let mut waited_until = Instant::now() + patience;
        loop {
            tokio::select! {
                biased;
                answer = &mut work => return answer.map(Within::Answered),
                () = cancelled.cancelled() => {
                    stop.cancel();
                    return work.await.map(Within::Answered);
                }
                () = tokio::time::sleep_until(waited_until) => {}
            }
            // The call goes on meanwhile: it may hold what handing over waits for.
            let handed = tokio::select! {
                biased;
                handed = self.hand_over(&hold) => handed,
                answer = &mut work => return answer.map(Within::Answered),
            };
            match handed {
                Handed::RunsOn(id) => {
                    let doing = hold.doing.said();
                    // Whoever asks for the answer finds it in the store, or the failure.
                    tokio::spawn(async move { drop(work.await) });
                    return Ok(Within::StillRunning(StillRunning::new(&id, doing)));
                }
                Handed::WaitsFor(id) => {
                    let doing = self.held.doing(&id);
                    return Ok(Within::StillRunning(StillRunning::new(&id, doing)));
                }
                Handed::NotYet => waited_until = Instant::now() + NOT_YET,
                Handed::Ending => return work.await.map(Within::Answered),
            }
        }
    }

    /// Whether a caller may stop waiting for what is called by that name.
    fn may_run_on(&self, name: &str, caller: &Caller) -> bool {
        let called = self.entries.called(name, json!({}), caller.again.as_ref());
        called.is_ok_and(|called| called.entry.may_run_on())
    }

    /// Keeps a running call in the store, so that it can be picked up.
    async fn hand_over(&self, hold: &Hold) -> Handed {
        let mut stage = hold.stage.lock().await;
        match &mut *stage {
            Stage::Preparing => Handed::NotYet,
            Stage::Ending { .. } => Handed::Ending,
            Stage::WaitsFor(id) => Handed::WaitsFor(id.clone()),
            Stage::RunsOn { kept, .. } => Handed::RunsOn(kept.id.clone()),
            Stage::Runs(work) if !self.held.has_room_for(work.owner.as_ref()) => Handed::NotYet,
            Stage::Runs(work) => {
                let until = believed_until(self.parts.clock.now());
                let suspension = self.kept(work, until);
                let kept = Kept::of(&suspension);
                let change = Change::Suspend(suspension);
                if let Err(error) = self.parts.store.commit(vec![change]).await {
                    tracing::warn!(%error, "a long call can't be kept; its caller has to wait");
                    return Handed::NotYet;
                }
                let handed = Handed::RunsOn(kept.id.clone());
                let here = self.present(&kept.id, work.owner.clone(), hold);
                *stage = Stage::RunsOn { kept, until, here };
                handed
            }
        }
    }

    pub(crate) fn present(
        &self,
        id: &SuspensionId,
        owner: Option<String>,
        hold: &Hold,
    ) -> Option<Presence> {
        self.held.enter(id, |over| Held {
            owner,
            stop: hold.stop.clone(),
            over,
            doing: hold.doing.clone(),
        })
    }

    fn kept(&self, work: &Work, until: Timestamp) -> Suspension {
        let fresh = || SuspensionId::from(self.parts.ids.fresh());
        Suspension {
            id: work.suspended.clone().unwrap_or_else(fresh),
            tool_name: work.tool.to_owned(),
            arguments: work.arguments.clone(),
            journal: work.journal.clone(),
            asks: json!([]),
            created_at: work.begun,
            expires_at: self.suspended_until(self.parts.clock.now()),
            owner: work.owner.clone(),
            running_until: Some(until),
            outcome: None,
            failed: false,
        }
    }

    /// Says again and again that a call which was handed over runs. Ends if it is another's by now:
    /// someone else has ended it or taken it over.
    pub(crate) async fn keep_running(&self, hold: &Hold) -> SuspensionId {
        loop {
            tokio::time::sleep(SAID_EVERY).await;
            let mut stage = hold.stage.lock().await;
            let Stage::RunsOn { kept, until, .. } = &mut *stage else {
                continue;
            };
            let next = believed_until(self.parts.clock.now());
            let change = Change::RunOn {
                id: kept.id.clone(),
                seen: Some(*until),
                until: next,
            };
            match self.parts.store.commit(vec![change]).await {
                Ok(()) => *until = next,
                Err(StoreError::AlreadyEnded) => return kept.id.clone(),
                Err(error) => tracing::warn!(%error, "a long call can't be kept up"),
            }
        }
    }

    /// Takes over a call that nobody runs any more; false if someone else was first.
    pub(crate) async fn take_over(
        &self,
        abandoned: &Suspension,
        hold: &Hold,
    ) -> Result<bool, ToolError> {
        let until = believed_until(self.parts.clock.now());
        let change = Change::RunOn {
            id: abandoned.id.clone(),
            seen: abandoned.running_until,
            until,
        };
        match self.parts.store.commit(vec![change]).await {
            Ok(()) => {
                let owner = abandoned.owner.clone();
                *hold.stage.lock().await = Stage::RunsOn {
                    kept: Kept::of(abandoned),
                    until,
                    here: self.present(&abandoned.id, owner, hold),
                };
                Ok(true)
            }
            Err(StoreError::AlreadyEnded) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the calls that run on are over.
    pub async fn settled(&self) {
        self.held.wait_for_all().await;
    }
}

pub(crate) fn believed_until(now: Timestamp) -> Timestamp {
    now.plus_micros(i64::try_from(BELIEVED.as_micros()).unwrap_or(i64::MAX))
}

/// What is kept of a failure, to be told again.
pub(crate) fn failure(error: &ToolError) -> Value {
    if let ToolError::Far(far) = error {
        return json!({ "far": far });
    }
    json!({
        "code": error.code(),
        "message": error.to_string(),
        "hint": error.hint(),
    })
}

/// A failure that was kept.
pub(crate) fn told(outcome: &Value) -> ToolError {
    let far = outcome.get("far").map(Far::deserialize);
    if let Some(Ok(far)) = far {
        return ToolError::Far(Box::new(far));
    }
    let text = |key: &str| outcome.get(key).and_then(Value::as_str).map(str::to_owned);
    match (text("code"), text("message")) {
        (Some(code), Some(message)) => ToolError::Told {
            code,
            message,
            hint: text("hint"),
        },
        _ => ToolError::Internal,
    }
}
