//! Stops running calls when the server shuts down, so that the shutdown does not take as long as
//! the slowest call.
//!
//! Nothing that was promised is lost: committed data stays, and the lease of a background call is
//! given up, so that the next request for its answer can take it over at once. Callers that still
//! wait get an error with the reason.

use std::time::Duration;

use deliberate_core::Change;
use tokio_util::sync::CancellationToken;

use super::{
    commit::with_partial_summary,
    status::lost_error,
    task::{CallState, CallTask},
};
use crate::{Registry, ToolContext, ToolError, registry::RegisteredTool};

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
    pub(super) async fn cancelled_or_stopping(&self, cancelled: &CancellationToken) -> ToolError {
        tokio::select! {
            biased;
            () = cancelled.cancelled() => ToolError::Cancelled,
            () = self.shutdown.cancelled() => ToolError::Stopping,
        }
    }
}

impl CallTask<'_> {
    /// Ends a call that ran when the shutdown started. A background call has not failed: it stays
    /// stored without a lease. Otherwise the caller gets an error with the work done so far.
    pub(super) async fn abort_for_shutdown(mut self, call: &ToolContext) -> ToolError {
        let registry = self.registry;
        let row = self.row.as_ref();
        let row = row.filter(|_| self.state == CallState::Background);
        let given_up = row.map(|row| Change::RenewLease {
            id: row.id.clone(),
            fence: row.fence,
            until: registry.deps.clock.now(),
            progress: self.handle.progress.stored(),
        });
        let summary = self.partial_summary.take();
        let summary = summary.filter(|_| given_up.is_none());
        let error = with_partial_summary(shutdown_error(self.entry), summary);
        let tally = call.usage();
        registry
            .record_failure(&self.start, &error, tally, given_up)
            .await;
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
