//! Tests of batch jobs: their arguments, and the progress that they report.

use deliberate_testkit::fixtures::progress_caller;
use deliberate_toolkit::CallProgress;
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path, path_regex},
};

use super::research_harness::{ResearchHarness, paper_pdf, said_text};

/// Calls a tool and returns its progress reports.
async fn call_with_progress(
    harness: &ResearchHarness,
    tool: &str,
    arguments: Value,
) -> Vec<CallProgress> {
    let (caller, all) = progress_caller();
    harness
        .registry
        .call(tool, arguments, caller)
        .await
        .unwrap();
    let mut told = all.lock().unwrap().clone();
    // A slow machine sends heartbeats before there is progress.
    told.retain(|it| it.message != "working");
    assert!(!told.is_empty());
    told
}

fn assert_one_scale(progress: &[CallProgress], total: f64) {
    let mut last = 0.0;
    for it in progress {
        assert_eq!(it.total, Some(total), "{progress:#?}");
        assert!(it.done >= last && it.done <= total, "{progress:#?}");
        last = it.done;
    }
}

#[tokio::test]
async fn a_batch_tells_how_far_it_is_on_one_scale() {
    let kit = ResearchHarness::new();
    kit.write_paper("in/a.pdf", paper_pdf("On bees and their ways", "bees"));
    kit.write_paper("in/b.pdf", "%PDF-1.4 broken");
    kit.write_paper("in/c.md", "# On ants\n\nWords.");
    let told = call_with_progress(
        &kit,
        "batch_process_pdfs",
        json!({ "directory_path": "in" }),
    )
    .await;
    assert_one_scale(&told, 3.0);
    let said: Vec<&str> = told.iter().map(|it| it.message.as_str()).collect();
    assert!(said.contains(&"2 of 3: b.pdf"), "{said:?}");
    assert!(said.contains(&"3 of 3: reading the file"), "{said:?}");
}

/// Counts results with this outcome.
fn count_outcomes(output: &Value, outcome: &str) -> usize {
    let results = output["results"].as_array().unwrap();
    results.iter().filter(|it| it["outcome"] == outcome).count()
}

#[tokio::test]
async fn files_behind_those_that_cannot_be_read_have_their_turn() {
    let kit = ResearchHarness::new();
    for at in 0..4 {
        kit.write_paper(&format!("in/a{at}.pdf"), "%PDF-1.4 broken");
        kit.write_paper(
            &format!("in/b{at}.md"),
            "# Copies\n\nThe same words in all of them.",
        );
        kit.write_paper(&format!("in/c{at}.md"), format!("# On ants {at}\n\nWords."));
    }
    let some = json!({ "directory_path": "in", "max_files": 3 });
    let first = kit.call_ok("batch_process_pdfs", some.clone()).await;
    assert_eq!(count_outcomes(&first, "failed"), 4, "{first:#}");
    assert_eq!(count_outcomes(&first, "added"), 3, "{first:#}");
    assert_eq!(first["left"], 2, "{first:#}");
    let second = kit.call_ok("batch_process_pdfs", some).await;
    assert_eq!(count_outcomes(&second, "added"), 2, "{second:#}");
    assert_eq!(second["left"], 0, "{second:#}");
    let listed = kit.call_ok("list_articles", json!({})).await;
    assert_eq!(listed["total"], 5);
}

#[tokio::test]
async fn fetching_and_reading_are_on_one_scale() {
    let server = MockServer::start().await;
    let feed = r#"<feed xmlns="http://www.w3.org/2005/Atom"><entry>
        <id>http://arxiv.org/abs/2301.00001v1</id><published>2023-01-01T00:00:00Z</published>
        <title>On bees and their ways</title><summary>All about bees.</summary>
        <author><name>Ada Lovelace</name></author></entry></feed>"#;
    Mock::given(method("GET"))
        .and(path("/api/query"))
        .respond_with(ResponseTemplate::new(200).set_body_raw(feed, "application/atom+xml"))
        .mount(&server)
        .await;
    let body = paper_pdf("On bees and their ways", "bees");
    Mock::given(method("GET"))
        .and(path_regex("^/pdf/2301.00001"))
        .respond_with(ResponseTemplate::new(200).set_body_raw(body, "application/pdf"))
        .mount(&server)
        .await;
    let kit = ResearchHarness::with_sources(&format!("{}/api", server.uri()), &["arxiv"]);
    let list = json!({ "identifiers": ["2301.00001", "no id"], "download": true });
    assert_one_scale(&call_with_progress(&kit, "add_article", list).await, 2.0);
    let listed = kit.call_ok("list_articles", json!({})).await;
    assert_eq!(listed["articles"][0]["pages"], 2, "{listed:#}");
}

