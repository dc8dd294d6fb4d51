//! Tests of repeated runs of a question: new papers, their sources, and runs that are too early.

use std::{sync::Arc, time::Duration};

use deliberate_core::Timestamp;
use deliberate_testkit::FixedClock;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use super::{
    discovery_runs::{bee_works, create_question, run_question},
    mock_crossref::{
        crossref_work, harness_with_clock, mock_crossref, mount_response, search_response,
    },
    research_harness::{ResearchHarness, said_text},
};
use deliberate_research::{discovery::QuestionRepository, sources::SourceSettings};

#[tokio::test]
async fn a_question_is_not_run_twice_in_a_row_and_later_asks_for_what_is_new() {
    let server = mock_crossref(&bee_works()).await;
    let clock = Arc::new(FixedClock::new());
    let kit = harness_with_clock(&server, clock.clone(), None);
    let id = create_question(&kit, json!({})).await;
    let once = json!({ "question_id": id });
    let first = kit
        .call_ok("run_discovery_for_question", once.clone())
        .await;
    assert_eq!(first["run"]["since"], Value::Null);
    let told = kit
        .call_error("run_discovery_for_question", once.clone())
        .await;
    assert!(
        told.starts_with("NotRun") && told.contains("ten minutes"),
        "{told}"
    );
    clock.advance(11 * 60 * 1_000_000);
    // By this clock it is 2026, so no paper of 2024 is new.
    let second = kit.call_ok("run_discovery_for_question", once).await;
    assert_eq!(second["run"]["found"], 0, "{second:#}");
    assert_eq!(second["run"]["since"], "2025-09-03");
    assert!(said_text(&second).contains("since 2025-09-03"));
    let forced = run_question(&kit, &id).await;
    assert_eq!(forced["run"]["found"], 3);
    // A source that was not asked before is asked for everything.
    clock.advance(11 * 60 * 1_000_000);
    let change = json!({ "question_id": id, "topics": ["dances"] });
    kit.call_ok("update_research_question", change).await;
    let changed = kit
        .call_ok("run_discovery_for_question", json!({ "question_id": id }))
        .await;
    assert_eq!(changed["run"]["found"], 3);
}

#[tokio::test]
async fn what_is_new_is_not_looked_for_in_old_answers() {
    let server = mock_crossref(&bee_works()).await;
    let kit = ResearchHarness::with_options(|options| {
        options.sources.insert(
            "crossref".to_owned(),
            SourceSettings {
                base_url: Some(server.uri().parse().unwrap()),
                key: None,
                contact: None,
                cache_ttl: Duration::from_hours(24),
            },
        );
    });
    let source = json!({ "name": "Bees", "keywords": ["bees"], "schedule_hours": 1 });
    kit.call_ok("create_crossref_source", source).await;
    let named = json!({ "source_name": "Bees" });
    let first = kit.call_ok("run_discovery", named.clone()).await;
    assert_eq!(first["runs"][0]["run"]["new"], 3, "{first:#}");
    let mut more = bee_works();
    more.push(crossref_work("10.5555/new", "Honey bees of today", 2025));
    mount_response(&server, "/works", search_response(&more), 1).await;
    let second = kit.call_ok("run_discovery", named).await;
    assert_eq!(second["runs"][0]["run"]["new"], 1, "{second:#}");
}

#[tokio::test]
async fn a_source_that_failed_is_asked_for_everything_the_next_time() {
    let server = mock_crossref(&bee_works()).await;
    mount_response(&server, "/query", ResponseTemplate::new(400), 1).await;
    let empty = "<feed xmlns='http://www.w3.org/2005/Atom'></feed>";
    let empty = ResponseTemplate::new(200).set_body_raw(empty, "application/atom+xml");
    mount_response(&server, "/query", empty, 1).await;
    let kit = ResearchHarness::with_sources(&server.uri(), &["crossref", "arxiv"]);
    let id = create_question(&kit, json!({})).await;
    let once = json!({ "question_id": id });
    kit.call_ok("run_discovery_for_question", once).await;
    // Ten minutes later, simulated by a change of the record.
    let version = QuestionRepository(kit.store.as_ref())
        .get(id.as_str().unwrap(), "default_user")
        .await
        .unwrap();
    let mut earlier = version.clone();
    if let Some(run) = &mut earlier.question.last_run {
        run.at = "2026-01-01T00:00:00Z".to_owned();
    }
    let now = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
    kit.store
        .commit(vec![earlier.put_change(now)])
        .await
        .unwrap();
    let ran = kit
        .call_ok("run_discovery_for_question", json!({ "question_id": id }))
        .await;
    assert_eq!(ran["run"]["since"], Value::Null, "{ran:#}");
    let asked = server.received_requests().await.unwrap();
    let last = |place: &str| {
        let mut asked = asked.iter().rev();
        let found = asked.find(|it| it.url.path() == place).unwrap();
        found.url.query().unwrap().to_owned()
    };
    assert!(last("/works").contains("from-pub-date"), "{asked:#?}");
    assert!(!last("/query").contains("submittedDate%3A"), "{asked:#?}");
}

#[tokio::test]
async fn a_clock_that_was_ahead_keeps_nothing_from_running() {
    let server = mock_crossref(&bee_works()).await;
    let clock = Arc::new(FixedClock::new());
    let kit = harness_with_clock(&server, clock.clone(), None);
    let id = create_question(&kit, json!({})).await;
    let once = json!({ "question_id": id });
    kit.call_ok("run_discovery_for_question", once.clone())
        .await;
    clock.advance(-86_400_000_000 * 400);
    let ran = kit.call_ok("run_discovery_for_question", once).await;
    assert_eq!(ran["run"]["since"], "2024-07-30", "{ran:#}");
}
