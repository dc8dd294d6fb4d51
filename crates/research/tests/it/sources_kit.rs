//! A stand-in for every source on loopback, with recorded answers, and the sources that ask it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use deliberate_research::{
    sources::{PaperQuery, Source, SourceFound, SourceSettings, all},
    web::{Web, WebOptions},
};
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path},
};

/// A server, and the way to it.
pub(crate) struct Desk {
    pub(crate) server: MockServer,
    pub(crate) web: Web,
    pub(crate) key: Option<&'static str>,
    pub(crate) contact: Option<&'static str>,
    pub(crate) keep: Duration,
}

impl Desk {
    pub(crate) async fn new() -> Self {
        let server = MockServer::start().await;
        let web = Web::new(options(&server)).unwrap();
        Self {
            server,
            web,
            key: None,
            contact: None,
            keep: Duration::ZERO,
        }
    }

    /// A source by its name, which asks here under `/api`.
    pub(crate) fn source(&self, name: &str) -> Arc<dyn Source> {
        self.source_by(&self.web, name)
    }

    /// How the server is reached.
    pub(crate) fn options(&self) -> WebOptions {
        options(&self.server)
    }

    /// The same, on a way of its own.
    pub(crate) fn source_by(&self, web: &Web, name: &str) -> Arc<dyn Source> {
        let settings = |_: &str| SourceSettings {
            base_url: Some(format!("{}/api", self.server.uri()).parse().unwrap()),
            key: self.key.map(Into::into),
            contact: self.contact.map(str::to_owned),
            keep: self.keep,
        };
        let found = all(web, settings)
            .into_iter()
            .find(|it| it.about().name == name);
        found.unwrap_or_else(|| panic!("there is no source {name}"))
    }

    /// Answers at a path with a recorded file.
    pub(crate) async fn answers(&self, at: &str, file: &str) {
        self.replies(at, reply(200, file)).await;
    }

    pub(crate) async fn replies(&self, at: &str, reply: ResponseTemplate) {
        let mock = Mock::given(method("GET")).and(path(format!("/api{at}")));
        mock.respond_with(reply).mount(&self.server).await;
    }

    /// Answers whatever is asked for.
    pub(crate) async fn always(&self, reply: ResponseTemplate) {
        let mock = Mock::given(method("GET"));
        mock.respond_with(reply).mount(&self.server).await;
    }

    /// What was asked, as it came over the wire.
    pub(crate) async fn asked(&self) -> Vec<String> {
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

    /// What was asked and what was found.
    pub(crate) async fn story(&self, found: SourceFound) -> Value {
        json!({
            "asked": self.asked().await,
            "articles": found.articles,
            "total": found.total,
            "ignored": found.ignored,
            "skipped": found.skipped,
        })
    }
}

fn options(server: &MockServer) -> WebOptions {
    WebOptions {
        agent: "deliberate-tests/1.0".to_owned(),
        folder: None,
        cache_bytes: 1 << 20,
        trusted: vec![server.uri()],
    }
}

/// A recorded file as an answer.
pub(crate) fn reply(status: u16, file: &str) -> ResponseTemplate {
    let kind = match file.rsplit('.').next() {
        Some("json") => "application/json; charset=utf-8",
        Some("html") => "text/html",
        _ => "application/atom+xml; charset=UTF-8",
    };
    ResponseTemplate::new(status).set_body_raw(recorded(file), kind)
}

pub(crate) fn recorded(file: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    std::fs::read(folder.join(file)).unwrap_or_else(|it| panic!("{file}: {it}"))
}

/// A question with words alone.
pub(crate) fn words(words: &str, limit: usize) -> PaperQuery {
    PaperQuery {
        words: words.to_owned(),
        limit,
        ..PaperQuery::default()
    }
}
