//! Applies changed hosts, origins and limits of the HTTP server while it runs.

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use deliberate_server::http::guard::HttpGuard;
use futures::future::BoxFuture;

use super::{http, reload::ReloadListener};
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

    fn reload<'a>(&'a self, loaded: &'a LoadedConfig) -> BoxFuture<'a, anyhow::Result<String>> {
        Box::pin(async move {
            let Some((address, guard)) = self.0.get() else {
                return Ok("HTTP is not served".to_owned());
            };
            http::check_settings(&loaded.settings)?;
            http::check_exposure(guard.is_open(), &loaded.settings.http)?;
            guard.reload(&http::guard_options(*address, &loaded.settings));
            Ok("hosts, origins and limits of HTTP".to_owned())
        })
    }
}
