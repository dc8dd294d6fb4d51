//! Stops running calls when the server shuts down, so that the shutdown does not take as long as
//! the slowest call.
//!
//! Nothing that was promised is lost: committed data stays, and the lease of a background call is
//! given up, so that the next request for its answer can take it over at once. Callers that still
//! wait get an error with the reason.

use std::time::Duration;

use deliberate_core::Change;
use tokio_util::sync::CancellationToken;

use super::{ToolRun, invocation_log::CallStart, steps::with_partial_summary};
use crate::{
    Registry, ToolContext, ToolError,
    background::{CallHandle, status::lost_error},
    registry::RegisteredTool,
};

/// How often the number of open calls is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

impl Registry {
    /// Stops every running call and rejects every new one.
    pub fn start_shutdown(&self) {
        self.shutdown.cancel();
    }

    /// Waits until no call waits, runs or is being committed.
    pub async fn wait_idle(&self) {
        while self.open_calls() > 0 {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits for the start of the shutdown, for work that the dispatcher does not run.
    pub async fn shutdown_started(&self) {
        self.shutdown.cancelled().await;
    }

    /// Waits until a call that has not started must not continue, and returns the reason.
    pub(crate) async fn cancelled_or_stopping(&self, cancelled: &CancellationToken) -> ToolError {
        tokio::select! {
            biased;
            () = cancelled.cancelled() => ToolError::Cancelled,
            () = self.shutdown.cancelled() => ToolError::Stopping,
        }
    }

    /// Ends a call that ran when the shutdown started. A background call has not failed: it stays
    /// stored without a lease. Otherwise the caller gets an error with the work done so far.
    pub(crate) async fn abort_for_shutdown(
        &self,
        run: &ToolRun<'_>,
        start: CallStart,
        call: &ToolContext,
        (hold, so_far): (&CallHandle, Option<String>),
    ) -> ToolError {
        let handed_over = hold.stage.lock().await.stored_call();
        let so_far = so_far.filter(|_| handed_over.is_none());
        let error = with_partial_summary(shutdown_error(run.entry), so_far);
        let left = handed_over.map(|(kept, seen)| Change::RenewLease {
            id: kept.id,
            seen,
            until: self.deps.clock.now(),
        });
        self.record_failure(start, &error, call.usage(), left).await;
        error
    }
}

/// Returns the error of a call that was stopped while it ran.
fn shutdown_error(entry: &RegisteredTool) -> ToolError {
    if entry.is_replayable() {
        ToolError::Stopping
    } else {
        lost_error()
    }
}
