//! Cutting off what still runs when a server stops, so that the stop is not as long as the slowest
//! call.
//!
//! Nothing that was promised is lost by it: what was kept stays kept, and a call that was told to run
//! on is left for whoever asks for it next, at once. Anyone who still waits is told why there is no
//! answer.

use std::time::Duration;

use deliberate_core::Change;
use tokio_util::sync::CancellationToken;

use super::{ToolRun, invocation_log::CallStart, steps::with_partial_summary};
use crate::{
    Registry, ToolContext, ToolError,
    background::{CallHandle, status::lost_error},
    registry::RegisteredTool,
};

/// How often it is looked whether calls are still open.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

impl Registry {
    /// Cuts off every call that runs, and every call from now on.
    pub fn start_shutdown(&self) {
        self.shutdown.cancel();
    }

    /// Waits until no call is open: none waits, runs, or is being kept.
    pub async fn wait_idle(&self) {
        while self.open_calls() > 0 {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Ends when what runs is cut off; for what does not run at the gate.
    pub async fn shutdown_started(&self) {
        self.shutdown.cancelled().await;
    }

    /// Waits until a call that does nothing yet may not go on; the answer is why.
    pub(crate) async fn cancelled_or_stopping(&self, cancelled: &CancellationToken) -> ToolError {
        tokio::select! {
            biased;
            () = cancelled.cancelled() => ToolError::Cancelled,
            () = self.shutdown.cancelled() => ToolError::Stopping,
        }
    }

    /// Ends a call that ran when the server stopped. If it was handed over it has not failed: it is
    /// left as one that nobody runs. Else whoever waits is told what was done so far.
    pub(crate) async fn abort_for_shutdown(
        &self,
        run: &ToolRun<'_>,
        begun: CallStart,
        call: &ToolContext,
        (hold, so_far): (&CallHandle, Option<String>),
    ) -> ToolError {
        let handed_over = hold.stage.lock().await.stored_call();
        let so_far = so_far.filter(|_| handed_over.is_none());
        let error = with_partial_summary(shutdown_error(run.entry), so_far);
        let left = handed_over.map(|(kept, seen)| Change::RunOn {
            id: kept.id,
            seen,
            until: self.deps.clock.now(),
        });
        self.record_failure(begun, &error, call.usage(), left).await;
        error
    }
}

/// What is told of a call that was cut off in the middle.
fn shutdown_error(entry: &RegisteredTool) -> ToolError {
    if entry.is_replayable() {
        ToolError::Stopping
    } else {
        lost_error()
    }
}
