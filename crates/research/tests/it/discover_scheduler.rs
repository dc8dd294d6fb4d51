//! Questions that are due, while the server is up.

use std::{sync::Arc, time::Duration};

use deliberate_testkit::FixedClock;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use wiremock::{MockServer, ResponseTemplate};

use crate::discover_kit::{at, crossref, timed, timed_on, work, works};

const DAY: i64 = 86_400_000_000;
const LOOK: Duration = Duration::from_millis(20);

async fn asked(server: &MockServer) -> usize {
    server.received_requests().await.unwrap().len()
}

/// Waits until so many questions came to the source, and a few looks more.
async fn settled(server: &MockServer, many: usize) -> usize {
    for _ in 0..500 {
        if asked(server).await >= many {
            break;
        }
        tokio::time::sleep(LOOK).await;
    }
    tokio::time::sleep(LOOK * 10).await;
    asked(server).await
}

/// The answer once it holds: a run is kept a while after its source was asked.
async fn kept(answer: impl AsyncFn() -> Value, holds: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..500 {
        let now = answer().await;
        if holds(&now) {
            return now;
        }
        tokio::time::sleep(LOOK).await;
    }
    answer().await
}

#[tokio::test]
async fn what_is_due_runs_once_and_what_is_not_does_not() {
    let server = crossref(&[work("10.5555/one", "Honey bees and their dances", 2025)]).await;
    let clock = Arc::new(FixedClock::new());
    let kit = timed(&server, clock.clone(), Some(LOOK));
    let daily = json!({ "name": "Daily", "keywords": ["honey bees"], "min_relevance_score": 0.1 });
    let daily = kit.done("create_research_question", daily).await;
    let never = json!({
        "name": "Never", "keywords": ["wasps"], "schedule_frequency": "on-demand",
    });
    kit.done("create_research_question", never).await;
    let resting = json!({ "name": "Off", "keywords": ["ants"] });
    let resting = kit.done("create_research_question", resting).await;
    let id = json!({ "question_id": resting["question"]["question_id"] });
    kit.done("delete_research_question", id).await;
    let stop = CancellationToken::new();
    kit.lab.start(&kit.registry, stop.clone());
    tokio::time::sleep(LOOK * 10).await;
    assert_eq!(asked(&server).await, 0, "nothing is due yet");
    clock.advance(2 * DAY);
    assert_eq!(settled(&server, 1).await, 1);
    let id = json!({ "question_id": daily["question"]["question_id"] });
    let got = async || kit.done("get_research_question", id.clone()).await;
    let ran = kept(got, |got| !got["question"]["last_run"].is_null()).await;
    assert_eq!(ran["question"]["last_run"]["matched"], 1, "{ran:#}");
    clock.advance(2 * DAY);
    assert_eq!(settled(&server, 2).await, 2);
    let again = |got: &Value| got["question"]["last_run"] != ran["question"]["last_run"];
    assert!(again(&kept(got, again).await));
    stop.cancel();
    clock.advance(2 * DAY);
    assert_eq!(settled(&server, 3).await, 2, "it was stopped");
}

#[tokio::test]
async fn one_that_fails_rests_and_keeps_no_other_from_running() {
    let server = crossref(&[]).await;
    at(&server, "/works", ResponseTemplate::new(400), 1).await;
    let clock = Arc::new(FixedClock::new());
    let kit = timed(&server, clock.clone(), Some(LOOK));
    let source = json!({ "name": "First", "keywords": ["bees"], "schedule_hours": 1 });
    kit.done("create_crossref_source", source).await;
    let later = json!({ "name": "Second", "keywords": ["ants"], "schedule_hours": 2 });
    kit.done("create_crossref_source", later).await;
    clock.advance(DAY);
    at(&server, "/never", works(&[]), 1).await;
    let stop = CancellationToken::new();
    kit.lab.start(&kit.registry, stop.clone());
    // One fails and is left alone for an hour; the other runs.
    assert_eq!(settled(&server, 2).await, 2);
    let got = async |name: &'static str| {
        let asked = json!({ "source_name": name });
        kit.done("get_discovery_source", asked).await["sources"][0]["last_run"].clone()
    };
    let second = kept(async || got("second").await, |ran| !ran.is_null()).await;
    assert_eq!(second["found"], 0);
    assert!(got("first").await.is_null());
    stop.cancel();
}

#[tokio::test]
async fn of_two_processes_one_runs_what_is_due() {
    let server = crossref(&[]).await;
    let clock = Arc::new(FixedClock::new());
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let process = || timed_on(&server, folder.clone(), clock.clone(), Some(LOOK));
    let (one, other) = (process(), process());
    for name in ["First", "Second", "Third", "Fourth"] {
        let source = json!({ "name": name, "keywords": ["bees"], "schedule_hours": 48 });
        one.done("create_crossref_source", source).await;
    }
    clock.advance(3 * DAY);
    let stop = CancellationToken::new();
    one.lab.start(&one.registry, stop.clone());
    other.lab.start(&other.registry, stop.clone());
    assert_eq!(settled(&server, 4).await, 4);
    stop.cancel();
}

#[tokio::test]
async fn many_that_fail_do_not_keep_one_behind_them_from_running() {
    let server = crossref(&[]).await;
    let clock = Arc::new(FixedClock::new());
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let kit = timed_on(&server, folder.clone(), clock.clone(), Some(LOOK));
    for number in 0..20 {
        let question = json!({ "name": format!("Q {number}"), "keywords": ["bees"] });
        kit.done("create_research_question", question).await;
    }
    let behind = json!({ "name": "Behind", "keywords": ["ants"], "schedule_hours": 72 });
    kit.done("create_crossref_source", behind).await;
    at(&server, "/works", ResponseTemplate::new(400), 20).await;
    clock.advance(4 * DAY);
    let stop = CancellationToken::new();
    kit.lab.start(&kit.registry, stop.clone());
    for _ in 0..500 {
        // Turns are given by this clock.
        clock.advance(1_000_000);
        tokio::time::sleep(LOOK).await;
        if asked(&server).await >= 21 {
            break;
        }
    }
    assert_eq!(settled(&server, 21).await, 21);
    let got = kit
        .done("get_discovery_source", json!({ "source_name": "behind" }))
        .await;
    assert_eq!(got["sources"][0]["last_run"]["found"], 0, "{got:#}");
    stop.cancel();
    // The rest of those that failed outlasts the process.
    let next = timed_on(&server, folder, clock.clone(), Some(LOOK));
    let stop = CancellationToken::new();
    next.lab.start(&next.registry, stop.clone());
    assert_eq!(settled(&server, 22).await, 21);
    stop.cancel();
}
