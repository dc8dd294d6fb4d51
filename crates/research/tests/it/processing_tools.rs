//! Tests of files, batches, downloads, and records, with mock sources.

use deliberate_testkit::wait_until_async;
use deliberate_toolkit::CallerContext;
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path, path_regex},
};

use super::research_harness::{ResearchHarness, files_in, paper_pdf, said_text};

const DOI: &str = "10.5555/bees";

fn crossref_response(title: &str) -> Value {
    json!({ "status": "ok", "message-type": "work", "message": {
        "DOI": DOI,
        "type": "journal-article",
        "title": [title],
        "author": [{ "given": "Ada", "family": "Lovelace", "sequence": "first" }],
        "container-title": ["Journal of Bees"],
        "issued": { "date-parts": [[2019, 5]] },
        "is-referenced-by-count": 12
    } })
}

/// A server that knows one work and has its PDF.
async fn mock_source_and_pdf(title: &str, about: &str) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("GET"))
        .and(path_regex("^/works/10.5555(/|%2F)bees$"))
        .respond_with(ResponseTemplate::new(200).set_body_json(crossref_response(title)))
        .mount(&server)
        .await;
    let pdf = ResponseTemplate::new(200).set_body_raw(paper_pdf(title, about), "application/pdf");
    Mock::given(method("GET"))
        .and(path("/files/bees.pdf"))
        .respond_with(pdf)
        .mount(&server)
        .await;
    let page =
        ResponseTemplate::new(200).set_body_raw("<html><body>Buy it</body></html>", "text/html");
    Mock::given(method("GET"))
        .and(path("/files/page.pdf"))
        .respond_with(page)
        .mount(&server)
        .await;
    server
}

#[tokio::test]
async fn a_file_is_read_once_and_again_if_it_changed() {
    let kit = ResearchHarness::new();
    let path = kit.write_paper("bees.pdf", paper_pdf("On bees and their ways", "bees"));
    let first = kit
        .call_ok("process_pdf", json!({ "pdf_path": path }))
        .await;
    assert_eq!(
        (
            first["outcome"].as_str(),
            first["article"]["pages"].as_u64()
        ),
        (Some("added"), Some(2))
    );
    assert_eq!(first["article"]["title"], "On bees and their ways");
    assert!(first["headings"].as_u64().unwrap() >= 3, "{first:#}");
    let same = kit
        .call_ok("process_pdf", json!({ "pdf_path": "bees.pdf" }))
        .await;
    assert_eq!(
        (same["outcome"].as_str(), &same["article_id"]),
        (Some("unchanged"), &first["article_id"])
    );
    kit.write_paper(
        "bees.pdf",
        paper_pdf("On bees and their ways", "bumblebees"),
    );
    let changed = kit
        .call_ok("process_pdf", json!({ "pdf_path": "bees.pdf" }))
        .await;
    assert_eq!(
        (changed["outcome"].as_str(), &changed["article_id"]),
        (Some("joined"), &first["article_id"])
    );
    let found = kit
        .call_ok("search_articles", json!({ "query": "bumblebees" }))
        .await;
    assert!(
        found["results"][0]["preview"]
            .as_str()
            .unwrap()
            .contains("bumblebees"),
        "{found:#}"
    );
    assert_eq!(kit.call_ok("list_articles", json!({})).await["total"], 1);
}

