//! A mock server with recorded answers of every source, and sources that use it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use deliberate_research::{
    http::{HttpClient, HttpClientOptions, strip_markup_chars},
    sources::{PaperQuery, PaperSource, SourceResult, SourceSettings, all_sources},
};
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path},
};

/// A mock server and a client for it.
pub(crate) struct SourceHarness {
    pub(crate) server: MockServer,
    pub(crate) http: HttpClient,
    pub(crate) key: Option<&'static str>,
    pub(crate) contact: Option<&'static str>,
    pub(crate) cache_ttl: Duration,
}

impl SourceHarness {
    pub(crate) async fn new() -> Self {
        let server = MockServer::start().await;
        let web = HttpClient::new(client_options(&server)).unwrap();
        Self {
            server,
            http: web,
            key: None,
            contact: None,
            cache_ttl: Duration::ZERO,
        }
    }

    /// A source by name, which uses the server under `/api`.
    pub(crate) fn source(&self, name: &str) -> Arc<dyn PaperSource> {
        self.source_with_client(&self.http, name)
    }

    /// Client options that allow the server.
    pub(crate) fn options(&self) -> HttpClientOptions {
        client_options(&self.server)
    }

    /// Like `source`, with another client.
    pub(crate) fn source_with_client(&self, web: &HttpClient, name: &str) -> Arc<dyn PaperSource> {
        let settings = |_: &str| SourceSettings {
            base_url: Some(format!("{}/api", self.server.uri()).parse().unwrap()),
            key: self.key.map(Into::into),
            contact: self.contact.map(str::to_owned),
            cache_ttl: self.cache_ttl,
        };
        let found = all_sources(web, settings)
            .into_iter()
            .find(|it| it.info().name == name);
        found.unwrap_or_else(|| panic!("there is no source {name}"))
    }

    /// Answers at a path with a recorded file.
    pub(crate) async fn mount_file(&self, at: &str, file: &str) {
        self.mount_response(at, file_response(200, file)).await;
    }

    pub(crate) async fn mount_response(&self, at: &str, reply: ResponseTemplate) {
        let mock = Mock::given(method("GET")).and(path(format!("/api{at}")));
        mock.respond_with(reply).mount(&self.server).await;
    }

    /// Answers every request.
    pub(crate) async fn mount_any(&self, reply: ResponseTemplate) {
        let mock = Mock::given(method("GET"));
        mock.respond_with(reply).mount(&self.server).await;
    }

    /// URLs of all requests, as they arrived.
    pub(crate) async fn requested_urls(&self) -> Vec<String> {
        let requests = self.server.received_requests().await.unwrap();
        let line = |it: &wiremock::Request| {
            let query = it
                .url
                .query()
                .map(|it| format!("?{it}"))
                .unwrap_or_default();
            format!("{}{query}", it.url.path())
        };
        requests.iter().map(line).collect()
    }

    /// The requests and the result.
    pub(crate) async fn requests_and_results(&self, found: SourceResult) -> Value {
        json!({
            "asked": self.requested_urls().await,
            "articles": found.articles,
            "total": found.total,
            "ignored": found.ignored,
            "skipped": found.skipped,
        })
    }
}

fn client_options(server: &MockServer) -> HttpClientOptions {
    HttpClientOptions {
        user_agent: "deliberate-tests/1.0".to_owned(),
        folder: None,
        cache_bytes: 1 << 20,
        trusted_origins: vec![server.uri()],
        clean_message: strip_markup_chars,
    }
}

/// A response with a recorded file.
pub(crate) fn file_response(status: u16, file: &str) -> ResponseTemplate {
    let kind = match file.rsplit('.').next() {
        Some("json") => "application/json; charset=utf-8",
        Some("html") => "text/html",
        _ => "application/atom+xml; charset=UTF-8",
    };
    ResponseTemplate::new(status).set_body_raw(read_recorded(file), kind)
}

pub(crate) fn read_recorded(file: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    std::fs::read(folder.join(file)).unwrap_or_else(|it| panic!("{file}: {it}"))
}

/// A query with words only.
pub(crate) fn word_query(words: &str, limit: usize) -> PaperQuery {
    PaperQuery {
        words: words.to_owned(),
        limit,
        ..PaperQuery::default()
    }
}
