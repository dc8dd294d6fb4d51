//! The HTTP client for public sources.

use std::{path::Path, sync::Arc, time::Duration};

use deliberate_core::{Clock, SystemClock};
use futures::FutureExt as _;
use secrecy::ExposeSecret as _;
use url::Url;

use super::{
    DownloadRequest, DownloadResult, FetchRequest, FetchResponse, HttpClientError,
    HttpClientOptions, attempt::fetch, cache::ResponseCache, digest::digest, download::download,
    rate_limit::SourceRateLimiter, request::host_label, reqwest_clients::ReqwestClients,
    retry::FetchRetry,
};
use crate::{
    SingleFlight,
    ssrf_guard::{HostResolver, SsrfGuard, SystemHostResolver},
};

/// The HTTP client for public sources. Clones share their state.
///
/// Proxy settings of the environment are ignored: a proxy resolves host names itself, so the SSRF
/// guard could not check the addresses. The server needs direct internet access.
#[derive(Clone)]
pub struct HttpClient {
    inner: Arc<HttpClientInner>,
}

/// The state that clones of the client share.
pub(super) struct HttpClientInner {
    pub(super) guard: SsrfGuard,
    pub(super) clients: ReqwestClients,
    pub(super) rate_limiter: SourceRateLimiter,
    pub(super) cache: ResponseCache,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) clean_message: fn(&str) -> String,
    single_flight: SingleFlight<Result<FetchResponse, HttpClientError>>,
}

impl std::fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpClient").finish_non_exhaustive()
    }
}

impl HttpClient {
    /// Creates a client. It reads and connects to nothing yet.
    pub fn new(options: HttpClientOptions) -> Result<Self, HttpClientError> {
        Self::with_clock_and_resolver(options, Arc::new(SystemClock), Arc::new(SystemHostResolver))
    }

    /// Creates a client with another clock and resolver.
    pub fn with_clock_and_resolver(
        options: HttpClientOptions,
        clock: Arc<dyn Clock>,
        names: Arc<dyn HostResolver>,
    ) -> Result<Self, HttpClientError> {
        let HttpClientOptions {
            user_agent: agent,
            folder,
            cache_bytes,
            trusted_origins: trusted,
            clean_message,
        } = options;
        let folder = folder.as_deref();
        let parts = HttpClientInner {
            guard: SsrfGuard::new(&trusted)?,
            clients: ReqwestClients::new(&agent, names)?,
            rate_limiter: SourceRateLimiter::new(folder, Arc::clone(&clock)),
            cache: ResponseCache::new(folder, cache_bytes, Arc::clone(&clock)),
            clock,
            clean_message,
            single_flight: SingleFlight::default(),
        };
        Ok(Self {
            inner: Arc::new(parts),
        })
    }

    /// Sends a request or returns the cached response. Concurrent identical requests share one
    /// response.
    pub async fn get(&self, request: FetchRequest) -> Result<FetchResponse, HttpClientError> {
        self.inner.guard.check(&request.url)?;
        let key = cache_key(&request);
        let flight = single_flight_key(&key, &request);
        let parts = Arc::clone(&self.inner);
        let begin = move || async move { parts.fetch_with_cache(&key, &request).await }.boxed();
        self.inner.single_flight.join(flight, begin).await
    }

    /// Whether the SSRF guard permits a URL as written. The addresses of its host name are checked
    /// only when the client connects.
    pub fn permits(&self, url: &Url) -> bool {
        self.inner.guard.check(url).is_ok()
    }

    /// The rest of the cooldown of a rate limit after a throttled request; zero if there is none.
    pub async fn cooldown(&self, pace: &str) -> Duration {
        self.inner.rate_limiter.cooldown(pace).await
    }

    /// Removes a response from the cache, for callers that found it unreadable.
    pub async fn forget_response(&self, request: &FetchRequest) {
        self.inner.cache.remove(&cache_key(request)).await;
    }

