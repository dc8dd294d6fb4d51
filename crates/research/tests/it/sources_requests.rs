//! Tests of requests with all options: each in the syntax of its source, encoded once, with keys
//! only where they belong.

use deliberate_core::PartialDate;
use deliberate_research::sources::{PaperOrder, PaperQuery};
use serde_json::json;
use wiremock::ResponseTemplate;

use super::source_harness::{SourceHarness, word_query};

fn full_query() -> PaperQuery {
    PaperQuery {
        words: "what is the role of \"mTOR\" AND C++ in (aging)?".to_owned(),
        phrases: vec![
            "self-supervised learning".to_owned(),
            "drug & gene".to_owned(),
        ],
        authors: vec![
            "van der Maaten, Laurens".to_owned(),
            "José Álvarez".to_owned(),
        ],
        venue: Some("Cell: Reports".to_owned()),
        categories: vec!["cs.LG".to_owned(), "neuroscience".to_owned()],
        from: PartialDate::parse("2020-02"),
        to: PartialDate::parse("2024"),
        limit: 5,
        order: PaperOrder::Relevance,
    }
}

const SEARCHED_SOURCES: &[&str] = &[
    "arxiv",
    "semantic_scholar",
    "openalex",
    "crossref",
    "pubmed",
    "europe_pmc",
];

async fn requests_for(query: &PaperQuery, key: Option<&'static str>) -> serde_json::Value {
    let mut all = serde_json::Map::new();
    for name in SEARCHED_SOURCES {
        let mut desk = SourceHarness::new().await;
        (desk.key, desk.contact) = (key, key.map(|_| "me@example.org"));
        desk.mount_any(ResponseTemplate::new(404)).await;
        desk.source(name).search(query).await.unwrap_err();
        let requests = desk.server.received_requests().await.unwrap();
        let headers = [
            "x-api-key",
            "crossref-plus-api-token",
            "accept",
            "user-agent",
        ];
        let headers = headers.iter().filter_map(|it| {
            let value = requests[0].headers.get(*it)?.to_str().unwrap();
            Some(format!("{it}: {value}"))
        });
        let pairs = requests[0]
            .url
            .query_pairs()
            .map(|(name, it)| format!("{name} = {it}"));
        all.insert(
            (*name).to_owned(),
            json!({
                "line": desk.requested_urls().await[0],
                "means": pairs.collect::<Vec<_>>(),
                "headers": headers.collect::<Vec<_>>(),
            }),
        );
    }
    all.into()
}

#[tokio::test]
async fn everything_at_once() {
    insta::assert_json_snapshot!(requests_for(&full_query(), None).await);
}

#[tokio::test]
async fn the_newest_with_a_key() {
    let query = PaperQuery {
        order: PaperOrder::Newest,
        ..word_query("graph neural networks", 5)
    };
    insta::assert_json_snapshot!(requests_for(&query, Some("s3cret-key")).await);
}

#[tokio::test]
async fn nothing_is_not_asked_for() {
    for name in SEARCHED_SOURCES.iter().chain(&["biorxiv"]) {
        let desk = SourceHarness::new().await;
        let error = desk
            .source(name)
            .search(&word_query(" ?! ", 5))
            .await
            .unwrap_err();
        assert_eq!(error.code(), "local", "{name}");
        assert!(error.to_string().contains("the query is empty"), "{error}");
        assert!(desk.requested_urls().await.is_empty(), "{name}");
    }
}

#[tokio::test]
async fn limits_are_bounded() {
    for (limit, asked) in [(0, "max_results=1&"), (usize::MAX, "max_results=500&")] {
        let desk = SourceHarness::new().await;
        desk.mount_file("/query", "arxiv/empty.xml").await;
        desk.source("arxiv")
            .search(&word_query("x", limit))
            .await
            .unwrap();
        assert!(desk.requested_urls().await[0].contains(asked));
    }
}
