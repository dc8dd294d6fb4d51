//! Tests of question runs against mock sources.

use deliberate_core::{Article, Change, Timestamp};
use deliberate_store::Pagination;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use super::{
    mock_crossref::{crossref_work, harness_for, mock_crossref, mount_response, search_response},
    research_harness::{ResearchHarness, paper_pdf, said_text},
};
use deliberate_research::discovery::{QuestionMatch, QuestionRepository};

pub(crate) async fn create_question(kit: &ResearchHarness, more: Value) -> Value {
    let mut arguments = json!({
        "name": "Bees", "keywords": ["honey bees"], "min_relevance_score": 0.3,
    });
    for (name, value) in more.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    let made = kit.call_ok("create_research_question", arguments).await;
    made["question"]["question_id"].clone()
}

pub(crate) async fn run_question(kit: &ResearchHarness, id: &Value) -> Value {
    let arguments = json!({ "question_id": id, "force_run": true });
    kit.call_ok("run_discovery_for_question", arguments).await
}

async fn count_articles(harness: &ResearchHarness) -> u64 {
    let listed = harness.call_ok("list_articles", json!({})).await;
    listed["articles"].as_array().unwrap().len() as u64
}

pub(crate) fn bee_works() -> Vec<Value> {
    vec![
        crossref_work("10.5555/one", "Honey bees and their dances", 2024),
        crossref_work("10.5555/two", "Honey bees at night", 2021),
        crossref_work("10.5555/three", "Concrete bridges under load", 2024),
    ]
}

#[tokio::test]
async fn what_fits_is_kept_and_counted_and_not_doubled() {
    let server = mock_crossref(&bee_works()).await;
    let kit = harness_for(&server);
    let id = create_question(&kit, json!({})).await;
    let first = run_question(&kit, &id).await;
    let counts = |it: &Value| {
        ["found", "scored", "matched", "new"].map(|name| it["run"][name].as_u64().unwrap())
    };
    assert_eq!(counts(&first), [3, 3, 2, 2], "{first:#}");
    assert_eq!(first["sources"][0]["outcome"], "ok");
    assert_eq!(first["sources"][0]["count"], 3);
    assert!(!said_text(&first).contains("Concrete"));
    assert_eq!(count_articles(&kit).await, 2);
    // Papers that matched are not scored again; the others are.
    let second = run_question(&kit, &id).await;
    assert_eq!(counts(&second), [3, 1, 2, 0], "{second:#}");
    assert_eq!(count_articles(&kit).await, 2);
    let got = kit
        .call_ok(
            "get_research_question",
            json!({ "question_id": id, "max_matches": 1 }),
        )
        .await;
    assert_eq!(got["total_matches"], 2);
    assert_eq!(got["matches"].as_array().unwrap().len(), 1);
    assert_eq!(got["question"]["last_run"]["found"], 3);
    // A changed question scores again and keeps the time when each paper was first found.
    let change = json!({ "question_id": id, "keywords": ["night"], "min_relevance_score": 0.0 });
    kit.call_ok("update_research_question", change).await;
    let third = run_question(&kit, &id).await;
    assert_eq!(counts(&third), [3, 3, 3, 1], "{third:#}");
    let find = |output: &Value| -> Value {
        let all = output["matches"].as_array().unwrap();
        let it = all.iter().find(|it| it["title"] == "Honey bees at night");
        it.unwrap().clone()
    };
    assert_eq!(find(&third)["first_found"], find(&first)["first_found"]);
    assert_ne!(
        find(&third)["matched_keywords"],
        find(&first)["matched_keywords"]
    );
}

