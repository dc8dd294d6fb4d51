//! One connection, many callers.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use deliberate_adapter::{
    Client, ErrorKind,
    client::{CallOptions, State},
    transport::Sent,
};
use futures::future::join_all;
use serde_json::{Value, json};

use crate::client_support::{Puppet, Served, call, client, older, said, soon, stdio, text, until};

/// Each gets its own answer, all from one process.
async fn crowd(client: &Client) {
    let each = (0..64).map(|number| async move {
        let own = format!("own {number}");
        assert_eq!(said(client, "echo", json!({ "text": own })).await, own);
        said(client, "pid", json!({})).await
    });
    let processes: HashSet<String> = join_all(each).await.into_iter().collect();
    assert_eq!(processes.len(), 1);
    let status = client.status();
    assert_eq!((status.calls, status.failures), (128, 0));
    assert_eq!((status.reconnects, status.in_flight), (0, 0));
    soon(client.close()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_share_one_connection_and_results_are_never_swapped() {
    for era in ["handshake", "stateless"] {
        crowd(&client(stdio("stdio", &["--era", era]))).await;
        let web = Served::http(&["--era", era, "--sse"]);
        crowd(&client(web.config("http"))).await;
        let socket = Served::ws(&["--era", era]);
        crowd(&client(socket.socket_config("socket"))).await;
    }
}

#[tokio::test]
async fn answers_in_any_order_find_who_waits() {
    let waiting: Arc<Mutex<Vec<Value>>> = Arc::default();
    let puppet = Puppet::new(move |stage, message| {
        if older(stage, message) {
            return;
        }
        let mut waiting = waiting.lock().unwrap();
        waiting.push(message.clone());
        if waiting.len() == 20 {
            for message in waiting.drain(..).rev() {
                // An answer to nothing is in between.
                stage.say(&json!({ "id": 999_999 }), "nobody's");
                stage.say(
                    &message,
                    message["params"]["arguments"]["n"].as_str().unwrap(),
                );
            }
        }
    });
    let client = &puppet.client();
    let each = (0..20).map(|n| async move {
        let n = n.to_string();
        assert_eq!(said(client, "any", json!({ "n": n })).await, n);
    });
    join_all(each).await;
}

/// A server that tells how many calls it has at once, and answers when it is let.
fn slow_puppet() -> (Arc<Puppet>, Arc<Mutex<Vec<Value>>>) {
    let waiting: Arc<Mutex<Vec<Value>>> = Arc::default();
    let held = waiting.clone();
    let puppet = Puppet::new(move |stage, message| {
        if !older(stage, message) && message["method"] == "tools/call" {
            held.lock().unwrap().push(message.clone());
        }
    });
    (puppet, waiting)
}

#[tokio::test]
async fn only_so_many_run_at_once() {
    let (puppet, waiting) = slow_puppet();
    let mut config = stdio("puppet", &[]);
    config.limits.at_once = 3;
    let client = puppet.client_with(config);
    let done = Arc::new(AtomicUsize::new(0));
    for _ in 0..7 {
        let (client, done) = (client.clone(), done.clone());
        tokio::spawn(async move {
            call(&client, "any", json!({})).await.unwrap();
            done.fetch_add(1, Ordering::SeqCst);
        });
    }
    for answered in 0..7 {
        let expected = (7 - answered).min(3);
        until(|| waiting.lock().unwrap().len() == expected).await;
        assert_eq!(client.status().in_flight, expected);
        let one = waiting.lock().unwrap().pop().unwrap();
        puppet.stage().say(&one, "done");
    }
    until(|| done.load(Ordering::SeqCst) == 7).await;
    assert_eq!(puppet.heard("tools/call").len(), 7);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_place_too_long_is_told_that_nothing_was_sent() {
    let (puppet, _waiting) = slow_puppet();
    let mut config = stdio("puppet", &[]);
    config.limits.at_once = 1;
    config.limits.answer = Duration::from_mins(10);
    let client = puppet.client_with(config);
    let first = client.clone();
    tokio::spawn(async move { call(&first, "any", json!({})).await });
    until(|| puppet.heard("tools/call").len() == 1).await;
    let options = CallOptions {
        answer: Some(Duration::from_secs(2)),
        ..CallOptions::default()
    };
    let error = client.call("any", json!({}), options).await.unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Timeout { .. }), "{error}");
    assert_eq!(error.sent, Sent::No);
    assert_eq!(puppet.heard("tools/call").len(), 1);
    // A busy server is there all the same.
    client.ping().await.unwrap();
    assert!(client.status().last_ping_ms.is_some());
}

#[tokio::test]
async fn calls_beyond_the_rate_are_refused_with_the_time_to_wait() {
    let mut config = stdio("paced", &[]);
    config.limits.per_minute = Some(2);
    let client = client(config);
    for _ in 0..2 {
        said(&client, "echo", json!({ "text": "x" })).await;
    }
    let error = call(&client, "echo", json!({ "text": "x" }))
        .await
        .unwrap_err();
    let ErrorKind::RateLimited { wait } = error.kind else {
        panic!("{error}");
    };
    assert!(wait > Duration::ZERO && wait <= Duration::from_secs(30));
    assert_eq!((error.sent, error.code()), (Sent::No, "RateLimited"));
    assert!(error.hint().unwrap().contains("Try again in"));
    assert!(error.may_be_repeated(false));
}

#[tokio::test]
async fn the_state_tells_how_it_stands() {
    let client = client(stdio("state", &[]));
    let status = client.status();
    assert_eq!((status.state, status.up_percent), (State::Idle, None));
    let took = soon(client.ping()).await.unwrap();
    assert!(took > Duration::ZERO);
    let status = client.status();
    assert_eq!(status.state, State::Ready);
    assert!(status.last_ping_ms.unwrap() > 0.0);
    assert!(status.up_percent.unwrap() > 0.0);
    assert_eq!((status.calls, status.mean_ms), (0, None));
    let failing = call(&client, "nothing", json!({})).await.unwrap_err();
    assert!(matches!(failing.kind, ErrorKind::Rpc(_)));
    let result = call(&client, "fail", json!({ "message": "broken" }))
        .await
        .unwrap();
    // What a tool says of itself is a result.
    assert_eq!(
        (text(&result), &result["isError"]),
        ("broken".into(), &json!(true))
    );
    let status = client.status();
    assert_eq!((status.calls, status.failures), (2, 1));
    assert!(status.last_error.unwrap().contains("Unknown tool"));
    assert!(status.mean_ms.unwrap() > 0.0);
    soon(client.close()).await;
    assert_eq!(client.status().state, State::Stopped);
}
