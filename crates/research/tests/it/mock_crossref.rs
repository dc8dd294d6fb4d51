//! Mock sources with the records that a test gives them, for questions and citations.

use std::{sync::Arc, time::Duration};

use deliberate_core::Clock;
use deliberate_research::sources::SourceSettings;
use serde_json::{Value, json};
use tempfile::TempDir;
use url::Url;
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path, path_regex},
};

use super::research_harness::ResearchHarness;

/// A Crossref record.
pub(crate) fn crossref_work(doi: &str, title: &str, year: i32) -> Value {
    json!({
        "DOI": doi,
        "type": "journal-article",
        "title": [title],
        "container-title": ["Journal of Bogs"],
        "author": [{ "given": "Ada", "family": "Lovelace" }],
        "issued": { "date-parts": [[year, 5, 17]] },
    })
}

/// The Crossref response to a search.
pub(crate) fn search_response(items: &[Value]) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({
        "status": "ok",
        "message": { "total-results": items.len(), "items": items },
    }))
}

/// The Crossref response for one DOI.
pub(crate) fn work_response(item: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({ "status": "ok", "message": item }))
}

/// Mounts a response at a path, with priority over earlier ones.
pub(crate) async fn mount_response(
    server: &MockServer,
    place: &str,
    reply: ResponseTemplate,
    times: u64,
) {
    let mock = Mock::given(method("GET"))
        .and(path(place))
        .respond_with(reply);
    mock.up_to_n_times(times)
        .with_priority(1)
        .mount(server)
        .await;
}

/// A mock Crossref with these works: a search returns all, a DOI its own.
pub(crate) async fn mock_crossref(items: &[Value]) -> MockServer {
    let server = MockServer::start().await;
    for item in items {
        let doi = item["DOI"].as_str().unwrap();
        let pattern = format!(
            "^/works/{}$",
            doi.replace('/', "(/|%2F)").replace('.', "\\.")
        );
        Mock::given(method("GET"))
            .and(path_regex(pattern))
            .respond_with(work_response(item))
            .mount(&server)
            .await;
    }
    Mock::given(method("GET"))
        .and(path("/works"))
        .respond_with(search_response(items))
        .mount(&server)
        .await;
    server
}

/// A harness that asks only this Crossref.
pub(crate) fn harness_for(server: &MockServer) -> ResearchHarness {
    ResearchHarness::with_sources(&server.uri(), &["crossref"])
}

/// Like `harness_for`, with another clock and poll interval.
pub(crate) fn harness_with_clock(
    server: &MockServer,
    clock: Arc<dyn Clock>,
    every: Option<Duration>,
) -> ResearchHarness {
    harness_in_folder(server, Arc::new(tempfile::tempdir().unwrap()), clock, every)
}

/// Like `harness_with_clock`, in a folder that may be shared.
pub(crate) fn harness_in_folder(
    server: &MockServer,
    folder: Arc<TempDir>,
    clock: Arc<dyn Clock>,
    every: Option<Duration>,
) -> ResearchHarness {
    let base = Url::parse(&server.uri()).unwrap();
    ResearchHarness::with_clock(folder, clock, |options| {
        options.schedule_interval = every;
        let settings = SourceSettings {
            base_url: Some(base),
            key: None,
            contact: None,
            cache_ttl: Duration::ZERO,
        };
        options.sources.insert("crossref".to_owned(), settings);
    })
}
