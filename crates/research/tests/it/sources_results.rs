//! Tests of each source with recorded answers, and of the requests that it sent.

use deliberate_core::PartialDate;
use deliberate_research::sources::PaperQuery;
use serde_json::json;
use wiremock::ResponseTemplate;

use super::source_harness::{SourceHarness, word_query};

fn date_query(from: &str, to: &str) -> PaperQuery {
    PaperQuery {
        from: PartialDate::parse(from),
        to: PartialDate::parse(to),
        ..word_query("mouse neurons", 10)
    }
}

#[tokio::test]
async fn arxiv() {
    let desk = SourceHarness::new().await;
    desk.mount_file("/query", "arxiv/search.xml").await;
    let found = desk
        .source("arxiv")
        .search(&word_query("attention", 3))
        .await;
    insta::assert_json_snapshot!(desk.requests_and_results(found.unwrap()).await);
}

#[tokio::test]
async fn semantic_scholar() {
    let desk = SourceHarness::new().await;
    desk.mount_file("/paper/search", "semantic_scholar/search.json")
        .await;
    let found = desk
        .source("semantic_scholar")
        .search(&word_query("self-attention models", 10))
        .await;
    insta::assert_json_snapshot!(desk.requests_and_results(found.unwrap()).await);
}

#[tokio::test]
async fn openalex() {
    let desk = SourceHarness::new().await;
    desk.mount_file("/works", "openalex/search.json").await;
    let found = desk
        .source("openalex")
        .search(&word_query("array programming", 3))
        .await;
    insta::assert_json_snapshot!(desk.requests_and_results(found.unwrap()).await);
}

#[tokio::test]
async fn crossref() {
    let desk = SourceHarness::new().await;
    desk.mount_file("/works", "crossref/search.json").await;
    let found = desk
        .source("crossref")
        .search(&word_query("array programming", 4))
        .await;
    insta::assert_json_snapshot!(desk.requests_and_results(found.unwrap()).await);
}

#[tokio::test]
async fn pubmed() {
    let desk = SourceHarness::new().await;
    desk.mount_file("/esearch.fcgi", "pubmed/esearch.json")
        .await;
    desk.mount_file("/efetch.fcgi", "pubmed/efetch.xml").await;
    let found = desk
        .source("pubmed")
        .search(&word_query("array programming", 4))
        .await;
    insta::assert_json_snapshot!(desk.requests_and_results(found.unwrap()).await);
}

#[tokio::test]
async fn biorxiv() {
    let desk = SourceHarness::new().await;
    for page in ["0", "2", "4"] {
        let at = format!("/details/biorxiv/2024-01-01/2024-01-31/{page}/json");
        desk.mount_file(&at, &format!("biorxiv/page{page}.json"))
            .await;
    }
    let found = desk
        .source("biorxiv")
        .search(&date_query("2024-01", "2024-01"))
        .await;
    insta::assert_json_snapshot!(desk.requests_and_results(found.unwrap()).await);
}

#[tokio::test]
async fn medrxiv() {
    let desk = SourceHarness::new().await;
    let at = "/details/medrxiv/2024-02-01/2024-02-29/0/json";
    desk.mount_file(at, "medrxiv/page0.json").await;
    let query = PaperQuery {
        words: String::new(),
        categories: vec!["Public and Global Health".to_owned()],
        ..date_query("2024-02", "2024-02")
    };
    let found = desk.source("medrxiv").search(&query).await;
    insta::assert_json_snapshot!(desk.requests_and_results(found.unwrap()).await);
}

#[tokio::test]
async fn europe_pmc() {
    let desk = SourceHarness::new().await;
    desk.mount_file("/search", "europe_pmc/search.json").await;
    let found = desk
        .source("europe_pmc")
        .search(&word_query("array programming", 2))
        .await;
    insta::assert_json_snapshot!(desk.requests_and_results(found.unwrap()).await);
}

#[tokio::test]
async fn a_window_that_is_too_long_is_read_from_its_end() {
    let desk = SourceHarness::new().await;
    let page = serde_json::json!({
        "messages": [{"status": "ok", "count": 1, "total": 4_000_000_000_u64}],
        "collection": [{"title": "Mouse neurons", "doi": "10.1101/1", "date": "2024-01-01"}],
    });
    desk.mount_any(wiremock::ResponseTemplate::new(200).set_body_json(page))
        .await;
    let found = desk
        .source("biorxiv")
        .search(&date_query("2013", "2024"))
        .await
        .unwrap();
    let asked = desk.requested_urls().await;
    assert_eq!(asked.len(), 12, "{asked:?}");
    assert_eq!(
        asked[0],
        "/api/details/biorxiv/2013-01-01/2024-12-31/0/json"
    );
    assert_eq!(
        asked[1],
        "/api/details/biorxiv/2013-01-01/2024-12-31/3999999999/json"
    );
    assert_eq!(found.ignored, ["older days of the window"]);
    assert_eq!(found.articles.len(), 1);
}

#[tokio::test]
async fn pages_follow_one_another() {
    let desk = SourceHarness::new().await;
    let page = |mark: &str, file: &str| {
        wiremock::Mock::given(wiremock::matchers::query_param("cursorMark", mark))
            .respond_with(super::source_harness::file_response(200, file))
    };
    page("*", "europe_pmc/full_page.json")
        .mount(&desk.server)
        .await;
    page("AoII+/==", "europe_pmc/page2.json")
        .mount(&desk.server)
        .await;
    let found = desk
        .source("europe_pmc")
        .search(&word_query("array", 120))
        .await
        .unwrap();
    assert_eq!(found.articles.len(), 101);
    let last = found.articles.last().unwrap();
    assert_eq!(last.title, "Something & something else");
    assert_eq!(last.authors[1].family, "van der Berg");
    let asked = desk.requested_urls().await;
    assert!(
        asked[1].contains("pageSize=20&cursorMark=AoII%2B%2F%3D%3D"),
        "{asked:?}"
    );
}

#[tokio::test]
async fn crossref_takes_names_for_words_and_what_is_not_meant_is_left_out() {
    let work = |family: &str, venue: &str| {
        json!({
            "title": [format!("By {family} in {venue}")],
            "container-title": [venue],
            "author": [{ "given": "Ada", "family": family }],
        })
    };
    let items = [
        work("Lovelace", "Journal of Bogs"),
        work("Love", "Journal of Bogs"),
        work("Lovelace", "Annals of Fens"),
    ];
    let desk = SourceHarness::new().await;
    let answer = json!({ "message": { "total-results": 3, "items": items } });
    desk.mount_response("/works", ResponseTemplate::new(200).set_body_json(answer))
        .await;
    let query = PaperQuery {
        authors: vec!["Ada Lovelace".to_owned()],
        venue: Some("bogs".to_owned()),
        ..word_query("peat", 10)
    };
    let found = desk.source("crossref").search(&query).await.unwrap();
    let titles: Vec<&str> = found.articles.iter().map(|it| it.title.as_str()).collect();
    assert_eq!(titles, ["By Lovelace in Journal of Bogs"]);
}
