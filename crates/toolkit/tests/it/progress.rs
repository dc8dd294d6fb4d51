//! Tests of the progress that a client receives while a call runs.

use std::sync::{Arc, Mutex};

use deliberate_testkit::fixtures::progress_caller;
use deliberate_toolkit::{CallProgress, CallerContext, Registry};
use serde_json::{Value, json};

use super::{
    recording_store::RecordingStore,
    registry_fixture::{deps, expect_done},
    test_tools::ProgressTool,
};

/// Collects the progress of one call of `steps`.
async fn collect_progress(arguments: Value) -> Vec<CallProgress> {
    let registry = Registry::new(deps(RecordingStore::new(), None)).with(ProgressTool);
    let (caller, heard) = progress_caller();
    expect_done(registry.call("steps", arguments, caller).await);
    let heard = heard.lock().unwrap();
    heard.clone()
}

fn assert_grows(progress: &[CallProgress]) {
    for pair in progress.windows(2) {
        assert!(pair[0].done < pair[1].done, "{pair:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn progress_only_grows_whatever_the_tool_says() {
    let numbers = [0.0, 0.0, 5.0, 3.0, -1.0, 5.0, 10.0, 10.0];
    let heard = collect_progress(json!({ "numbers": numbers, "pause_secs": 0 })).await;
    let messages: Vec<_> = heard.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "at 0", "at 0", "at 5", "at 3", "at -1", "at 5", "at 10", "at 10"
        ]
    );
    assert!(heard.iter().all(|it| it.total == Some(10.0)));
    assert_grows(&heard);
}

#[tokio::test(start_paused = true)]
async fn a_silent_call_gives_signs_of_life() {
    let heard = collect_progress(json!({ "numbers": [1.0, 2.0], "pause_secs": 12 })).await;
    let messages: Vec<_> = heard.iter().map(|it| it.message.as_str()).collect();
    // Heartbeats come after one second of the 24 and then every five, with the latest message.
    assert_eq!(
        messages,
        ["at 1", "at 1", "at 1", "at 1", "at 2", "at 2", "at 2"]
    );
    assert_grows(&heard);
    assert!(
        heard.last().unwrap().done < 2.1,
        "a sign of life does not look like work"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_said_anything_is_said_to_be_working() {
    let (tools, waiting) =
        super::test_tools::wait_tools([("wait", deliberate_toolkit::ToolLimits::default())]);
    let store = RecordingStore::new();
    let registry = tools
        .into_iter()
        .fold(Registry::new(deps(store, None)), Registry::with);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ears = heard.clone();
    let caller = CallerContext {
        progress: Some(Arc::new(move |progress| {
            let mut heard = ears.lock().unwrap();
            heard.push(progress);
            if heard.len() == 3 {
                waiting.release.add_permits(1);
            }
        })),
        ..CallerContext::default()
    };
    let begun = tokio::time::Instant::now();
    expect_done(registry.call("wait", json!({ "name": "x" }), caller).await);
    assert_eq!(begun.elapsed().as_secs(), 11);
    let heard = heard.lock().unwrap();
    assert!(
        heard
            .iter()
            .all(|it| it.message == "working" && it.total.is_none()),
        "{heard:?}"
    );
    assert_grows(&heard);
}
