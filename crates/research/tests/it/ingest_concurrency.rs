//! Tests of two processes that change the same work at the same time.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use deliberate_core::{IdSource, SystemClock, SystemIds, Timestamp};
use deliberate_store::{DocumentFilter, StoreError};
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, Request, ResponseTemplate,
    matchers::{method, path, path_regex},
};

use super::research_harness::{ResearchHarness, make_pdf, paper_pdf, set_sources};
use deliberate_research::{
    articles::{ArticleRepository, FULL_TEXT},
    discovery::QuestionMatch,
};

const TITLE: &str = "On bees and their ways";

/// An id generator with a hook that runs before the first id after a source was asked, which is
/// between the check whether a work exists and its commit.
struct HookedIds {
    is_due: Arc<AtomicBool>,
    hook: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl IdSource for HookedIds {
    fn new_id(&self) -> uuid::Uuid {
        if self.is_due.swap(false, Ordering::AcqRel) {
            let happens = self.hook.lock().unwrap().take();
            if let Some(happens) = happens {
                happens();
            }
        }
        SystemIds.new_id()
    }
}

/// A server that knows the paper and its file, and a flag that says whether it was asked.
async fn mock_sources() -> (MockServer, Arc<AtomicBool>) {
    let server = MockServer::start().await;
    let asked = Arc::new(AtomicBool::new(false));
    let feed = format!(
        r#"<feed xmlns="http://www.w3.org/2005/Atom"><entry>
        <id>http://arxiv.org/abs/2301.00001v1</id><published>2023-01-01T00:00:00Z</published>
        <title>{TITLE}</title><summary>All about bees.</summary>
        <author><name>Ada Lovelace</name></author></entry></feed>"#
    );
    let heard = asked.clone();
    Mock::given(method("GET"))
        .and(path("/api/query"))
        .respond_with(move |_: &Request| {
            heard.store(true, Ordering::Release);
            ResponseTemplate::new(200).set_body_raw(feed.clone(), "application/atom+xml")
        })
        .mount(&server)
        .await;
    Mock::given(method("GET"))
        .and(path_regex("^/pdf/2301.00001"))
        .respond_with(
            ResponseTemplate::new(200).set_body_raw(paper_pdf(TITLE, "bees"), "application/pdf"),
        )
        .mount(&server)
        .await;
    (server, asked)
}

/// Calls a tool while another process adds the same paper between its check and its commit.
async fn call_during_concurrent_add(tool: &str, arguments: Value) -> (ResearchHarness, Value) {
    let (server, asked) = mock_sources().await;
    let base = format!("{}/api", server.uri());
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let (there, at) = (folder.clone(), base.clone());
    let adds = move || {
        let other = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async {
                let kit = ResearchHarness::in_folder_with_options(there, |options| {
                    set_sources(options, &at, &["arxiv"]);
                });
                let list = json!({ "identifiers": ["2301.00001"] });
                let added = kit.call_ok("add_article", list).await;
                assert_eq!(added["results"][0]["outcome"], "added");
            });
        });
        other.join().unwrap();
    };
    let ids = Arc::new(HookedIds {
        is_due: asked,
        hook: Mutex::new(Some(Box::new(adds))),
    });
    let kit = ResearchHarness::with_clock_and_ids(
        folder,
        Arc::new(SystemClock),
        ids.clone(),
        |options| {
            set_sources(options, &base, &["arxiv"]);
        },
    );
    let first: &[(u32, &str)] = &[
        (20, TITLE),
        (10, "Ada Lovelace"),
        (10, "arXiv:2301.00001v1 [cs.AI] 1 Jan 2023"),
        (10, "We study bees and show what they do in practice."),
    ];
    let second: &[(u32, &str)] = &[(10, "Measurements of bees were taken over ninety days.")];
    kit.write_paper("marked.pdf", make_pdf(Some(TITLE), &[first, second]));
    let output = kit.call_ok(tool, arguments).await;
    assert!(ids.hook.lock().unwrap().is_none(), "nobody came between");
    (kit, output)
}

async fn assert_single_article_with_text(harness: &ResearchHarness) {
    let listed = harness.call_ok("list_articles", json!({})).await;
    assert_eq!(listed["total"], 1, "{listed:#}");
    assert_eq!(listed["articles"][0]["arxiv_id"], "2301.00001");
    assert_eq!(listed["articles"][0]["pages"], 2);
    let texts = harness
        .store
        .count_documents(&DocumentFilter::of_kind(FULL_TEXT))
        .await
        .unwrap();
    assert_eq!(texts, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_and_an_id_of_one_paper_brought_at_once_are_one_article() {
    let read = json!({ "pdf_path": "marked.pdf" });
    let (kit, output) = call_during_concurrent_add("process_pdf", read).await;
    assert_eq!(output["outcome"], "joined", "{output:#}");
    assert_single_article_with_text(&kit).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paper_that_another_added_while_its_file_was_fetched_is_one_article() {
    let add = json!({ "identifiers": ["2301.00001"], "download": true });
    let (kit, output) = call_during_concurrent_add("add_article", add).await;
    assert_eq!(output["results"][0]["outcome"], "joined", "{output:#}");
    assert_single_article_with_text(&kit).await;
}

#[tokio::test]
async fn what_was_written_meanwhile_is_not_deleted() {
    let kit = ResearchHarness::new();
    let id = kit.ingest("bees.pdf", paper_pdf(TITLE, "bees")).await;
    let library = ArticleRepository(kit.store.as_ref());
    let seen = library.get(&id).await.unwrap().unwrap();
    kit.call_ok(
        "move_paper_to_project",
        json!({ "paper_id": id, "project_name": "Hives" }),
    )
    .await;
    let found = QuestionMatch {
        question_id: "q".to_owned(),
        article_id: id.clone(),
        title: TITLE.to_owned(),
        score: 0.5,
        matched_keywords: Vec::new(),
        reasoning: String::new(),
        scored_by: "words".to_owned(),
        sources: Vec::new(),
        first_found: String::new(),
    };
    let found = found.put_change(0, "", Timestamp::from_micros(1));
    kit.store.commit(vec![found]).await.unwrap();
    let removal = library
        .delete_changes(&seen, Timestamp::from_micros(1))
        .await;
    let kept = kit.store.commit(removal.unwrap()).await;
    assert!(matches!(kept, Err(StoreError::Conflict { .. })), "{kept:?}");
    let arguments = json!({ "article_identifier": id, "confirm_deletion": true });
    kit.call_ok("delete_article", arguments).await;
    let texts = kit
        .store
        .count_documents(&DocumentFilter::of_kind(FULL_TEXT))
        .await
        .unwrap();
    assert_eq!(texts, 0);
    let matches = QuestionMatch::count(kit.store.as_ref(), "q").await.unwrap();
    assert_eq!(matches, 0, "a question finds what is not there");
    let found = kit.call_ok("search_articles", json!({ "query": "bees" }));
    assert_eq!(found.await["results"], json!([]));
}
