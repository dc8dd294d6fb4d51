//! Progress and heartbeats of a call: a call without news reports that it still runs, so that its
//! client does not give up.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use deliberate_core::StoredProgress;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::{CallEvent, CallInfo, CallProgress, CallerContext, ToolContext};

/// The time between heartbeats of a call without progress. Clients give up after 60 s of silence,
/// some sooner.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(5);

/// The time before the first heartbeat, which is short for people who watch.
const FIRST_HEARTBEAT: Duration = Duration::from_secs(1);

/// The amount that a heartbeat adds to the progress, which must grow but must not look like work.
const HEARTBEAT_STEP: f64 = 0.001;

/// The progress of a call. Its steps, its callers and its worker share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedProgress(Arc<Mutex<ProgressState>>);

#[derive(Debug, Default)]
struct ProgressState {
    done: f64,
    total: Option<f64>,
    message: String,
    /// When the tool reported last.
    updated_at: Option<Instant>,
}

impl SharedProgress {
    fn lock(&self) -> MutexGuard<'_, ProgressState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, done: f64, total: Option<f64>, message: &str) -> CallProgress {
        let mut state = self.lock();
        state.done = done.max(state.done + HEARTBEAT_STEP);
        state.total = total;
        message.clone_into(&mut state.message);
        state.updated_at = Some(Instant::now());
        state.update(message)
    }

    fn heartbeat(&self) -> CallProgress {
        let mut state = self.lock();
        state.done += HEARTBEAT_STEP;
        match state.message.as_str() {
            "" => state.update("working"),
            message => state.update(message),
        }
    }

    /// Returns the time of the latest progress.
    pub(crate) fn updated_at(&self) -> Option<Instant> {
        self.lock().updated_at
    }

    /// Returns the progress as the store holds it.
    pub(crate) fn stored(&self) -> StoredProgress {
        let state = self.lock();
        let total = state.total.filter(|total| *total > 0.0);
        StoredProgress {
            fraction: total.map(|total| (state.done / total).clamp(0.0, 1.0)),
            message: state.message.clone(),
        }
    }
}

impl ProgressState {
    fn update(&self, message: &str) -> CallProgress {
        // Sums of small numbers end in many meaningless digits.
        CallProgress {
            done: (self.done * 1e6).round() / 1e6,
            total: self.total,
            message: message.to_owned(),
        }
    }
}

impl ToolContext {
    /// Reports the call's progress to the client.
    pub fn progress(&self, done: f64, total: Option<f64>, message: &str) {
        let update = self.shared.env.progress.report(done, total, message);
        self.send_progress(update);
    }

    fn send_progress(&self, update: CallProgress) {
        let env = &self.shared.env;
        let running = CallInfo {
            id: env.number,
            tool: env.tool,
            principal: &env.caller.principal,
        };
        env.listeners.emit(CallEvent::Progress(&running, &update));
        if let Some(hears) = &env.caller.progress {
            hears(update);
        }
    }
}

/// Creates the timer of a call's heartbeats. All steps share it, because several short steps in a
/// row are silent too.
pub(crate) fn heartbeat_interval() -> Interval {
    let start = Instant::now() + FIRST_HEARTBEAT;
    let mut interval = tokio::time::interval_at(start, HEARTBEAT_INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

/// Sends heartbeats forever.
pub(crate) async fn send_heartbeats(call: &ToolContext, interval: &mut Interval) {
    loop {
        interval.tick().await;
        call.send_progress(call.shared.env.progress.heartbeat());
    }
}

/// Sends heartbeats forever. A call that waits for another has no progress yet; the numbers stay
/// below those that a run starts with.
pub(crate) async fn send_waiting_heartbeats(caller: &CallerContext) {
    const STEP: f64 = 1e-6;
    let mut done = 0.0;
    tokio::time::sleep(FIRST_HEARTBEAT).await;
    loop {
        done += STEP;
        if let Some(hears) = &caller.progress {
            hears(CallProgress {
                done,
                total: None,
                message: "waiting".to_owned(),
            });
        }
        tokio::time::sleep(HEARTBEAT_INTERVAL).await;
    }
}
