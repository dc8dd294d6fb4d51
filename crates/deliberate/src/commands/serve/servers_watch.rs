//! Reloads the upstream servers on SIGHUP and when a file that defines them changes: the file that
//! `deliberate servers` writes, and those of other clients. Files are compared by time and size,
//! which works on every file system.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use deliberate_gateway::Gateway;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::reload::ReloadListener;
use crate::{config::LoadedConfig, wiring};

const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Reloads the upstream servers together with the settings.
pub(super) struct ServersReload(pub(super) Arc<Gateway>);

impl ReloadListener for ServersReload {
    fn keys(&self) -> &'static [&'static str] {
        &["gateway.servers_file", "gateway.import"]
    }

    fn reload<'a>(&'a self, loaded: &'a LoadedConfig) -> BoxFuture<'a, anyhow::Result<String>> {
        Box::pin(async move {
            wiring::gateway::reload_servers(&self.0, loaded).await;
            Ok("upstream servers".to_owned())
        })
    }
}

type FileState = Option<(SystemTime, u64)>;

/// Watches the files until shutdown.
pub(super) async fn watch(
    gateway: Arc<Gateway>,
    loaded: LoadedConfig,
    shutdown: CancellationToken,
) {
    let settings = &loaded.settings.gateway;
    let files: Vec<PathBuf> = settings
        .servers_file
        .iter()
        .chain(&settings.import)
        .cloned()
        .collect();
    let mut loaded_state = read_state(&files).await;
    let mut before = loaded_state.clone();
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
        let now = read_state(&files).await;
        // A file that is still being written is left alone.
        if now != loaded_state && now == before {
            wiring::gateway::reload_servers(&gateway, &loaded).await;
            loaded_state.clone_from(&now);
        }
        before = now;
    }
}

async fn read_state(files: &[PathBuf]) -> Vec<FileState> {
    let mut states = Vec::with_capacity(files.len());
    for file in files {
        states.push(file_state(file).await);
    }
    states
}

async fn file_state(file: &Path) -> FileState {
    let metadata = tokio::fs::metadata(file).await.ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
