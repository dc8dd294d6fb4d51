//! Limits of the SSE transport and the end of its sessions.

use std::{sync::atomic::Ordering, time::Duration};

use deliberate_server::http::sse::SseOptions;
use serde_json::json;

use crate::sse_support::{SseTestServer, wait_until, with_timeout};

#[tokio::test]
async fn a_client_that_does_not_read_is_slowed_and_then_cut_off() {
    let options = SseOptions {
        waiting_events: 2,
        waiting_bytes: 1024 * 1024,
        stalled_timeout: Duration::from_millis(300),
        ..SseOptions::default()
    };
    let server = SseTestServer::start(options).await;
    let reading = server.connect(None).await;
    let client = server.connect(None).await;
    client.call_held(1).await;
    let call = |id: i64| {
        json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "big", "arguments": {"bytes": 1024 * 1024}}
        })
    };
    // The socket itself buffers some megabytes; after that nothing may accumulate.
    let mut taken = 0;
    for id in 2..200 {
        let posted = client.post(&call(id)).await;
        if posted.status != 202 {
            assert_eq!(posted.status, 404, "{posted:?}");
            break;
        }
        taken += 1;
    }
    assert!(taken < 100, "{taken} megabytes were taken");
    let cancelled = || server.probe.cancelled.load(Ordering::SeqCst) == 1;
    wait_until("its running call to stop", cancelled).await;
    wait_until("its connection to be cut", || {
        server.closer.0.is_cancelled()
    })
    .await;
    assert_eq!(server.control.active(), 1);
    let mut reading = reading;
    reading.call_echo(1, "fine").await;
    assert_eq!(reading.next_text().await.1, "fine");
}

#[tokio::test]
async fn requests_of_one_session_are_limited_in_number_and_size() {
    let options = SseOptions {
        running_calls: 2,
        running_bytes: 2_000,
        ..SseOptions::default()
    };
    let server = SseTestServer::start(options).await;
    let mut client = server.connect(None).await;
    client.call_held(1).await;
    let large = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "echo", "arguments": {"text": "x".repeat(2_000)}}
    });
    let refused = client.post(&large).await;
    assert_eq!(refused.status, 503);
    assert_eq!(
        (&refused.json()["id"], &refused.json()["error"]["code"]),
        (&json!(2), &json!(-32000))
    );
    client.call_held(3).await;
    let refused = client
        .post(&json!({"jsonrpc": "2.0", "id": 4, "method": "ping"}))
        .await;
    assert_eq!(refused.status, 503);
    assert_eq!(refused.json()["id"], 4);
    assert!(refused.headers.contains_key("retry-after"));
    server.gate.add_permits(2);
    client.next_text().await;
    client.next_text().await;
    client.call_echo(4, "room").await;
    assert_eq!(client.next_text().await.1, "room");
}

#[tokio::test]
async fn sessions_are_limited_for_each_and_for_all() {
    let options = SseOptions {
        sessions: 3,
        sessions_per_owner: 2,
        ..SseOptions::default()
    };
    let server = SseTestServer::start(options).await;
    let ann = [("x-name", "ann")];
    let bob = [("x-name", "bob")];
    let kept = [
        server.open_stream(&ann).await,
        server.open_stream(&ann).await,
    ];
    let (status, headers, _) = server.send("GET /sse", &ann, b"").await;
    assert_eq!(status, 503);
    assert!(headers.contains_key("retry-after"));
    let of_bob = server.open_stream(&bob).await;
    assert_eq!(server.open_status(&bob).await, 503, "the house is full");
    assert_eq!(server.open_status(&[]).await, 503);

    // A client that disconnects frees its room.
    drop(of_bob);
    let retry = async {
        while server.open_status(&bob).await != 200 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    with_timeout("room for bob", retry).await;
    assert_eq!(server.open_status(&ann).await, 503, "ann's are all in use");
    drop(kept);
}

#[tokio::test]
async fn draining_lets_calls_finish_and_takes_no_more() {
    let server = SseTestServer::start(SseOptions::default()).await;
    let mut client = server.connect(None).await;
    client.call_held(1).await;
    let control = server.control.clone();
    let drained = tokio::spawn(async move { control.drain(Duration::from_mins(1)).await });
    let refused = async {
        while server.open_status(&[]).await != 503 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    with_timeout("the door to close", refused).await;
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    let refused = client.post(&ping).await;
    assert_eq!((refused.status, &refused.json()["id"]), (503, &json!(2)));
    let told = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    assert_eq!(client.post(&told).await.status, 202);
    assert!(!drained.is_finished());

    server.gate.add_permits(1);
    assert_eq!(client.next_text().await, (json!(1), "held".to_owned()));
    assert!(client.next_event().await.is_none(), "then the stream ends");
    with_timeout("the end", drained).await.unwrap();
    assert_eq!(server.control.active(), 0);
    assert_eq!(server.probe.cancelled.load(Ordering::SeqCst), 0);
    assert_eq!(client.post(&ping).await.status, 404);
}

#[tokio::test]
async fn draining_does_not_wait_for_ever() {
    let server = SseTestServer::start(SseOptions::default()).await;
    let mut client = server.connect(None).await;
    client.call_held(1).await;
    let drain = server.control.drain(Duration::from_millis(20));
    with_timeout("the end", drain).await;
    assert!(client.next_event().await.is_none());
    let cancelled = || server.probe.cancelled.load(Ordering::SeqCst) == 1;
    wait_until("the call to stop", cancelled).await;
    assert_eq!(server.control.active(), 0);
}
