//! A client that may reach a local server, and a resolver with fixed names.

use std::{
    collections::HashMap,
    io,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use deliberate_core::Clock;
use deliberate_http_client::{
    FetchRequest, HostResolver, HttpClient, HttpClientOptions, SourceRateLimit,
};
use deliberate_testkit::raw_http_server::RawHttpServer;
use futures::future::BoxFuture;
use url::Url;

/// A resolver with fixed names that counts lookups.
#[derive(Default)]
pub(crate) struct FixedResolver {
    pub(crate) by_name: HashMap<String, Vec<IpAddr>>,
    pub(crate) lookups: AtomicUsize,
}

impl FixedResolver {
    pub(crate) fn new(names: &[(&str, &[&str])]) -> Arc<Self> {
        let by_name = names.iter().map(|(name, addresses)| {
            let addresses = addresses.iter().map(|it| it.parse().unwrap()).collect();
            ((*name).to_owned(), addresses)
        });
        Arc::new(Self {
            by_name: by_name.collect(),
            lookups: AtomicUsize::new(0),
        })
    }
}

impl HostResolver for FixedResolver {
    fn lookup(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        self.lookups.fetch_add(1, Ordering::SeqCst);
        let found = self.by_name.get(name).cloned();
        Box::pin(async move { found.ok_or_else(|| io::Error::other("no such name")) })
    }
}

pub(crate) fn client_options(trusted: &[&RawHttpServer]) -> HttpClientOptions {
    HttpClientOptions {
        user_agent: "deliberate/test".to_owned(),
        folder: None,
        cache_bytes: 1024 * 1024,
        trusted_origins: trusted.iter().map(|it| it.origin.clone()).collect(),
        clean_message: str::to_owned,
    }
}

pub(crate) fn http_client(options: HttpClientOptions) -> HttpClient {
    HttpClient::with_clock_and_resolver(
        options,
        Arc::new(deliberate_core::SystemClock),
        FixedResolver::new(&[]),
    )
    .unwrap()
}

pub(crate) fn http_client_with_clock(
    options: HttpClientOptions,
    clock: Arc<dyn Clock>,
) -> HttpClient {
    HttpClient::with_clock_and_resolver(options, clock, FixedResolver::new(&[])).unwrap()
}

/// A request without a rate limit.
pub(crate) fn unlimited_request(url: Url) -> FetchRequest {
    FetchRequest::new(url, unlimited_rate())
}

pub(crate) fn unlimited_rate() -> SourceRateLimit {
    SourceRateLimit::new("test", Duration::ZERO).max_concurrent(50)
}