#[tokio::test]
async fn a_folder_is_read_file_by_file_and_broken_ones_are_told() {
    let kit = ResearchHarness::new();
    kit.write_paper("in/a.pdf", paper_pdf("On bees and their ways", "bees"));
    kit.write_paper("in/b.pdf", "%PDF-1.4 broken");
    kit.write_paper("in/c.md", "# On ants\n\nWords.");
    kit.write_paper("in/deep/d.txt", "Plain words of a file.");
    kit.write_paper("in/e.exe", "no document");
    let batch = kit
        .call_ok("batch_process_pdfs", json!({ "directory_path": "in" }))
        .await;
    let results = batch["results"].as_array().unwrap();
    let outcomes: Vec<&str> = results
        .iter()
        .map(|it| it["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["added", "failed", "added", "added"], "{batch:#}");
    assert!(
        said_text(&batch).contains("3 added, 1 failed"),
        "{}",
        said_text(&batch)
    );
    assert_eq!(kit.call_ok("list_articles", json!({})).await["total"], 3);
    let again = kit
        .call_ok("batch_process_pdfs", json!({ "directory_path": "in" }))
        .await;
    assert!(
        said_text(&again).contains("4 in all: 3 unchanged, 1 failed"),
        "{}",
        said_text(&again)
    );
    let wrong = kit
        .call_error("batch_process_pdfs", json!({ "directory_path": "/etc" }))
        .await;
    assert!(wrong.starts_with("PathNotAllowed"), "{wrong}");
}

#[tokio::test]
async fn metadata_is_told_and_nothing_kept() {
    let kit = ResearchHarness::new();
    kit.write_paper("bees.pdf", paper_pdf("On bees and their ways", "bees"));
    let told = json!({ "pdf_path": "bees.pdf", "analyze_structure": true });
    let told = kit.call_ok("extract_pdf_metadata", told).await;
    assert_eq!(
        (told["title"].as_str(), told["pages"].as_u64()),
        (Some("On bees and their ways"), Some(2))
    );
    assert!(!told["headings"].as_array().unwrap().is_empty());
    assert_eq!(kit.call_ok("list_articles", json!({})).await["total"], 0);
}

#[tokio::test]
async fn a_paper_comes_by_its_id_and_its_file_joins_it() {
    let server = mock_source_and_pdf("On bees and their ways", "bees").await;
    let kit = ResearchHarness::with_sources(&server.uri(), &["crossref"]);
    let added = json!({ "identifiers": [DOI, "10.5555/unknown", "no id", DOI] });
    let added = kit.call_ok("add_article", added).await;
    let outcomes: Vec<&str> = added["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["added", "failed", "failed"], "{added:#}");
    let details = kit
        .call_ok("get_article_details", json!({ "article_identifier": DOI }))
        .await;
    assert_eq!(details["summary"]["journal"], "Journal of Bees");
    assert_eq!(details["summary"]["citation_count"], 12);
    let again = kit
        .call_ok("add_article", json!({ "identifiers": [DOI] }))
        .await;
    assert_eq!(again["results"][0]["outcome"], "known");
    let read = kit
        .ingest("bees.pdf", paper_pdf("On bees and their ways", "bees"))
        .await;
    assert_eq!(read, details["article_id"].as_str().unwrap());
    let listed = kit.call_ok("list_articles", json!({})).await;
    assert_eq!(
        (
            listed["total"].as_u64(),
            listed["articles"][0]["pages"].as_u64()
        ),
        (Some(1), Some(2))
    );
}

#[tokio::test]
async fn a_source_that_fails_is_told_and_no_empty_success() {
    let server = MockServer::start().await;
    Mock::given(method("GET"))
        .respond_with(ResponseTemplate::new(500))
        .mount(&server)
        .await;
    let kit = ResearchHarness::with_sources(&server.uri(), &["crossref"]);
    let added = kit
        .call_ok("add_article", json!({ "identifiers": [DOI] }))
        .await;
    assert_eq!(added["results"][0]["outcome"], "failed");
    assert!(
        said_text(&added).contains("no source answered"),
        "{}",
        said_text(&added)
    );
}

#[tokio::test]
async fn a_file_is_fetched_whole_or_not_at_all() {
    let server = mock_source_and_pdf("On bees and their ways", "bees").await;
    let kit = ResearchHarness::with_sources(&server.uri(), &["crossref"]);
    let address = format!("{}/files/bees.pdf", server.uri());
    let got = json!({ "source": address, "output_directory": "new/folder", "filename": "mine" });
    let got = kit.call_ok("download_pdf", got.clone()).await;
    assert_eq!(
        (
            got["file"]["is_pdf"].as_bool(),
            got["file"]["was_there"].as_bool()
        ),
        (Some(true), Some(false))
    );
    let path = kit.papers_folder().join("new/folder/mine.pdf");
    assert_eq!(
        std::fs::read(&path).unwrap().len() as u64,
        got["file"]["bytes"].as_u64().unwrap()
    );

    std::fs::write(&path, "%PDF- another").unwrap();
    let again =
        json!({ "source": address, "output_directory": "new/folder", "filename": "mine.pdf" });
    let again = kit.call_ok("download_pdf", again).await;
    assert_eq!(again["file"]["was_there"], true);
    assert_eq!(std::fs::read(&path).unwrap(), b"%PDF- another");

    let page = json!({ "source": format!("{}/files/page.pdf", server.uri()) });
    let wrong = kit.call_error("download_pdf", page).await;
    assert!(wrong.starts_with("NotAPdf"), "{wrong}");
    assert_eq!(files_in(&kit.papers_folder()), ["new"]);
}

#[tokio::test]
async fn no_file_is_written_elsewhere_and_no_private_address_asked() {
    let kit = ResearchHarness::new();
    let address = "http://127.0.0.1:9/x.pdf";
    let wrong = kit
        .call_error("download_pdf", json!({ "source": address }))
        .await;
    assert!(wrong.starts_with("AddressNotAllowed"), "{wrong}");
    for folder in ["../out", "/tmp", ".hidden", "a/../../b"] {
        let wrong = json!({ "source": address, "output_directory": folder });
        let wrong = kit.call_error("download_pdf", wrong).await;
        assert!(wrong.starts_with("PathNotAllowed"), "{folder}: {wrong}");
    }
    for name in ["../x.pdf", "a/b.pdf", ".x.pdf", "x\u{0}.pdf"] {
        let wrong = json!({ "source": address, "filename": name });
        let wrong = kit.call_error("download_pdf", wrong).await;
        assert!(wrong.contains("filename"), "{name:?}: {wrong}");
    }
    let wrong = kit
        .call_error("download_pdf", json!({ "source": "file:///etc/passwd" }))
        .await;
    assert!(!wrong.contains("Fetched"), "{wrong}");
    assert!(files_in(&kit.papers_folder()).is_empty());
}

#[tokio::test]
async fn where_a_pdf_is_open_is_told_with_who_was_asked() {
    let server = mock_source_and_pdf("On bees and their ways", "bees").await;
    let kit = ResearchHarness::with_sources(&server.uri(), &["crossref"]);
    let located = kit
        .call_ok("locate_pdf", json!({ "article_identifier": DOI }))
        .await;
    assert_eq!(located["places"], json!([]));
    assert_eq!(located["asked"][0]["source"], "crossref");
    assert_eq!(located["pages"], json!([format!("https://doi.org/{DOI}")]));
    assert!(
        said_text(&located).contains("Web pages to check"),
        "{}",
        said_text(&located)
    );
    let near = json!({ "article_identifier": "2301.00001", "search_multiple_sources": false });
    let near = kit.call_ok("locate_pdf", near).await;
    assert!(
        near["places"][0]["url"]
            .as_str()
            .unwrap()
            .contains("2301.00001"),
        "{near:#}"
    );
    let wrong = kit
        .call_error("locate_pdf", json!({ "article_identifier": "who knows" }))
        .await;
    assert!(wrong.starts_with("ArticleNotFound"), "{wrong}");
    let checked = kit
        .call_ok("validate_pdf_sources", json!({ "source_name": "crossref" }))
        .await;
    assert_eq!(checked["asked"].as_array().unwrap().len(), 1, "{checked:#}");
    let kit = ResearchHarness::with_sources(&server.uri(), &["crossref", "pubmed"]);
    let named = json!({ "source_name": "CrossRef", "test_sample": false });
    let listed = kit.call_ok("validate_pdf_sources", named).await;
    assert_eq!(listed["sources"], json!(["crossref"]));
    for name in ["x", "pubmed"] {
        let named = json!({ "source_name": name });
        let wrong = kit.call_error("validate_pdf_sources", named).await;
        assert!(
            wrong.contains("is not a source of PDFs; the sources are arxiv, crossref"),
            "{wrong}"
        );
    }
}

#[tokio::test]
async fn a_download_that_is_taken_back_leaves_nothing() {
    let server = MockServer::start().await;
    let body = paper_pdf("On bees and their ways", "bees");
    let slow = ResponseTemplate::new(200)
        .set_body_raw(body, "application/pdf")
        .set_delay(std::time::Duration::from_mins(1));
    Mock::given(method("GET"))
        .respond_with(slow)
        .mount(&server)
        .await;
    let kit = ResearchHarness::with_sources(&server.uri(), &["crossref"]);
    let caller = CallerContext::default();
    let stop = caller.cancellation.clone();
    let source = json!({ "source": format!("{}/slow.pdf", server.uri()) });
    let call = kit.registry.call("download_pdf", source, caller);
    let taken_back = async {
        wait_until_async(async || {
            let requests = server.received_requests().await;
            !requests.unwrap_or_default().is_empty()
        })
        .await;
        stop.cancel();
    };
    let (ended, ()) = tokio::join!(call, taken_back);
    assert_eq!(ended.unwrap_err().code(), "Cancelled");
    assert_eq!(files_in(&kit.papers_folder()), Vec::<String>::new());
}

#[tokio::test]
async fn a_locked_file_is_told_as_such() {
    let kit = ResearchHarness::new();
    kit.write_paper(
        "locked.pdf",
        include_bytes!("../../../extract/tests/fixtures/locked.pdf"),
    );
    let wrong = kit
        .call_error("process_pdf", json!({ "pdf_path": "locked.pdf" }))
        .await;
    assert!(
        wrong.starts_with("Encrypted") && wrong.contains("without the password"),
        "{wrong}"
    );
}

fn pdf_with_doi(title: &str) -> Vec<u8> {
    let doi = format!("https://doi.org/{DOI}");
    super::research_harness::make_pdf(
        Some(title),
        &[&[
            (20, title),
            (10, &doi),
            (14, "1 Introduction"),
            (
                10,
                "Words about one thing and another, as papers have them.",
            ),
        ]],
    )
}

#[tokio::test]
async fn a_record_is_taken_from_the_source_if_it_is_the_files_own() {
    let server = mock_source_and_pdf("On bees and their ways", "bees").await;
    let kit = ResearchHarness::with_sources(&server.uri(), &["crossref"]);
    kit.write_paper("own.pdf", pdf_with_doi("On bees and their ways"));
    let own = kit
        .call_ok("process_pdf", json!({ "pdf_path": "own.pdf" }))
        .await;
    assert_eq!(
        (
            own["article"]["doi"].as_str(),
            own["article"]["journal"].as_str()
        ),
        (Some(DOI), Some("Journal of Bees"))
    );

    let kit = ResearchHarness::with_sources(&server.uri(), &["crossref"]);
    kit.write_paper("other.pdf", pdf_with_doi("Granite under pressure"));
    let other = kit
        .call_ok("process_pdf", json!({ "pdf_path": "other.pdf" }))
        .await;
    assert!(other["article"].get("doi").is_none(), "{other:#}");
    assert_eq!(other["article"]["title"], "Granite under pressure");
    assert!(
        said_text(&other).contains("another work"),
        "{}",
        said_text(&other)
    );
}

#[tokio::test]
async fn a_preprint_comes_with_its_text() {
    let server = MockServer::start().await;
    let feed = r#"<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">
  <opensearch:totalResults>1</opensearch:totalResults>
  <entry>
    <id>http://arxiv.org/abs/2301.00001v2</id>
    <published>2023-01-01T00:00:00Z</published>
    <updated>2023-02-01T00:00:00Z</updated>
    <title>On bees and their ways</title>
    <summary>All about bees.</summary>
    <author><name>Ada Lovelace</name></author>
  </entry>
</feed>"#;
    let feed = ResponseTemplate::new(200).set_body_raw(feed, "application/atom+xml");
    Mock::given(method("GET"))
        .and(path("/api/query"))
        .respond_with(feed)
        .mount(&server)
        .await;
    let body = paper_pdf("On bees and their ways", "bees");
    let pdf = ResponseTemplate::new(200).set_body_raw(body, "application/pdf");
    Mock::given(method("GET"))
        .and(path_regex("^/pdf/2301.00001"))
        .respond_with(pdf)
        .mount(&server)
        .await;
    let kit = ResearchHarness::with_sources(&format!("{}/api", server.uri()), &["arxiv"]);
    let added = json!({ "identifiers": ["arXiv:2301.00001v2"], "download": true });
    let added = kit.call_ok("add_article", added).await;
    assert_eq!(added["results"][0]["outcome"], "added", "{added:#}");
    let details = kit
        .call_ok(
            "get_article_details",
            json!({ "article_identifier": "2301.00001" }),
        )
        .await;
    assert_eq!(
        (
            details["summary"]["pages"].as_u64(),
            details["summary"]["document_type"].as_str()
        ),
        (Some(2), Some("preprint")),
        "{added:#}"
    );
    let found = kit
        .call_ok(
            "search_articles",
            json!({ "query": "measurements ninety days" }),
        )
        .await;
    assert_eq!(found["results"][0]["place"]["page"], 2);
    assert_eq!(files_in(&kit.papers_folder()).len(), 1);
}
