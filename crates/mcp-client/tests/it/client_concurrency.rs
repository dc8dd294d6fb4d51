//! Tests of many callers on one connection.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use deliberate_mcp_client::{
    ClientErrorKind, McpClient,
    client::{CallOptions, ClientState},
    transport::DeliveryStatus,
};
use futures::future::join_all;
use serde_json::{Value, json};

use crate::client_support::{
    ScriptedServer, SpawnedServer, answer_handshake, call, call_text, client, stdio, text,
    wait_until, with_deadline,
};

/// Checks that each call gets its own answer, all from one process.
async fn call_concurrently(client: &McpClient) {
    let each = (0..64).map(|number| async move {
        let own = format!("own {number}");
        assert_eq!(call_text(client, "echo", json!({ "text": own })).await, own);
        call_text(client, "pid", json!({})).await
    });
    let processes: HashSet<String> = join_all(each).await.into_iter().collect();
    assert_eq!(processes.len(), 1);
    let status = client.status();
    assert_eq!((status.calls, status.failures), (128, 0));
    assert_eq!((status.reconnects, status.in_flight), (0, 0));
    with_deadline(client.close()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_share_one_connection_and_results_are_never_swapped() {
    for era in ["handshake", "stateless"] {
        call_concurrently(&client(stdio("stdio", &["--era", era]))).await;
        let web = SpawnedServer::http(&["--era", era, "--sse"]);
        call_concurrently(&client(web.config("http"))).await;
        let socket = SpawnedServer::ws(&["--era", era]);
        call_concurrently(&client(socket.socket_config("socket"))).await;
    }
}

#[tokio::test]
async fn answers_in_any_order_find_who_waits() {
    let waiting: Arc<Mutex<Vec<Value>>> = Arc::default();
    let server = ScriptedServer::new(move |stage, message| {
        if answer_handshake(stage, message) {
            return;
        }
        let mut waiting = waiting.lock().unwrap();
        waiting.push(message.clone());
        if waiting.len() == 20 {
            for message in waiting.drain(..).rev() {
                // An answer to an unknown request comes in between.
                stage.answer_text(&json!({ "id": 999_999 }), "nobody's");
                stage.answer_text(
                    &message,
                    message["params"]["arguments"]["n"].as_str().unwrap(),
                );
            }
        }
    });
    let client = &server.client();
    let each = (0..20).map(|n| async move {
        let n = n.to_string();
        assert_eq!(call_text(client, "any", json!({ "n": n })).await, n);
    });
    join_all(each).await;
}

/// A server that reports how many calls it has at once, and answers when it is released.
fn gated_server() -> (Arc<ScriptedServer>, Arc<Mutex<Vec<Value>>>) {
    let waiting: Arc<Mutex<Vec<Value>>> = Arc::default();
    let held = waiting.clone();
    let server = ScriptedServer::new(move |stage, message| {
        if !answer_handshake(stage, message) && message["method"] == "tools/call" {
            held.lock().unwrap().push(message.clone());
        }
    });
    (server, waiting)
}

#[tokio::test]
async fn only_so_many_run_at_once() {
    let (server, waiting) = gated_server();
    let mut config = stdio("puppet", &[]);
    config.limits.max_concurrent = 3;
    let client = server.client_with(config);
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
        wait_until(|| waiting.lock().unwrap().len() == expected).await;
        assert_eq!(client.status().in_flight, expected);
        let one = waiting.lock().unwrap().pop().unwrap();
        server.last_connection().answer_text(&one, "done");
    }
    wait_until(|| done.load(Ordering::SeqCst) == 7).await;
    assert_eq!(server.received_of("tools/call").len(), 7);
}

#[tokio::test]
async fn one_principal_leaves_a_part_to_the_next() {
    let (server, waiting) = gated_server();
    let mut config = stdio("puppet", &[]);
    config.limits.max_concurrent = 2;
    config.limits.principal_share = 50;
    let client = server.client_with(config);
    let start = |principal: &str| {
        let client = client.for_principal(Some(principal));
        tokio::spawn(async move { call(&client, "any", json!({})).await })
    };
    let calls: Vec<_> = (0..5).map(|_| start("ann")).collect();
    // One is sent and two wait; those beyond the share are refused.
    wait_until(|| calls.iter().filter(|it| it.is_finished()).count() == 2).await;
    wait_until(|| waiting.lock().unwrap().len() == 1).await;
    let next = start("ben");
    wait_until(|| waiting.lock().unwrap().len() == 2).await;
    for call in calls.iter().chain([&next]) {
        call.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_place_too_long_is_told_that_nothing_was_sent() {
    let (scripted_server, _waiting) = gated_server();
    let mut config = stdio("puppet", &[]);
    config.limits.max_concurrent = 1;
    config.limits.response_timeout = Duration::from_mins(10);
    let client = scripted_server.client_with(config);
    let first = client.clone();
    tokio::spawn(async move { call(&first, "any", json!({})).await });
    wait_until(|| scripted_server.received_of("tools/call").len() == 1).await;
    let options = CallOptions {
        response_timeout: Some(Duration::from_secs(2)),
        ..CallOptions::default()
    };
    let error = client.call("any", json!({}), options).await.unwrap_err();
    assert!(
        matches!(error.kind, ClientErrorKind::Timeout { .. }),
        "{error}"
    );
    assert_eq!(error.delivery, DeliveryStatus::No);
    assert_eq!(scripted_server.received_of("tools/call").len(), 1);
    // A busy server is reachable too.
    client.ping().await.unwrap();
    assert!(client.status().last_ping_ms.is_some());
}

#[tokio::test]
async fn calls_beyond_the_rate_are_refused_with_the_time_to_wait() {
    let mut config = stdio("paced", &[]);
    config.limits.per_minute = Some(2);
    let client = client(config);
    for _ in 0..2 {
        call_text(&client, "echo", json!({ "text": "x" })).await;
    }
    let error = call(&client, "echo", json!({ "text": "x" }))
        .await
        .unwrap_err();
    let ClientErrorKind::RateLimited { wait } = error.kind else {
        panic!("{error}");
    };
    assert!(wait > Duration::ZERO && wait <= Duration::from_secs(30));
    assert_eq!(
        (error.delivery, error.code()),
        (DeliveryStatus::No, "RateLimited")
    );
    assert!(error.hint().unwrap().contains("Retry in"));
    assert!(error.is_repeatable(false));
}

#[tokio::test]
async fn the_state_tells_how_it_stands() {
    let client = client(stdio("state", &[]));
    let status = client.status();
    assert_eq!((status.state, status.up_percent), (ClientState::Idle, None));
    let took = with_deadline(client.ping()).await.unwrap();
    assert!(took > Duration::ZERO);
    let status = client.status();
    assert_eq!(status.state, ClientState::Ready);
    assert!(status.last_ping_ms.unwrap() > 0.0);
    assert!(status.up_percent.unwrap() > 0.0);
    assert_eq!((status.calls, status.mean_ms), (0, None));
    let failing = call(&client, "nothing", json!({})).await.unwrap_err();
    assert!(matches!(failing.kind, ClientErrorKind::Rpc(_)));
    let result = call(&client, "fail", json!({ "message": "broken" }))
        .await
        .unwrap();
    // A failure that a tool reports is a result, and counts as a failure.
    assert_eq!(
        (text(&result), &result["isError"]),
        ("broken".into(), &json!(true))
    );
    let status = client.status();
    assert_eq!((status.calls, status.failures), (2, 2));
    assert!(status.last_error.unwrap().contains("Unknown tool"));
    assert!(status.mean_ms.unwrap() > 0.0);
    with_deadline(client.close()).await;
    assert_eq!(client.status().state, ClientState::Stopped);
}

#[tokio::test]
async fn a_client_tells_whether_somebody_else_uses_it() {
    let server = ScriptedServer::new(|stage, message| {
        if !answer_handshake(stage, message) {
            stage.answer_text(message, "done");
        }
    });
    let client = server.client();
    call(&client, "any", json!({})).await.unwrap();
    assert!(!client.has_other_users());
    let user = client.clone();
    assert!(client.has_other_users());
    drop(user);
    assert!(!client.has_other_users());
}
