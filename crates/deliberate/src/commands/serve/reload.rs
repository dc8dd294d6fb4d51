//! Reads the settings again on SIGHUP and applies what can change while the server runs. Running
//! calls are not affected. All parts check the settings before any applies them, so that a mistake
//! changes nothing.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::mpsc;

use crate::{
    config::{AppSettings, Flags, LoadedConfig, SettingEntry},
    logging::LogLevelControl,
};

/// What applies settings that were checked. It describes what was reloaded.
pub(crate) type PreparedReload<'a> = BoxFuture<'a, anyhow::Result<String>>;

/// A part of the server that applies changed settings while it runs.
pub(crate) trait ReloadListener: Send + Sync {
    /// Returns the keys that this part applies; changes of all other keys need a restart.
    fn keys(&self) -> &'static [&'static str];

    /// Checks the settings and returns what applies them. Until that runs the earlier ones stay.
    fn prepare<'a>(&'a self, loaded: &'a LoadedConfig) -> anyhow::Result<PreparedReload<'a>>;
}

/// What is needed to read the settings again.
pub(crate) struct ReloadSource {
    pub(crate) flags: Flags,
    pub(crate) log_level: LogLevelControl,
}

/// Applies changed settings on request.
pub(super) struct Reloader {
    flags: Flags,
    /// The settings that were read last.
    entries: Vec<SettingEntry>,
    listeners: Vec<Arc<dyn ReloadListener>>,
}

impl Reloader {
    pub(super) fn new(loaded: &LoadedConfig, source: ReloadSource) -> Self {
        Self {
            flags: source.flags,
            entries: loaded.entries.clone(),
            listeners: vec![Arc::new(source.log_level)],
        }
    }

    pub(super) fn add(&mut self, listener: Arc<dyn ReloadListener>) {
        self.listeners.push(listener);
    }

    /// Reloads at each request.
    pub(super) async fn run(mut self, mut requests: mpsc::Receiver<()>) {
        while requests.recv().await.is_some() {
            self.reload().await;
        }
    }

    async fn reload(&mut self) {
        let loaded = match AppSettings::load(&self.flags) {
            Ok(loaded) => loaded,
            Err(error) => {
                tracing::error!("the settings are not reloaded: {error}");
                return;
            }
        };
        let mut prepared = Vec::with_capacity(self.listeners.len());
        for listener in &self.listeners {
            match listener.prepare(&loaded) {
                Ok(reload) => prepared.push(reload),
                Err(error) => tracing::error!("not reloaded: {error:#}"),
            }
        }
        if prepared.len() < self.listeners.len() {
            tracing::error!("nothing was reloaded; tokens that were removed are still valid");
            return;
        }
        for reload in prepared {
            match reload.await {
                Ok(done) => tracing::info!("reloaded: {done}"),
                Err(error) => tracing::error!("not reloaded: {error:#}"),
            }
        }
        let keys = self.keys_for_restart(&loaded.entries);
        if !keys.is_empty() {
            tracing::warn!(
                "these settings have changed and need a restart: {}",
                keys.join(", ")
            );
        }
        self.entries = loaded.entries;
    }

    /// Returns the changed keys that no listener applies. Secrets are not compared.
    fn keys_for_restart(&self, now: &[SettingEntry]) -> Vec<&'static str> {
        let before = self.entries.iter();
        let changed = before.zip(now).filter(|(before, now)| {
            before.key == now.key && before.display_value != now.display_value
        });
        let applied = |key| self.listeners.iter().any(|it| it.keys().contains(&key));
        changed
            .map(|(_, now)| now.key)
            .filter(|key| !applied(*key))
            .collect()
    }
}

impl ReloadListener for LogLevelControl {
    fn keys(&self) -> &'static [&'static str] {
        &["log.level", "log.content", "log.audit"]
    }

    fn prepare<'a>(&'a self, loaded: &'a LoadedConfig) -> anyhow::Result<PreparedReload<'a>> {
        Ok(Box::pin(async {
            let log = &loaded.settings.log;
            self.set(log.filter())?;
            Ok(format!("log level {:?}", log.level).to_lowercase())
        }))
    }
}
