//! Fetching from one place after another until one has the file.

use std::{sync::Arc, time::Duration};

use deliberate_core::{Article, ArxivId};
use deliberate_research::{
    locate::{FetchLimits, Locator},
    sources::PdfPlace,
};
use serde_json::json;

use super::{
    locate::{Knows, locator, paper},
    web_kit::{Raw, Step, http, json as answer, options, web},
};

#[tokio::test]
async fn places_are_tried_until_one_has_it() {
    let server = Raw::start(|_, head| {
        vec![Step::Send(if head.starts_with("GET /good") {
            http("200 OK", "", "%PDF-1.4 x")
        } else if head.starts_with("GET /page") {
            http("200 OK", "content-type: text/html\r\n", "<html>")
        } else if head.starts_with("GET /v2") {
            let port = head
                .lines()
                .find_map(|it| it.strip_prefix("host: 127.0.0.1:"));
            let good = format!("http://127.0.0.1:{}/good", port.unwrap_or_default());
            answer(&json!({"is_oa": true, "best_oa_location": {"url_for_pdf": good}}).to_string())
        } else {
            http("404 Not Found", "", "")
        })]
    })
    .await;
    let mut locator = locator(&server);
    locator.arxiv_pdfs = Some(server.url("/gone/"));
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("paper.pdf");
    let limits = FetchLimits::default();
    let article = Article {
        arxiv_id: ArxivId::parse("2301.00001"),
        pdf_url: Some("http://127.0.0.1:9/private.pdf".to_owned()),
        ..paper("10.1234/x")
    };
    let obtained = locator
        .obtain(&article, &to, limits, &|_, _| {})
        .await
        .unwrap();
    assert_eq!(obtained.place.source, "unpaywall");
    assert_eq!(obtained.file.bytes, 10);
    let why: Vec<&str> = obtained.failed.iter().map(|(_, it)| it.code()).collect();
    // What may not be asked is not even tried.
    assert_eq!(why, ["not_found"]);
    assert!(to.exists());
    assert!(
        server
            .heads()
            .iter()
            .any(|it| it.starts_with("GET /gone/2301.00001 "))
    );
    let place = |url: &str| PdfPlace {
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
    let server = Raw::saying(http("200 OK", "", "%PDF-1.4 x")).await;
    let mut locator = Locator::new(web(options(&[&server])));
    let address: &'static str = server.url("/c.pdf").to_string().leak();
    locator.sources = vec![Arc::new(Knows("crossref", Ok(vec![address])))];
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("paper.pdf");
    let limits = FetchLimits::default();
    let closed = Article {
        open_access: Some(false),
        ..paper("10.1234/x")
    };
    let (located, failed) = locator
        .obtain(&closed, &to, limits, &|_, _| {})
        .await
        .unwrap_err();
    assert_eq!((located.doubtful.len(), failed.len()), (1, 0));
    assert_eq!(server.requests(), 0);
    let unknown = paper("10.1234/x");
    let obtained = locator.obtain(&unknown, &to, limits, &|_, _| {}).await;
    assert_eq!(obtained.unwrap().place.url, address);
}

#[tokio::test]
async fn many_slow_places_do_not_take_for_ever() {
    let server = Raw::start(|_, _| vec![Step::Pause(Duration::from_mins(1))]).await;
    let locator = Locator::new(web(options(&[&server])));
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("paper.pdf");
    let places: Vec<PdfPlace> = (0..16)
        .map(|it| PdfPlace {
            url: server.url(&format!("/{it}")).to_string(),
            source: "test".to_owned(),
            version: None,
            licence: None,
        })
        .collect();
    let limits = FetchLimits {
        time: Duration::from_millis(50),
        ..FetchLimits::default()
    };
    let failed = locator.fetch(&places, &to, limits, &|_, _| {}).await;
    assert!(failed.unwrap_err().len() < 4);
}
