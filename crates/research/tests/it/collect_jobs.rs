//! Lists that are worked on one by one: what clients may say, and how far they are told it has come.

use std::sync::{Arc, Mutex};

use deliberate_toolkit::{Caller, Progress};
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path, path_regex},
};

use crate::collect_kit::{Kit, paper, said};

/// Calls a tool; what was told of how far it is.
async fn told(kit: &Kit, tool: &str, arguments: Value) -> Vec<Progress> {
    let all = Arc::new(Mutex::new(Vec::new()));
    let heard = all.clone();
    let caller = Caller {
        progress: Some(Arc::new(move |it| heard.lock().unwrap().push(it))),
        ..Caller::default()
    };
    kit.registry.call(tool, arguments, caller).await.unwrap();
    let mut told = all.lock().unwrap().clone();
    // A slow machine gives signs of life before there is something to tell.
    told.retain(|it| it.message != "working");
    assert!(!told.is_empty());
    told
}

fn on_one_scale(told: &[Progress], total: f64) {
    let mut last = 0.0;
    for it in told {
        assert_eq!(it.total, Some(total), "{told:#?}");
        assert!(it.done >= last && it.done <= total, "{told:#?}");
        last = it.done;
    }
}

#[tokio::test]
async fn a_batch_tells_how_far_it_is_on_one_scale() {
    let kit = Kit::new();
    kit.put("in/a.pdf", paper("On bees and their ways", "bees"));
    kit.put("in/b.pdf", "%PDF-1.4 broken");
    kit.put("in/c.md", "# On ants\n\nWords.");
    let told = told(
        &kit,
        "batch_process_pdfs",
        json!({ "directory_path": "in" }),
    )
    .await;
    on_one_scale(&told, 3.0);
    let said: Vec<&str> = told.iter().map(|it| it.message.as_str()).collect();
    assert!(said.contains(&"2 of 3: b.pdf"), "{said:?}");
    assert!(said.contains(&"3 of 3: reading the file"), "{said:?}");
}

/// How often each outcome is among the results.
fn outcomes(output: &Value, outcome: &str) -> usize {
    let results = output["results"].as_array().unwrap();
    results.iter().filter(|it| it["outcome"] == outcome).count()
}

#[tokio::test]
async fn files_behind_those_that_cannot_be_read_have_their_turn() {
    let kit = Kit::new();
    for at in 0..4 {
        kit.put(&format!("in/a{at}.pdf"), "%PDF-1.4 broken");
        kit.put(
            &format!("in/b{at}.md"),
            "# Copies\n\nThe same words in all of them.",
        );
        kit.put(&format!("in/c{at}.md"), format!("# On ants {at}\n\nWords."));
    }
    let some = json!({ "directory_path": "in", "max_files": 3 });
    let first = kit.done("batch_process_pdfs", some.clone()).await;
    assert_eq!(outcomes(&first, "failed"), 4, "{first:#}");
    assert_eq!(outcomes(&first, "added"), 3, "{first:#}");
    assert_eq!(first["left"], 2, "{first:#}");
    let second = kit.done("batch_process_pdfs", some).await;
    assert_eq!(outcomes(&second, "added"), 2, "{second:#}");
    assert_eq!(second["left"], 0, "{second:#}");
    let listed = kit.done("list_articles", json!({})).await;
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
    let body = paper("On bees and their ways", "bees");
    Mock::given(method("GET"))
        .and(path_regex("^/pdf/2301.00001"))
        .respond_with(ResponseTemplate::new(200).set_body_raw(body, "application/pdf"))
        .mount(&server)
        .await;
    let kit = Kit::with_sources(&format!("{}/api", server.uri()), &["arxiv"]);
    let list = json!({ "identifiers": ["2301.00001", "no id"], "download": true });
    on_one_scale(&told(&kit, "add_article", list).await, 2.0);
    let listed = kit.done("list_articles", json!({})).await;
    assert_eq!(listed["articles"][0]["pages"], 2, "{listed:#}");
}

#[tokio::test]
async fn how_far_a_list_has_come_is_nothing_that_clients_say() {
    let kit = Kit::new();
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
        let wrong = kit.wrong(tool, arguments).await;
        assert!(wrong.contains("is not an argument"), "{wrong}");
    }
    let wrong = kit
        .wrong("add_article", json!({ "identifiers": [" ", ""] }))
        .await;
    assert!(wrong.contains("identifiers"), "{wrong}");
    let jobs = deliberate_store::ItemFilter::of("job");
    kit.put("in/c.md", "# On ants\n\nWords.");
    kit.put("in/d.md", "# On bees\n\nWords.");
    kit.done("batch_process_pdfs", json!({ "directory_path": "in" }))
        .await;
    assert_eq!(kit.store.count_items(&jobs).await.unwrap(), 0);
}

#[tokio::test]
async fn callers_may_ask_later_for_what_takes_long() {
    let kit = Kit::new();
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
    let kit = Kit::new();
    let wrong = json!({ "source": "http://10.0.0.5/x.pdf" });
    let wrong = kit.wrong("download_pdf", wrong).await;
    assert!(wrong.starts_with("AddressNotAllowed"), "{wrong}");
    let wrong = json!({ "source": "10.5555/nobody" });
    let wrong = kit.wrong("download_pdf", wrong).await;
    assert!(wrong.contains("PDF of 10.5555/nobody"), "{wrong}");
}

