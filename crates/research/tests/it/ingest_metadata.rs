//! Tests of metadata in files, which becomes the record of the work.

use serde_json::{Value, json};

use super::{
    mock_crossref::{crossref_work, harness_for, mock_crossref},
    research_harness::ResearchHarness,
};

const NOTE: &str = "---\ntitle: Smouldering in deep peat\nauthors:\n  - Ilse Hartmann\n  - Kovács, Pál\n\
    date: 2021-05-17\ntags: [peat, slow fire]\ndoi: 10.5555/deep.1\n---\n\n\
    Below the ground the fire goes on for weeks, and nobody sees it.\n";

const PAGE: &str = r#"<html><head><title>Smouldering in deep peat | Fire &amp; Soil</title>
    <meta name="citation_title" content="Smouldering in deep peat">
    <meta name="citation_author" content="Hartmann, Ilse"><meta name="citation_author" content="Kovács, Pál">
    <meta name="citation_publication_date" content="2021/05/17"><meta name="citation_doi" content="10.5555/deep.1">
    <meta name="citation_journal_title" content="Fire &amp; Soil"></head>
    <body><p>Below the ground the fire goes on for weeks, and nobody sees it.</p></body></html>"#;

async fn ingest_and_load(harness: &ResearchHarness, name: &str, text: &str) -> Value {
    let id = harness.ingest(name, text).await;
    let named = json!({ "article_identifier": id });
    harness.call_ok("get_article_details", named).await["record"].take()
}

#[tokio::test]
async fn a_file_is_known_by_what_it_says_of_itself() {
    for (name, text) in [("note.md", NOTE), ("page.html", PAGE)] {
        let kit = ResearchHarness::new();
        let record = ingest_and_load(&kit, name, text).await;
        assert_eq!(record["title"], "Smouldering in deep peat", "{name}");
        assert_eq!(record["authors"][0]["family"], "Hartmann", "{name}");
        assert_eq!(record["authors"][1]["given"], "Pál", "{name}");
        assert_eq!(record["date"], "2021-05-17", "{name}");
        assert_eq!(record["doi"], "10.5555/deep.1", "{name}");
    }
}

#[tokio::test]
async fn what_stands_at_the_head_of_a_note_is_no_text() {
    let kit = ResearchHarness::new();
    let record = ingest_and_load(&kit, "note.md", NOTE).await;
    assert_eq!(record["keywords"], json!(["peat", "slow fire"]));
    let wanted = json!({ "article_identifier": "10.5555/deep.1", "pages": "1" });
    let read = kit.call_ok("read_article", wanted).await;
    assert!(!read.to_string().contains("tags:"), "{read}");
}

#[tokio::test]
async fn the_sources_are_asked_for_the_doi_that_a_note_names() {
    let server = mock_crossref(&[crossref_work(
        "10.5555/deep.1",
        "Smouldering in deep peat",
        2022,
    )])
    .await;
    let kit = harness_for(&server);
    let record = ingest_and_load(&kit, "note.md", NOTE).await;
    // The title is only in the head of the page and is still used.
    assert_eq!(record["venue"], "Journal of Bogs", "{record:#}");
    assert_eq!(record["doi"], "10.5555/deep.1");
}