#[tokio::test]
async fn how_far_a_list_has_come_is_nothing_that_clients_say() {
    let kit = ResearchHarness::new();
    let leg = json!({ "todo": ["/etc/passwd"], "done": [] });
    for (tool, arguments) in [
        (
            "batch_process_pdfs",
            json!({ "directory_path": ".", "_leg": leg }),
        ),
        (
            "batch_process_pdfs",
            json!({ "directory_path": ".", "job_id": "x" }),
        ),
        ("add_article", json!({ "identifiers": ["x"], "_leg": leg })),
        (
            "add_article",
            json!({ "identifiers": ["x"], "job_id": "x" }),
        ),
    ] {
        let wrong = kit.call_error(tool, arguments).await;
        assert!(wrong.contains("is not an argument"), "{wrong}");
    }
    let wrong = kit
        .call_error("add_article", json!({ "identifiers": [" ", ""] }))
        .await;
    assert!(wrong.contains("identifiers"), "{wrong}");
    let jobs = deliberate_store::DocumentFilter::of_kind("job");
    kit.write_paper("in/c.md", "# On ants\n\nWords.");
    kit.write_paper("in/d.md", "# On bees\n\nWords.");
    kit.call_ok("batch_process_pdfs", json!({ "directory_path": "in" }))
        .await;
    assert_eq!(kit.store.count_documents(&jobs).await.unwrap(), 0);
}

#[tokio::test]
async fn callers_may_ask_later_for_what_takes_long() {
    let kit = ResearchHarness::new();
    let may_be_asked_later = |tool: &str| {
        let schema = kit.registry.get(tool).unwrap().output_schema;
        !schema["properties"]["still_running"].is_null()
    };
    for tool in [
        "add_article",
        "download_pdf",
        "locate_pdf",
        "process_pdf",
        "batch_process_pdfs",
        "reindex_collection",
        "validate_pdf_sources",
        "upload_external_knowledge",
        "search_papers",
    ] {
        assert!(may_be_asked_later(tool), "{tool}");
    }
    assert!(!may_be_asked_later("list_articles"));
}

#[tokio::test]
async fn an_address_of_numbers_is_no_doi() {
    let kit = ResearchHarness::new();
    let wrong = json!({ "source": "http://10.0.0.5/x.pdf" });
    let wrong = kit.call_error("download_pdf", wrong).await;
    assert!(wrong.starts_with("AddressNotAllowed"), "{wrong}");
    let wrong = json!({ "source": "10.5555/nobody" });
    let wrong = kit.call_error("download_pdf", wrong).await;
    assert!(wrong.contains("PDF of 10.5555/nobody"), "{wrong}");
}

#[tokio::test]
async fn a_folder_is_read_to_its_end_by_calling_again() {
    let kit = ResearchHarness::new();
    for at in 0..7 {
        kit.write_paper(
            &format!("in/{at}.md"),
            format!("# Note {at}\n\nWords {at}."),
        );
    }
    let batch = json!({ "directory_path": "in", "max_files": 3 });
    let mut left = Vec::new();
    for _ in 0..3 {
        let done = kit.call_ok("batch_process_pdfs", batch.clone()).await;
        let still = done["left"].as_u64().unwrap();
        let told = said_text(&done).contains("for another call");
        assert_eq!(told, still > 0, "{}", said_text(&done));
        left.push(still);
    }
    assert_eq!(left, [4, 1, 0]);
    assert_eq!(kit.call_ok("list_articles", json!({})).await["total"], 7);
    kit.write_paper("in/6.md", "# Note 6\n\nOther words, and more of them.");
    let again = kit.call_ok("batch_process_pdfs", batch).await;
    assert_eq!(
        (again["left"].as_u64(), &again["results"][0]["outcome"]),
        (Some(0), &json!("joined")),
        "one that changed comes first: {again:#}"
    );
}