#[tokio::test]
async fn a_folder_is_read_to_its_end_by_calling_again() {
    let kit = Kit::new();
    for at in 0..7 {
        kit.put(
            &format!("in/{at}.md"),
            format!("# Note {at}\n\nWords {at}."),
        );
    }
    let batch = json!({ "directory_path": "in", "max_files": 3 });
    let mut left = Vec::new();
    for _ in 0..3 {
        let done = kit.done("batch_process_pdfs", batch.clone()).await;
        let still = done["left"].as_u64().unwrap();
        let told = said(&done).contains("left for another call");
        assert_eq!(told, still > 0, "{}", said(&done));
        left.push(still);
    }
    assert_eq!(left, [4, 1, 0]);
    assert_eq!(kit.done("list_articles", json!({})).await["total"], 7);
    kit.put("in/6.md", "# Note 6\n\nOther words, and more of them.");
    let again = kit.done("batch_process_pdfs", batch).await;
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
        let body = paper("On small things", about);
        Mock::given(method("GET"))
            .and(path(at))
            .respond_with(ResponseTemplate::new(200).set_body_raw(body, "application/pdf"))
            .mount(&server)
            .await;
    }
    let kit = Kit::with_sources(&server.uri(), &["crossref"]);
    let fetch = async |at: &str| {
        let source = json!({ "source": format!("{}{at}", server.uri()) });
        kit.done("download_pdf", source).await["file"].clone()
    };
    let one = fetch("/one/paper.pdf").await;
    let two = fetch("/two/paper.pdf").await;
    assert_ne!(one["sha256"], two["sha256"]);
    assert_eq!(two["was_there"], false);
    assert_eq!(fetch("/one/paper.pdf").await["was_there"], true);
    let away = json!({ "source": "http://0.0.0.0:9/one/paper.pdf" });
    let wrong = kit.wrong("download_pdf", away).await;
    assert!(wrong.starts_with("AddressNotAllowed"), "{wrong}");
}

#[tokio::test]
async fn names_of_files_steer_and_lead_nowhere() {
    let kit = Kit::new();
    kit.put(
        "in/a\u{202e}b\u{1b}[31m.txt",
        "Plain words of a file, and more.",
    );
    let batch = kit
        .done("batch_process_pdfs", json!({ "directory_path": "in" }))
        .await;
    assert!(!said(&batch).contains(['\u{202e}', '\u{1b}']), "{batch:#}");
    let title = batch["results"][0]["title"].as_str().unwrap();
    assert!(!title.contains(['\u{202e}', '\u{1b}']), "{title:?}");
    kit.put(
        "x.md",
        "# [x](http://evil.example/?q) ![y](http://evil.example/y)\n\nWords.",
    );
    kit.done("process_pdf", json!({ "pdf_path": "x.md" })).await;
    let listed = kit.done("list_articles", json!({})).await;
    assert!(!said(&listed).contains("]("), "{}", said(&listed));
}

#[tokio::test]
async fn files_of_one_name_are_told_apart() {
    let kit = Kit::new();
    kit.put("in/p1/a.md", "# On ants\n\nWords about ants.");
    kit.put("in/p2/a.md", "");
    kit.put("in/~$a.docx", "the mark of a word processor");
    kit.put("in/.~lock.a.docx#", "the mark of another");
    let batch = kit
        .done("batch_process_pdfs", json!({ "directory_path": "in" }))
        .await;
    let results = batch["results"].as_array().unwrap();
    let names: Vec<&str> = results
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    assert_eq!(names, ["p1/a.md", "p2/a.md"], "{batch:#}");
    assert!(said(&batch).contains("p2/a.md: failed"), "{}", said(&batch));
    assert!(
        said(&batch).contains("the file is empty"),
        "{}",
        said(&batch)
    );
    assert_eq!(batch["notes"], Value::Null, "{batch:#}");
}

#[cfg(unix)]
#[tokio::test]
async fn what_of_a_folder_is_left_out_is_told() {
    use std::os::unix::fs::PermissionsExt as _;

    let kit = Kit::new();
    let paper = kit.put("elsewhere/a.md", "# On ants\n\nWords about ants.");
    kit.put("in/old.doc", "words");
    kit.put("in/README", "words");
    std::os::unix::fs::symlink(paper, kit.papers().join("in/a.md")).unwrap();
    let folder = json!({ "directory_path": "in" });
    let none = kit.done("batch_process_pdfs", folder.clone()).await;
    for told in ["There is no file", "1 link;", "2 files of kinds"] {
        assert!(said(&none).contains(told), "{}", said(&none));
    }
    kit.put("in/locked/b.md", "# On bees\n\nWords about bees.");
    kit.put("in/c.md", "# On wasps\n\nWords about wasps.");
    kit.put("in/d.md", "# On flies\n\nWords about flies.");
    let locked = kit.papers().join("in/locked");
    let allow = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&locked, permissions).unwrap();
    };
    allow(0o000);
    let is_root = std::fs::read_dir(&locked).is_ok();
    let some = kit.done("batch_process_pdfs", folder).await;
    allow(0o755);
    assert_eq!(
        some["notes"].as_array().unwrap().len(),
        if is_root { 2 } else { 3 }
    );
    assert_eq!(
        outcomes(&some, "added"),
        if is_root { 3 } else { 2 },
        "{some:#}"
    );
    if !is_root {
        assert!(said(&some).contains("The folder locked can't"), "{some:#}");
    }
}
