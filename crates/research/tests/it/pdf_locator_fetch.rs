//! Tests of downloads from one place after another until one has the file.

use std::{sync::Arc, time::Duration};

use deliberate_core::{Article, ArxivId};
use serde_json::json;

use super::{
    pdf_locator::{FixedSource, article_with_doi, locator},
    raw_http_server::{
        RawHttpServer, ResponseStep, client_options, http_client, http_response,
        json_response as answer,
    },
};
use deliberate_research::{
    pdf_locator::{PdfFetchLimits, PdfLocator},
    sources::PdfLocation,
};

#[tokio::test]
async fn places_are_tried_until_one_has_it() {
    let server = RawHttpServer::start(|_, head| {
        vec![ResponseStep::Send(if head.starts_with("GET /good") {
            http_response("200 OK", "", "%PDF-1.4 x")
        } else if head.starts_with("GET /page") {
            http_response("200 OK", "content-type: text/html\r\n", "<html>")
        } else if head.starts_with("GET /v2") {
            let port = head
                .lines()
                .find_map(|it| it.strip_prefix("host: 127.0.0.1:"));
            let good = format!("http://127.0.0.1:{}/good", port.unwrap_or_default());
            answer(&json!({"is_oa": true, "best_oa_location": {"url_for_pdf": good}}).to_string())
        } else {
            http_response("404 Not Found", "", "")
        })]
    })
    .await;
    let mut locator = locator(&server);
    locator.arxiv_pdf_base = Some(server.url("/gone/"));
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("paper.pdf");
    let limits = PdfFetchLimits::default();
    let article = Article {
        arxiv_id: ArxivId::parse("2301.00001"),
        pdf_url: Some("http://127.0.0.1:9/private.pdf".to_owned()),
        ..article_with_doi("10.1234/x")
    };
    let obtained = locator
        .locate_and_fetch(&article, &to, limits, &|_, _| {})
        .await
        .unwrap();
    assert_eq!(obtained.location.source, "unpaywall");
    assert_eq!(obtained.file.bytes, 10);
    let why: Vec<&str> = obtained.failures.iter().map(|(_, it)| it.code()).collect();
    // A forbidden address is not even tried.
    assert_eq!(why, ["not_found"]);
    assert!(to.exists());
    assert!(
        server
            .request_heads()
            .iter()
            .any(|it| it.starts_with("GET /gone/2301.00001 "))
    );
    let place = |url: &str| PdfLocation {
        url: url.to_owned(),
        source: "test".to_owned(),
        version: None,
        licence: None,
    };
    let bad = [place("no address"), place(server.url("/page").as_str())];
    let failed = locator
        .fetch(&bad, &to, limits, &|_, _| {})
        .await
        .unwrap_err();
    let why: Vec<&str> = failed.iter().map(|(_, it)| it.code()).collect();
    assert_eq!(why, ["forbidden", "unreadable"]);
}

#[tokio::test]
async fn what_may_be_closed_is_tried_last_and_what_is_closed_is_not() {
    let server = RawHttpServer::responding_with(http_response("200 OK", "", "%PDF-1.4 x")).await;
    let mut locator = PdfLocator::new(http_client(client_options(&[&server])));
    let address: &'static str = server.url("/c.pdf").to_string().leak();
    locator.sources = vec![Arc::new(FixedSource("crossref", Ok(vec![address])))];
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("paper.pdf");
    let limits = PdfFetchLimits::default();
    let closed = Article {
        open_access: Some(false),
        ..article_with_doi("10.1234/x")
    };
    let (located, failed) = locator
        .locate_and_fetch(&closed, &to, limits, &|_, _| {})
        .await
        .unwrap_err();
    assert_eq!((located.doubtful.len(), failed.len()), (1, 0));
    assert_eq!(server.request_count(), 0);
    let unknown = article_with_doi("10.1234/x");
    let obtained = locator
        .locate_and_fetch(&unknown, &to, limits, &|_, _| {})
        .await;
    assert_eq!(obtained.unwrap().location.url, address);
}

#[tokio::test]
async fn many_slow_places_do_not_take_for_ever() {
    let server =
        RawHttpServer::start(|_, _| vec![ResponseStep::Pause(Duration::from_mins(1))]).await;
    let locator = PdfLocator::new(http_client(client_options(&[&server])));
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("paper.pdf");
    let places: Vec<PdfLocation> = (0..16)
        .map(|it| PdfLocation {
            url: server.url(&format!("/{it}")).to_string(),
            source: "test".to_owned(),
            version: None,
            licence: None,
        })
        .collect();
    let limits = PdfFetchLimits {
        timeout: Duration::from_millis(50),
        ..PdfFetchLimits::default()
    };
    let failed = locator.fetch(&places, &to, limits, &|_, _| {}).await;
    assert!(failed.unwrap_err().len() < 4);
}
