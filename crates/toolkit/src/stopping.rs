//! Cutting off what still runs when a server stops, so that the stop is not as long as the slowest
//! call.
//!
//! Nothing that was promised is lost by it: what was kept stays kept, and a call that was told to run
//! on is left for whoever asks for it next, at once. Anyone who still waits is told why there is no
//! answer.

use std::time::Duration;

use deliberate_core::Change;
use tokio_util::sync::CancellationToken;

use crate::{
    Call, Registry, ToolError, gate::Run, held::Hold, left::cut_off, leg::with_so_far,
    record::Begun, registry::Entry,
};

/// How often it is looked whether calls are still open.
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl Registry {
    /// Cuts off every call that runs, and every call from now on.
    pub fn stop_calls(&self) {
        self.stopping.cancel();
    }

    /// Waits until no call is open: none waits, runs, or is being kept.
    pub async fn idle(&self) {
        while self.open_calls() > 0 {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Ends when what runs is cut off; for what does not run at the gate.
    pub async fn calls_stopped(&self) {
        self.stopping.cancelled().await;
    }

    /// Waits until a call that does nothing yet may not go on; the answer is why.
    pub(crate) async fn unwanted(&self, cancelled: &CancellationToken) -> ToolError {
        tokio::select! {
            biased;
            () = cancelled.cancelled() => ToolError::Cancelled,
            () = self.stopping.cancelled() => ToolError::Stopping,
        }
    }

    /// Ends a call that ran when the server stopped. If it was handed over it has not failed: it is
    /// left as one that nobody runs. Else whoever waits is told what was done so far.
    pub(crate) async fn stopped_short(
        &self,
        run: &Run<'_>,
        begun: Begun,
        call: &Call,
        (hold, so_far): (&Hold, Option<String>),
    ) -> ToolError {
        let handed_over = hold.stage.lock().await.kept();
        let so_far = so_far.filter(|_| handed_over.is_none());
        let error = with_so_far(stopped(run.entry), so_far);
        let left = handed_over.map(|(kept, seen)| Change::RunOn {
            id: kept.id,
            seen,
            until: self.parts.clock.now(),
        });
        self.record_failure(begun, &error, call.bill(), left).await;
        error
    }
}

/// What is told of a call that was cut off in the middle.
fn stopped(entry: &Entry) -> ToolError {
    if entry.may_run_again() {
        ToolError::Stopping
    } else {
        cut_off()
    }
}
