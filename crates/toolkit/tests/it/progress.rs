//! What a client hears while a call runs.

use std::sync::{Arc, Mutex};

use deliberate_toolkit::{Caller, Progress, Registry};
use serde_json::{Value, json};

use crate::{
    house::{done, parts},
    recorder::Recorder,
    tools::Steps,
};

/// What is heard of one call of `steps`.
async fn heard(arguments: Value) -> Vec<Progress> {
    let registry = Registry::new(parts(Recorder::new(), None)).with(Steps);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ears = heard.clone();
    let caller = Caller {
        progress: Some(Arc::new(move |progress| {
            ears.lock().unwrap().push(progress);
        })),
        ..Caller::default()
    };
    done(registry.call("steps", arguments, caller).await);
    let heard = heard.lock().unwrap();
    heard.clone()
}

fn assert_grows(heard: &[Progress]) {
    for pair in heard.windows(2) {
        assert!(pair[0].done < pair[1].done, "{pair:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn progress_only_grows_whatever_the_tool_says() {
    let numbers = [0.0, 0.0, 5.0, 3.0, -1.0, 5.0, 10.0, 10.0];
    let heard = heard(json!({ "numbers": numbers, "pause_secs": 0 })).await;
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
    let heard = heard(json!({ "numbers": [1.0, 2.0], "pause_secs": 12 })).await;
    let messages: Vec<_> = heard.iter().map(|it| it.message.as_str()).collect();
    // After one second of the 24 and every five from there, with what was said last.
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
    let (tools, waiting) = crate::tools::waits([("wait", deliberate_toolkit::Limits::default())]);
    let store = Recorder::new();
    let registry = tools
        .into_iter()
        .fold(Registry::new(parts(store, None)), Registry::with);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ears = heard.clone();
    let caller = Caller {
        progress: Some(Arc::new(move |progress| {
            let mut heard = ears.lock().unwrap();
            heard.push(progress);
            if heard.len() == 3 {
                waiting.let_go.add_permits(1);
            }
        })),
        ..Caller::default()
    };
    let begun = tokio::time::Instant::now();
    done(registry.call("wait", json!({ "name": "x" }), caller).await);
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
