//! A client that may reach a local server and resolves no names.

use std::{io, net::IpAddr, sync::Arc};

use deliberate_research::http::{HostResolver, HttpClient, HttpClientOptions, strip_markup_chars};
pub(crate) use deliberate_testkit::raw_http_server::{
    RawHttpServer, ResponseStep, http_response, json_response,
};
use futures::future::BoxFuture;

struct NoHostResolver;

impl HostResolver for NoHostResolver {
    fn lookup(&self, _: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async { Err(io::Error::other("no such name")) })
    }
}

pub(crate) fn client_options(trusted: &[&RawHttpServer]) -> HttpClientOptions {
    HttpClientOptions {
        user_agent: "deliberate/test".to_owned(),
        folder: None,
        cache_bytes: 1024 * 1024,
        trusted_origins: trusted.iter().map(|it| it.origin.clone()).collect(),
        clean_message: strip_markup_chars,
    }
}

pub(crate) fn http_client(options: HttpClientOptions) -> HttpClient {
    HttpClient::with_clock_and_resolver(
        options,
        Arc::new(deliberate_core::SystemClock),
        Arc::new(NoHostResolver),
    )
    .unwrap()
}
