//! Reloads the upstream servers on SIGHUP and when a file that defines them changes: the file that
//! `deliberate servers` writes, and those of other clients. Files are compared by time and size,
//! which works on every file system.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use deliberate_gateway::Gateway;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::reload::{PreparedReload, ReloadListener};
use crate::{config::LoadedConfig, wiring};

const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Reloads the upstream servers together with the settings.
pub(super) struct ServersReload {
    gateway: Arc<Gateway>,
    /// The settings that were read last, which the watcher of the files uses.
    loaded: watch::Sender<Arc<LoadedConfig>>,
}

impl ServersReload {
    pub(super) fn new(gateway: Arc<Gateway>, loaded: &LoadedConfig) -> Self {
        Self {
            gateway,
            loaded: watch::Sender::new(Arc::new(loaded.clone())),
        }
    }

    /// Watches the files that the settings name, until shutdown.
    pub(super) async fn watch_files(self: Arc<Self>, shutdown: CancellationToken) {
        let loaded = self.loaded.borrow().clone();
        let mut applied = read_state(&loaded).await;
        let mut before = applied.clone();
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
            let loaded = self.loaded.borrow().clone();
            let now = read_state(&loaded).await;
            // A file that is still being written is left alone.
            if now != applied && now == before {
                wiring::gateway::reload_servers(&self.gateway, &loaded).await;
                applied.clone_from(&now);
            }
            before = now;
        }
    }
}

impl ReloadListener for ServersReload {
    fn keys(&self) -> &'static [&'static str] {
        &["gateway.servers_file", "gateway.import"]
    }

    fn prepare<'a>(&'a self, loaded: &'a LoadedConfig) -> anyhow::Result<PreparedReload<'a>> {
        Ok(Box::pin(async move {
            self.loaded.send_replace(Arc::new(loaded.clone()));
            wiring::gateway::reload_servers(&self.gateway, loaded).await;
            Ok("upstream servers".to_owned())
        }))
    }
}

type FileState = Option<(SystemTime, u64)>;

async fn read_state(loaded: &LoadedConfig) -> Vec<FileState> {
    let settings = &loaded.settings.gateway;
    let files = settings.servers_file.iter().chain(&settings.import);
    let mut states = Vec::new();
    for file in files {
        states.push(file_state(file).await);
    }
    states
}

async fn file_state(file: &Path) -> FileState {
    let metadata = tokio::fs::metadata(file).await.ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
