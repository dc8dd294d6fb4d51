//! Applies changed hosts, origins and limits of the HTTP server while it runs.

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use deliberate_server::http::guard::HttpGuard;

use super::{
    http,
    reload::{PreparedReload, ReloadListener},
};
use crate::config::LoadedConfig;

/// The HTTP server that runs, if any.
#[derive(Clone, Default)]
pub(super) struct RunningHttp(Arc<OnceLock<(SocketAddr, Arc<HttpGuard>)>>);

impl RunningHttp {
    pub(super) fn set(&self, address: SocketAddr, guard: Arc<HttpGuard>) {
        self.0.get_or_init(|| (address, guard));
    }
}

impl ReloadListener for RunningHttp {
    fn keys(&self) -> &'static [&'static str] {
        &[
            "http.allowed_hosts",
            "http.allowed_origins",
            "http.requests_per_minute",
            "http.concurrent_requests",
        ]
    }

    fn prepare<'a>(&'a self, loaded: &'a LoadedConfig) -> anyhow::Result<PreparedReload<'a>> {
        let running = self.0.get();
        if let Some((_, guard)) = running {
            http::check_settings(&loaded.settings)?;
            http::check_exposure(guard.is_open(), &loaded.settings.http)?;
        }
        Ok(Box::pin(async move {
            let Some((address, guard)) = running else {
                return Ok("HTTP is not served".to_owned());
            };
            guard.reload(&http::guard_options(*address, &loaded.settings));
            Ok("hosts, origins and limits of HTTP".to_owned())
        }))
    }
}
