//! The background task that deletes old records of the invocation log, by settings that can change
//! while it runs.

use std::{sync::Arc, time::Duration};

use deliberate_core::{Clock as _, SystemClock, Timestamp};
use deliberate_store::sqlite::{LogRetention, SqliteStore};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::reload::{PreparedReload, ReloadListener};
use crate::config::{LoadedConfig, RetentionSettings};

/// Soon enough for a server that a client starts for a short while, and after the handshake.
const FIRST_RUN_AFTER: Duration = Duration::from_secs(5);

const INTERVAL: Duration = Duration::from_hours(1);

const MICROS_PER_DAY: i64 = 24 * 3_600 * 1_000_000;

/// The retention of the log, which can change while the server runs.
pub(super) struct RetentionReload(watch::Sender<RetentionSettings>);

impl RetentionReload {
    pub(super) fn new(settings: RetentionSettings) -> Self {
        Self(watch::Sender::new(settings))
    }

    /// Deletes old records now and then, and after a change, until the server stops.
    pub(super) fn start(&self, store: Arc<SqliteStore>, shutdown: CancellationToken) {
        let sender = self.0.clone();
        let work = async move {
            let mut changes = sender.subscribe();
            tokio::time::sleep(FIRST_RUN_AFTER).await;
            loop {
                let settings = *changes.borrow_and_update();
                prune(&store, settings).await;
                // Whether the settings changed or the time is up, records may have to go.
                drop(tokio::time::timeout(INTERVAL, changes.changed()).await);
            }
        };
        tokio::spawn(async move { shutdown.run_until_cancelled(work).await });
    }
}

impl ReloadListener for RetentionReload {
    fn keys(&self) -> &'static [&'static str] {
        &["retention.days", "retention.log_bytes"]
    }

    fn prepare<'a>(&'a self, loaded: &'a LoadedConfig) -> anyhow::Result<PreparedReload<'a>> {
        let settings = loaded.settings.retention;
        Ok(Box::pin(async move {
            self.0.send_if_modified(|current| {
                let differs = *current != settings;
                *current = settings;
                differs
            });
            Ok("retention of the log".to_owned())
        }))
    }
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
