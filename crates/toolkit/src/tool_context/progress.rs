//! Progress reports and heartbeats of a call.

use std::sync::PoisonError;

use crate::{CallEvent, CallInfo, CallProgress, ToolContext};

/// The progress reported so far.
#[derive(Clone, Default)]
pub(super) struct ProgressState {
    done: f64,
    total: Option<f64>,
    message: String,
}

/// The amount that a heartbeat adds to the progress, which must grow but must not look like work.
const HEARTBEAT_STEP: f64 = 0.001;

impl ToolContext {
    /// Reports the call's progress to the client.
    pub fn progress(&self, done: f64, total: Option<f64>, message: &str) {
        let update = {
            let mut said = self
                .shared
                .progress
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            said.done = done.max(said.done + HEARTBEAT_STEP);
            said.total = total;
            message.clone_into(&mut said.message);
            self.shared.env.status.set(message);
            said.update()
        };
        self.send_progress(update);
    }

    fn send_progress(&self, update: CallProgress) {
        let running = CallInfo {
            id: self.shared.env.number,
            tool: self.shared.env.tool,
            principal: &self.shared.env.caller.principal,
        };
        self.shared
            .env
            .listeners
            .emit(CallEvent::Progress(&running, &update));
        if let Some(hears) = &self.shared.env.caller.progress {
            hears(update);
        }
    }

    /// Reports to the client that the call still runs, so that it does not give up.
    pub(crate) fn send_heartbeat(&self) {
        let update = {
            let mut said = self
                .shared
                .progress
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            said.done += HEARTBEAT_STEP;
            if said.message.is_empty() {
                "working".clone_into(&mut said.message);
            }
            said.update()
        };
        self.send_progress(update);
    }
}

impl ProgressState {
    fn update(&self) -> CallProgress {
        // Sums of small numbers end in many meaningless digits.
        CallProgress {
            done: (self.done * 1e6).round() / 1e6,
            total: self.total,
            message: self.message.clone(),
        }
    }
}
