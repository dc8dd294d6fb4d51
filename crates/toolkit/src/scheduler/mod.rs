//! Runs saved work when it is due, through the dispatcher like every other caller.

mod schedule;

use std::{sync::Arc, time::Duration};

use deliberate_core::{Change, Clock, Timestamp};
use deliberate_store::{Store, StoreError};
use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{CallOutcome, CallerContext, ErrorCode, Registry, ToolError};

pub use schedule::{Schedule, ScheduleFrequency};

/// The most items that are run per poll.
const MAX_DUE_PER_POLL: u32 = 20;

/// The delay before an item whose run did not finish is due again.
const RETRY_DELAY: Duration = Duration::from_hours(1);

/// Work that is saved and due at times.
pub trait ScheduledWork: Send + Sync + 'static {
    /// A saved item.
    type Item: Send + Sync;

    /// Returns at most `limit` items that are due.
    fn due<'a>(
        &'a self,
        store: &'a dyn Store,
        now: Timestamp,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<Self::Item>, ToolError>>;

    /// Returns the change that postpones an item by `delay`. It must conflict if another process has
    /// changed the item.
    fn postpone(&self, item: &Self::Item, now: Timestamp, delay: Duration) -> Change;

    /// Returns the call that an item stands for.
    fn call(&self, item: &Self::Item) -> ScheduledCall;
}

/// The call of a saved item.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduledCall {
    /// Names the item in the log.
    pub item: String,
    /// The name of the tool.
    pub tool: &'static str,
    /// The arguments.
    pub arguments: Value,
}

/// Polls for due items until it is stopped.
pub async fn run_scheduler(
    work: impl ScheduledWork,
    registry: Arc<Registry>,
    clock: Arc<dyn Clock>,
    every: Duration,
    stop: CancellationToken,
) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(every) => {}
        }
        let store = registry.store().as_ref();
        let due = work.due(store, clock.now(), MAX_DUE_PER_POLL).await;
        let due = due.unwrap_or_else(|error| {
            tracing::warn!(%error, "what is due can't be read");
            Vec::new()
        });
        for item in due {
            // A claim postpones the item; a run that finishes schedules it anew. If several processes
            // share a store, one of them succeeds. If the run fails or its process ends, the item is
            // due again after the delay and delays no other.
            if claim(store, work.postpone(&item, clock.now(), RETRY_DELAY)).await {
                run_item(&registry, work.call(&item), &stop).await;
            }
            if stop.is_cancelled() {
                return;
            }
        }
    }
}

async fn claim(store: &dyn Store, change: Change) -> bool {
    match store.commit(vec![change]).await {
        Ok(()) => true,
        Err(StoreError::Conflict { .. }) => false,
        Err(error) => {
            tracing::warn!(%error, "a due item can't be claimed");
            false
        }
    }
}

async fn run_item(registry: &Registry, call: ScheduledCall, stop: &CancellationToken) {
    let caller = CallerContext {
        cancellation: stop.clone(),
        ..CallerContext::default()
    };
    let item = call.item;
    tracing::info!(item, "an item is due");
    match registry.call(call.tool, call.arguments, caller).await {
        Ok(CallOutcome::Done(_)) => {}
        // Another caller ran it a moment ago.
        Err(error) if error.code() == ErrorCode::NotRun.as_str() => {}
        Ok(CallOutcome::NeedsReply(_)) => {
            tracing::warn!(
                item,
                "a due item needs the client's model, which a scheduled run can't use"
            );
        }
        Err(error) => tracing::warn!(item, %error, "a due item failed"),
    }
}
