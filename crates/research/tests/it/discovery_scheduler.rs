//! Tests of the scheduler that runs due questions.

use std::{sync::Arc, time::Duration};

use deliberate_testkit::{FixedClock, wait_for, wait_until_async};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use wiremock::{MockServer, ResponseTemplate};

use super::mock_crossref::{
    crossref_work, harness_in_folder, harness_with_clock, mock_crossref, mount_response,
    search_response,
};

const DAY: i64 = 86_400_000_000;
const POLL_INTERVAL: Duration = Duration::from_millis(20);

async fn request_count(server: &MockServer) -> usize {
    server.received_requests().await.unwrap().len()
}

/// Waits until the source got this many requests, and a few polls longer.
async fn wait_for_requests(server: &MockServer, many: usize) -> usize {
    for _ in 0..500 {
        if request_count(server).await >= many {
            break;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    tokio::time::sleep(POLL_INTERVAL * 10).await;
    request_count(server).await
}

/// Waits until an answer fulfills a condition: a run is stored some time after its source was
/// asked.
async fn wait_for_answer(answer: impl AsyncFn() -> Value, holds: impl Fn(&Value) -> bool) -> Value {
    let found = wait_for(async || {
        let now = answer().await;
        holds(&now).then_some(now)
    });
    found.await
}

#[tokio::test]
async fn what_is_due_runs_once_and_what_is_not_does_not() {
    let server = mock_crossref(&[crossref_work(
        "10.5555/one",
        "Honey bees and their dances",
        2025,
    )])
    .await;
    let clock = Arc::new(FixedClock::new());
    let kit = harness_with_clock(&server, clock.clone(), Some(POLL_INTERVAL));
    let daily = json!({ "name": "Daily", "keywords": ["honey bees"], "min_relevance_score": 0.1 });
    let daily = kit.call_ok("create_research_question", daily).await;
    let never = json!({
        "name": "Never", "keywords": ["wasps"], "schedule_frequency": "on-demand",
    });
    kit.call_ok("create_research_question", never).await;
    let resting = json!({ "name": "Off", "keywords": ["ants"] });
    let resting = kit.call_ok("create_research_question", resting).await;
    let id = json!({ "question_id": resting["question"]["question_id"] });
    kit.call_ok("delete_research_question", id).await;
    let stop = CancellationToken::new();
    kit.services.start(&kit.registry, stop.clone());
    tokio::time::sleep(POLL_INTERVAL * 10).await;
    assert_eq!(request_count(&server).await, 0, "nothing is due yet");
    clock.advance(2 * DAY);
    assert_eq!(wait_for_requests(&server, 1).await, 1);
    let id = json!({ "question_id": daily["question"]["question_id"] });
    let got = async || kit.call_ok("get_research_question", id.clone()).await;
    let ran = wait_for_answer(got, |got| !got["question"]["last_run"].is_null()).await;
    assert_eq!(ran["question"]["last_run"]["matched"], 1, "{ran:#}");
    clock.advance(2 * DAY);
    assert_eq!(wait_for_requests(&server, 2).await, 2);
    let again = |got: &Value| got["question"]["last_run"] != ran["question"]["last_run"];
    assert!(again(&wait_for_answer(got, again).await));
    stop.cancel();
    clock.advance(2 * DAY);
    assert_eq!(wait_for_requests(&server, 3).await, 2, "it was stopped");
}

#[tokio::test]
async fn one_that_fails_rests_and_keeps_no_other_from_running() {
    let server = mock_crossref(&[]).await;
    mount_response(&server, "/works", ResponseTemplate::new(400), 1).await;
    let clock = Arc::new(FixedClock::new());
    let kit = harness_with_clock(&server, clock.clone(), Some(POLL_INTERVAL));
    let source = json!({ "name": "First", "keywords": ["bees"], "schedule_hours": 1 });
    kit.call_ok("create_crossref_source", source).await;
    let later = json!({ "name": "Second", "keywords": ["ants"], "schedule_hours": 2 });
    kit.call_ok("create_crossref_source", later).await;
    clock.advance(DAY);
    mount_response(&server, "/never", search_response(&[]), 1).await;
    let stop = CancellationToken::new();
    kit.services.start(&kit.registry, stop.clone());
    // One fails and is not retried for an hour; the other runs.
    assert_eq!(wait_for_requests(&server, 2).await, 2);
    let got = async |name: &'static str| {
        let asked = json!({ "source_name": name });
        kit.call_ok("get_discovery_source", asked).await["sources"][0]["last_run"].clone()
    };
    let second = wait_for_answer(async || got("second").await, |ran| !ran.is_null()).await;
    assert_eq!(second["found"], 0);
    assert!(got("first").await.is_null());
    stop.cancel();
}

#[tokio::test]
async fn of_two_processes_one_runs_what_is_due() {
    let server = mock_crossref(&[]).await;
    let clock = Arc::new(FixedClock::new());
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let process = || harness_in_folder(&server, folder.clone(), clock.clone(), Some(POLL_INTERVAL));
    let (one, other) = (process(), process());
    for name in ["First", "Second", "Third", "Fourth"] {
        let source = json!({ "name": name, "keywords": ["bees"], "schedule_hours": 48 });
        one.call_ok("create_crossref_source", source).await;
    }
    clock.advance(3 * DAY);
    let stop = CancellationToken::new();
    one.services.start(&one.registry, stop.clone());
    other.services.start(&other.registry, stop.clone());
    assert_eq!(wait_for_requests(&server, 4).await, 4);
    stop.cancel();
}

#[tokio::test]
async fn many_that_fail_do_not_keep_one_behind_them_from_running() {
    let server = mock_crossref(&[]).await;
    let clock = Arc::new(FixedClock::new());
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let kit = harness_in_folder(&server, folder.clone(), clock.clone(), Some(POLL_INTERVAL));
    for number in 0..20 {
        let question = json!({ "name": format!("Q {number}"), "keywords": ["bees"] });
        kit.call_ok("create_research_question", question).await;
    }
    let behind = json!({ "name": "Behind", "keywords": ["ants"], "schedule_hours": 72 });
    kit.call_ok("create_crossref_source", behind).await;
    mount_response(&server, "/works", ResponseTemplate::new(400), 20).await;
    clock.advance(4 * DAY);
    let stop = CancellationToken::new();
    kit.services.start(&kit.registry, stop.clone());
    wait_until_async(async || {
        // This clock decides when questions are due.
        clock.advance(1_000_000);
        tokio::time::sleep(POLL_INTERVAL).await;
        request_count(&server).await >= 21
    })
    .await;
    assert_eq!(wait_for_requests(&server, 21).await, 21);
    let got = kit
        .call_ok("get_discovery_source", json!({ "source_name": "behind" }))
        .await;
    assert_eq!(got["sources"][0]["last_run"]["found"], 0, "{got:#}");
    stop.cancel();
    // The pause after a failure survives a restart.
    let next = harness_in_folder(&server, folder, clock.clone(), Some(POLL_INTERVAL));
    let stop = CancellationToken::new();
    next.services.start(&next.registry, stop.clone());
    assert_eq!(wait_for_requests(&server, 22).await, 21);
    stop.cancel();
}