#[tokio::test]
async fn addresses_that_end_alike_are_files_apart() {
    let server = MockServer::start().await;
    for (at, about) in [("/one/paper.pdf", "bees"), ("/two/paper.pdf", "ants")] {
        let body = paper_pdf("On small things", about);
        Mock::given(method("GET"))
            .and(path(at))
            .respond_with(ResponseTemplate::new(200).set_body_raw(body, "application/pdf"))
            .mount(&server)
            .await;
    }
    let kit = ResearchHarness::with_sources(&server.uri(), &["crossref"]);
    let fetch = async |at: &str| {
        let source = json!({ "source": format!("{}{at}", server.uri()) });
        kit.call_ok("download_pdf", source).await["file"].clone()
    };
    let one = fetch("/one/paper.pdf").await;
    let two = fetch("/two/paper.pdf").await;
    assert_ne!(one["sha256"], two["sha256"]);
    assert_eq!(two["was_there"], false);
    assert_eq!(fetch("/one/paper.pdf").await["was_there"], true);
    let away = json!({ "source": "http://0.0.0.0:9/one/paper.pdf" });
    let wrong = kit.call_error("download_pdf", away).await;
    assert!(wrong.starts_with("AddressNotAllowed"), "{wrong}");
}

#[tokio::test]
async fn names_of_files_steer_and_lead_nowhere() {
    let kit = ResearchHarness::new();
    kit.write_paper(
        "in/a\u{202e}b\u{1b}[31m.txt",
        "Plain words of a file, and more.",
    );
    let batch = kit
        .call_ok("batch_process_pdfs", json!({ "directory_path": "in" }))
        .await;
    assert!(
        !said_text(&batch).contains(['\u{202e}', '\u{1b}']),
        "{batch:#}"
    );
    let title = batch["results"][0]["title"].as_str().unwrap();
    assert!(!title.contains(['\u{202e}', '\u{1b}']), "{title:?}");
    kit.write_paper(
        "x.md",
        "# [x](http://evil.example/?q) ![y](http://evil.example/y)\n\nWords.",
    );
    kit.call_ok("process_pdf", json!({ "pdf_path": "x.md" }))
        .await;
    let listed = kit.call_ok("list_articles", json!({})).await;
    assert!(!said_text(&listed).contains("]("), "{}", said_text(&listed));
}

#[tokio::test]
async fn files_of_one_name_are_told_apart() {
    let kit = ResearchHarness::new();
    kit.write_paper("in/p1/a.md", "# On ants\n\nWords about ants.");
    kit.write_paper("in/p2/a.md", "");
    kit.write_paper("in/~$a.docx", "the mark of a word processor");
    kit.write_paper("in/.~lock.a.docx#", "the mark of another");
    let batch = kit
        .call_ok("batch_process_pdfs", json!({ "directory_path": "in" }))
        .await;
    let results = batch["results"].as_array().unwrap();
    let names: Vec<&str> = results
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    assert_eq!(names, ["p1/a.md", "p2/a.md"], "{batch:#}");
    assert!(
        said_text(&batch).contains("p2/a.md: failed"),
        "{}",
        said_text(&batch)
    );
    assert!(
        said_text(&batch).contains("the file is empty"),
        "{}",
        said_text(&batch)
    );
    assert_eq!(batch["notes"], Value::Null, "{batch:#}");
}

#[cfg(unix)]
#[tokio::test]
async fn what_of_a_folder_is_left_out_is_told() {
    use std::os::unix::fs::PermissionsExt as _;

    let kit = ResearchHarness::new();
    let paper = kit.write_paper("elsewhere/a.md", "# On ants\n\nWords about ants.");
    kit.write_paper("in/old.doc", "words");
    kit.write_paper("in/README", "words");
    std::os::unix::fs::symlink(paper, kit.papers_folder().join("in/a.md")).unwrap();
    let folder = json!({ "directory_path": "in" });
    let none = kit.call_ok("batch_process_pdfs", folder.clone()).await;
    for told in ["no readable file", "1 link.", "2 files of unsupported"] {
        assert!(said_text(&none).contains(told), "{}", said_text(&none));
    }
    kit.write_paper("in/locked/b.md", "# On bees\n\nWords about bees.");
    kit.write_paper("in/c.md", "# On wasps\n\nWords about wasps.");
    kit.write_paper("in/d.md", "# On flies\n\nWords about flies.");
    let locked = kit.papers_folder().join("in/locked");
    let allow = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&locked, permissions).unwrap();
    };
    allow(0o000);
    let is_root = std::fs::read_dir(&locked).is_ok();
    let some = kit.call_ok("batch_process_pdfs", folder).await;
    allow(0o755);
    assert_eq!(
        some["notes"].as_array().unwrap().len(),
        if is_root { 2 } else { 3 }
    );
    assert_eq!(
        count_outcomes(&some, "added"),
        if is_root { 3 } else { 2 },
        "{some:#}"
    );
    if !is_root {
        assert!(
            said_text(&some).contains("The folder locked cannot"),
            "{some:#}"
        );
    }
}
