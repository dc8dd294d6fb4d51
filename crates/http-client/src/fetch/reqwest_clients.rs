//! The two `reqwest` clients: one for the internet, one for the origins that the settings trust.
//! The second connects to any address, so it must be used for trusted origins only.
//!
//! Proxy settings of the environment are ignored: a proxy would resolve host names and connect
//! itself, where no check here could see the address. Responses are never decompressed, because a
//! few bytes could expand to gigabytes.

use std::{sync::Arc, time::Duration};

use reqwest::{Client, header};
use tokio::sync::OnceCell;

use super::HttpClientError;
use crate::{
    client::{ClientBuildError, base_builder},
    ssrf_guard::{GuardedResolver, HostResolver},
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const IDLE_CONNECTIONS: usize = 4;

/// Both clients. They are built at the first request, because loading the system's certificates
/// takes a while.
pub(super) struct ReqwestClients {
    user_agent: header::HeaderValue,
    resolver: Arc<dyn HostResolver>,
    public: OnceCell<Client>,
    trusted: OnceCell<Client>,
}

impl ReqwestClients {
    pub(super) fn new(agent: &str, names: Arc<dyn HostResolver>) -> Result<Self, HttpClientError> {
        let agent = header::HeaderValue::from_str(agent).map_err(|_| HttpClientError::Local {
            what: "setting the User-Agent",
            reason: "it can't be sent in a header; use ASCII letters".to_owned(),
        })?;
        Ok(Self {
            user_agent: agent,
            resolver: names,
            public: OnceCell::new(),
            trusted: OnceCell::new(),
        })
    }

    pub(super) async fn get(&self, trusted: bool) -> Result<&Client, HttpClientError> {
        let cell = if trusted { &self.trusted } else { &self.public };
        cell.get_or_try_init(|| self.build(trusted)).await
    }

    async fn build(&self, anywhere: bool) -> Result<Client, HttpClientError> {
        let resolver = GuardedResolver {
            resolver: Arc::clone(&self.resolver),
            allow_private: anywhere,
        };
        let mut headers = header::HeaderMap::new();
        headers.insert(header::USER_AGENT, self.user_agent.clone());
        headers.insert(
            header::ACCEPT_ENCODING,
            header::HeaderValue::from_static("identity"),
        );
        let building = move || {
            let client = base_builder()?
                .retry(reqwest::retry::never())
                .no_proxy()
                .no_gzip()
                .no_brotli()
                .no_deflate()
                .no_zstd()
                .referer(false)
                .default_headers(headers)
                .connect_timeout(CONNECT_TIMEOUT)
                .pool_max_idle_per_host(IDLE_CONNECTIONS)
                .dns_resolver(resolver)
                .build()?;
            Ok::<_, ClientBuildError>(client)
        };
        let failed = |reason: String| HttpClientError::Local {
            what: "creating an HTTP client",
            reason,
        };
        tokio::task::spawn_blocking(building)
            .await
            .map_err(|error| failed(error.to_string()))?
            .map_err(|error| failed(error.to_string()))
    }
}
