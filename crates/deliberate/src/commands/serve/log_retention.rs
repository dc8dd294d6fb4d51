//! The background task that deletes old records of the invocation log.

use std::{sync::Arc, time::Duration};

use deliberate_core::{Clock as _, SystemClock, Timestamp};
use deliberate_store::sqlite::{LogRetention, SqliteStore};
use tokio_util::sync::CancellationToken;

use crate::config::RetentionSettings;

/// Soon enough for a server that a client starts for a short while, and after the handshake.
const FIRST_RUN_AFTER: Duration = Duration::from_secs(5);

const INTERVAL: Duration = Duration::from_hours(1);

const MICROS_PER_DAY: i64 = 24 * 3_600 * 1_000_000;

/// Deletes old records now and then, until the server stops.
pub(super) fn start(
    store: Arc<SqliteStore>,
    settings: RetentionSettings,
    shutdown: CancellationToken,
) {
    let work = async move {
        tokio::time::sleep(FIRST_RUN_AFTER).await;
        loop {
            prune(&store, settings).await;
            tokio::time::sleep(INTERVAL).await;
        }
    };
    tokio::spawn(async move { shutdown.run_until_cancelled(work).await });
}

async fn prune(store: &SqliteStore, settings: RetentionSettings) {
    // There is nothing to delete before the first call.
    if !store.exists() {
        return;
    }
    let now = SystemClock.now();
    let before = settings.days.map(|days| {
        let age = i64::from(days).saturating_mul(MICROS_PER_DAY);
        Timestamp::from_micros(now.as_micros().saturating_sub(age))
    });
    let retention = LogRetention {
        before,
        max_bytes: settings.log_bytes,
    };
    match store.prune_log(&retention, now).await {
        Ok(pruned) => tracing::debug!(
            records = pruned.records,
            suspended_calls = pruned.suspended_calls,
            pages = pruned.pages,
            "old records of calls were deleted"
        ),
        Err(error) => tracing::warn!(%error, "old records of calls can't be deleted"),
    }
}