#[tokio::test]
async fn one_source_that_fails_is_told_and_all_of_them_are_an_error() {
    let server = mock_crossref(&bee_works()).await;
    mount_response(&server, "/query", ResponseTemplate::new(400), 9).await;
    let kit = ResearchHarness::with_sources(&server.uri(), &["crossref", "arxiv"]);
    let id = create_question(&kit, json!({})).await;
    let ran = run_question(&kit, &id).await;
    let outcomes: Vec<&str> = ran["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["outcome"].as_str().unwrap())
        .collect();
    assert!(
        outcomes.contains(&"ok") && outcomes.contains(&"failed"),
        "{ran:#}"
    );
    assert!(
        ran["run"]["problems"][0]
            .as_str()
            .unwrap()
            .contains("arxiv")
    );
    let change = json!({ "question_id": id, "selected_sources": ["arxiv", "arxiv"] });
    kit.call_ok("update_research_question", change).await;
    let before = kit
        .call_ok("get_research_question", json!({ "question_id": id }))
        .await;
    let told = kit
        .call_error(
            "run_discovery_for_question",
            json!({ "question_id": id, "force_run": true }),
        )
        .await;
    assert!(told.starts_with("SourcesFailed"), "{told}");
    assert_eq!(
        told.matches("arxiv failed").count(),
        1,
        "asked twice: {told}"
    );
    let after = kit
        .call_ok("get_research_question", json!({ "question_id": id }))
        .await;
    assert_eq!(before, after);
}

#[tokio::test]
async fn dates_and_numbers_bound_a_run() {
    let mut items = bee_works();
    items.swap(0, 1);
    items.push(json!({
        "DOI": "10.5555/four", "type": "journal-article", "title": ["Honey bees without a date"],
    }));
    let mut vague = crossref_work("10.5555/five", "Honey bees some time in 2021", 2021);
    vague["issued"] = json!({ "date-parts": [[2021]] });
    items.push(vague);
    let server = mock_crossref(&items).await;
    let kit = harness_for(&server);
    let range = json!({ "start": "2021-03", "end": "2021-05" });
    let id = create_question(&kit, json!({ "publication_date_range": range })).await;
    let ran = run_question(&kit, &id).await;
    let mut titles: Vec<&str> = ran["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["title"].as_str().unwrap())
        .collect();
    titles.sort_unstable();
    let wanted = [
        "Honey bees at night",
        "Honey bees some time in 2021",
        "Honey bees without a date",
    ];
    assert_eq!(titles, wanted);
    let few = json!({ "question_id": id, "force_run": true, "max_articles": 1 });
    let few = kit.call_ok("run_discovery_for_question", few).await;
    assert_eq!(few["run"]["found"], 1);
    let asked = server.received_requests().await.unwrap();
    let last = asked.last().unwrap().url.query().unwrap().to_owned();
    assert!(
        last.contains("rows=1") && last.contains("2021-03"),
        "{last}"
    );
}

#[tokio::test]
async fn two_records_of_one_article_are_one_match() {
    let items = [
        crossref_work(
            "10.5555/one",
            "Honey bees and their dances on a summer day in the hive",
            2024,
        ),
        crossref_work("10.6666/pre", "Dances of honey bees: a preprint", 2023),
    ];
    let server = mock_crossref(&items).await;
    let kit = harness_for(&server);
    // The collection has both as one article; a title of so many words identifies one work.
    let id = kit
        .ingest(
            "bees.pdf",
            paper_pdf(
                "Honey bees and their dances on a summer day in the hive",
                "bees",
            ),
        )
        .await;
    let set = json!({ "article_identifier": id, "update_metadata": { "doi": "10.6666/pre" } });
    kit.call_ok("update_article_metadata", set).await;
    let question = create_question(&kit, json!({})).await;
    let ran = run_question(&kit, &question).await;
    assert_eq!(ran["run"]["matched"], 1, "{ran:#}");
    assert_eq!(ran["matches"][0]["article_id"], id);
    assert_eq!(count_articles(&kit).await, 1);
}

#[tokio::test]
async fn open_pdfs_of_what_fits_best_are_read_and_the_sources_are_still_told() {
    let mut items = bee_works();
    let server = mock_crossref(&[]).await;
    items[0]["link"] = json!([{
        "URL": format!("{}/files/one.pdf", server.uri()), "content-type": "application/pdf",
    }]);
    items[0]["license"] = json!([{ "URL": "https://creativecommons.org/licenses/by/4.0" }]);
    mount_response(&server, "/works", search_response(&items), 1).await;
    for (at_place, item) in [
        ("/works/10.5555/one", &items[0]),
        ("/works/10.5555/two", &items[1]),
    ] {
        mount_response(
            &server,
            at_place,
            super::mock_crossref::work_response(item),
            99,
        )
        .await;
    }
    let file = paper_pdf("Honey bees and their dances", "honey bees");
    let file = ResponseTemplate::new(200).set_body_raw(file, "application/pdf");
    mount_response(&server, "/files/one.pdf", file, 9).await;
    let kit = harness_for(&server);
    let id = create_question(
        &kit,
        json!({ "auto_download_enabled": true, "auto_download_min_score": 0.3 }),
    )
    .await;
    let ran = run_question(&kit, &id).await;
    assert_eq!(ran["downloads"].as_array().unwrap().len(), 2, "{ran:#}");
    let downloads = ran["downloads"].to_string();
    assert!(downloads.contains("dances: read"), "{downloads}");
    assert!(
        downloads.contains("at night: Added without its text"),
        "{downloads}"
    );
    assert_eq!(ran["run"]["matched"], 2);
    assert_eq!(ran["matches"].as_array().unwrap().len(), 2);
    assert_eq!(ran["sources"][0]["outcome"], "ok");
    let details = json!({ "article_identifier": "10.5555/one" });
    let details = kit.call_ok("get_article_details", details).await;
    assert_eq!(details["summary"]["pages"], 2);
    // Only the tool itself may set its progress.
    let forged = json!({ "question_id": id, "_leg": { "left": ["x"] } });
    assert!(
        kit.call_error("run_discovery_for_question", forged)
            .await
            .contains("_leg")
    );
}

#[tokio::test]
async fn a_question_with_many_matches_is_deleted_whole() {
    let kit = ResearchHarness::with_sources("http://127.0.0.1:9/", &["crossref"]);
    let id = create_question(&kit, json!({})).await;
    let id = id.as_str().unwrap();
    let now = Timestamp::from_micros(1);
    let many =
        (0..2_500).map(|number| question_match(id, &number.to_string()).put_change(0, "", now));
    let changes: Vec<Change> = many.collect();
    for some in changes.chunks(500) {
        kit.store.commit(some.to_vec()).await.unwrap();
    }
    let count = async || QuestionMatch::count(kit.store.as_ref(), id).await.unwrap();
    assert_eq!(count().await, 2_500);
    let hard = json!({ "question_id": id, "hard_delete": true });
    kit.call_ok("delete_research_question", hard).await;
    assert_eq!(count().await, 0);
    let left = QuestionMatch::ids(kit.store.as_ref(), id, Pagination::limit(1)).await;
    assert_eq!(left.unwrap(), Vec::<String>::new());
    let told = kit
        .call_error("get_research_question", json!({ "question_id": id }))
        .await;
    assert!(told.starts_with("QuestionNotFound"), "{told}");
}

#[tokio::test]
async fn what_a_question_is_called_keeps_no_paper_out() {
    let title = "Radio sensing of smouldering peat";
    let server = mock_crossref(&[crossref_work("10.5555/peat", title, 2024)]).await;
    let kit = harness_for(&server);
    let words = json!(["peat", "radio", "sensing", "smouldering"]);
    for name in ["Monday alert", "Smouldering peat"] {
        let more = json!({ "name": name, "keywords": words, "min_relevance_score": 0.7 });
        let id = create_question(&kit, more).await;
        let ran = run_question(&kit, &id).await;
        assert_eq!(ran["matches"][0]["score"], json!(1.0), "{name}: {ran:#}");
        assert!(
            said_text(&ran).contains("4 of 4 keywords"),
            "{}",
            said_text(&ran)
        );
    }
    let more = json!({
        "name": "By topic", "keywords": [], "topics": ["smouldering peat", "graphene"],
    });
    let ran = run_question(&kit, &create_question(&kit, more).await).await;
    assert!(
        said_text(&ran).contains("1 of 2 topics"),
        "{}",
        said_text(&ran)
    );
}

#[tokio::test]
async fn what_fitted_a_question_as_it_was_is_not_told_as_fitting() {
    let server = mock_crossref(&bee_works()).await;
    let kit = harness_for(&server);
    let id = create_question(&kit, json!({ "keywords": ["honey bees", "night"] })).await;
    run_question(&kit, &id).await;
    let shown = async |change: Value| {
        let mut change = change;
        change["question_id"] = id.clone();
        kit.call_ok("update_research_question", change).await;
        let got = kit.call_ok("get_research_question", json!({ "question_id": id }));
        let got = got.await;
        assert_eq!(
            got["matches"].as_array().unwrap().len() as u64,
            got["total_matches"].as_u64().unwrap()
        );
        let older = got["older_matches"].as_u64().unwrap();
        assert_eq!(
            said_text(&got).contains("Not shown"),
            older > 0,
            "{}",
            said_text(&got)
        );
        (got["total_matches"].as_u64().unwrap(), older)
    };
    // One of the two papers has both keywords.
    assert_eq!(shown(json!({ "min_relevance_score": 0.9 })).await, (1, 1));
    assert_eq!(shown(json!({ "min_relevance_score": 0.3 })).await, (2, 0));
    assert_eq!(shown(json!({ "keywords": ["zebra"] })).await, (0, 2));
    assert_eq!(run_question(&kit, &id).await["run"]["matched"], 0);
    assert_eq!(shown(json!({ "topics": [] })).await, (0, 2));
    let back = json!({ "keywords": ["honey bees", "night"] });
    assert_eq!(shown(back).await, (2, 0));
}

#[tokio::test]
async fn more_papers_than_one_page_of_the_store_are_counted() {
    let kit = ResearchHarness::with_sources("http://127.0.0.1:9/", &["crossref"]);
    let source = json!({ "name": "Many", "keywords": ["bees"] });
    kit.call_ok("create_crossref_source", source).await;
    let named = json!({ "source_name": "many", "max_matches": 3 });
    let saved = QuestionRepository(kit.store.as_ref())
        .find_source("many")
        .await
        .unwrap();
    let id = saved.question.id;
    let judged_by = json!([["Many", ""], [["bees"], [], []]]).to_string();
    let now = Timestamp::from_micros(1);
    let many: Vec<Change> = (0..1_001)
        .map(|number| question_match(&id, &number.to_string()).put_change(0, &judged_by, now))
        .collect();
    for some in many.chunks(500) {
        kit.store.commit(some.to_vec()).await.unwrap();
    }
    let got = kit.call_ok("get_discovery_source", named).await;
    assert_eq!(got["total_matches"], 1_001, "{got:#}");
    assert_eq!(got["matches"].as_array().unwrap().len(), 3);
    assert!(
        said_text(&got).contains("and 998 more"),
        "{}",
        said_text(&got)
    );
}

fn question_match(question: &str, article: &str) -> QuestionMatch {
    QuestionMatch {
        question_id: question.to_owned(),
        article_id: article.to_owned(),
        title: Article::default().title,
        score: 0.5,
        matched_keywords: Vec::new(),
        reasoning: String::new(),
        scored_by: "words".to_owned(),
        sources: Vec::new(),
        first_found: Timestamp::from_micros(1).to_string(),
    }
}