    /// Downloads a file atomically and replaces an existing one.
    ///
    /// `progress` receives the number of bytes so far and, if it is known, the total.
    pub async fn download(
        &self,
        request: DownloadRequest,
        to: &Path,
        progress: &(dyn Fn(u64, Option<u64>) + Send + Sync),
    ) -> Result<DownloadResult, HttpClientError> {
        self.inner.guard.check(&request.url)?;
        let trying = FetchRetry {
            rate_limiter: &self.inner.rate_limiter,
            rate_limit: &request.rate_limit,
            host: host_label(&request.url),
            timeout: request.timeout,
        };
        trying
            .run(|| download(&self.inner, &request, to, progress).boxed())
            .await
    }
}

impl HttpClientInner {
    async fn fetch_with_cache(
        &self,
        key: &str,
        request: &FetchRequest,
    ) -> Result<FetchResponse, HttpClientError> {
        if !request.cache_ttl.is_zero()
            && let Some(kept) = self.cache.read(key, request.cache_ttl).await
            && kept.body.len() as u64 <= request.max_bytes
        {
            return Ok(kept);
        }
        let trying = FetchRetry {
            rate_limiter: &self.rate_limiter,
            rate_limit: &request.rate_limit,
            host: host_label(&request.url),
            timeout: request.timeout,
        };
        let reply = trying.run(|| fetch(self, request).boxed()).await?;
        if !request.cache_ttl.is_zero() && is_cacheable(&reply, request) {
            self.cache.write(key, &reply).await;
        }
        Ok(reply)
    }
}

/// The cache key: everything that distinguishes requests except the secrets.
fn cache_key(request: &FetchRequest) -> String {
    let method: &[u8] = if request.body.is_some() {
        b"POST"
    } else {
        b"GET"
    };
    let url = request.to_outbound().strip_secrets(request.url.clone());
    let body = request.body.as_ref().map(ToString::to_string);
    digest(&[
        method,
        url.as_str().as_bytes(),
        body.unwrap_or_default().as_bytes(),
        request.accept.as_bytes(),
    ])
}

/// The key under which concurrent requests share a response: the cache key, the secrets and the
/// limits. It stays in memory.
fn single_flight_key(key: &str, request: &FetchRequest) -> String {
    let bounds = format!(
        "{} {:?} {:?}",
        request.max_bytes, request.timeout, request.cache_ttl
    );
    let mut parts = vec![key.as_bytes(), bounds.as_bytes()];
    for (name, value) in request.secret_headers.iter().chain(&request.secret_query) {
        parts.push(name.as_bytes());
        parts.push(value.expose_secret().as_bytes());
    }
    digest(&parts)
}

/// Whether a response may be cached: not a captive portal's page, and not a truncated response.
fn is_cacheable(reply: &FetchResponse, request: &FetchRequest) -> bool {
    let wants = |kind: &str| request.accept.contains(kind);
    let is_stray_page = reply.is_html() && !wants("html") && !wants("*/*");
    let is_broken = || {
        request.accept == "application/json"
            && serde_json::from_slice::<serde::de::IgnoredAny>(&reply.body).is_err()
    };
    reply.status == 200 && !is_stray_page && !is_broken() && !echoes_secret(reply, request)
}

/// Secrets shorter than this are not searched for, because any text may contain them.
const MIN_SECRET_LEN: usize = 6;

/// Whether a response repeats a secret and so must not be cached.
fn echoes_secret(reply: &FetchResponse, request: &FetchRequest) -> bool {
    let mut secrets = request.secret_headers.iter().chain(&request.secret_query);
    secrets.any(|(_, secret)| {
        let secret = secret.expose_secret().as_bytes();
        secret.len() >= MIN_SECRET_LEN
            && [&reply.body, reply.url.as_str().as_bytes()]
                .iter()
                .any(|it| memchr::memmem::find(it, secret).is_some())
    })
}
