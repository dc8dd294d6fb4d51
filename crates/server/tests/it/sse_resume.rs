//! Lost streams: resumed, expired or replaced.

use std::{sync::atomic::Ordering, time::Duration};

use deliberate_server::http::sse::SseOptions;
use serde_json::json;

use crate::sse_support::{SseTestServer, wait_until};

#[tokio::test]
async fn what_was_missed_and_nothing_else_is_sent_again() {
    let server = SseTestServer::start(SseOptions::default()).await;
    let mut client = server.connect(Some("ann")).await;
    for id in 1..=3 {
        client.call_echo(id, "before").await;
        client.next_text().await;
    }
    client.call_held(4).await;
    let (endpoint, last_id) = client.disconnect();

    // Answers arrive while nobody reads; one call still runs when the client reconnects.
    for id in 5..=6 {
        let body = json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "echo", "arguments": {"text": "away"}}
        });
        let body = body.to_string();
        let posted = server
            .post(&endpoint, &[("x-name", "ann")], body.as_bytes())
            .await;
        assert_eq!(posted.status, 202);
    }
    let back = [("x-name", "ann"), ("last-event-id", last_id.as_str())];
    let mut client = server.open_stream(&back).await;
    assert_eq!(client.endpoint, endpoint);
    assert_eq!(
        client.last_id, last_id,
        "the client has no more than it had"
    );
    let mut ids = [client.next_text().await.0, client.next_text().await.0];
    ids.sort_by_key(serde_json::Value::as_i64);
    assert_eq!(ids, [json!(5), json!(6)]);
    server.gate.add_permits(1);
    assert_eq!(client.next_text().await, (json!(4), "held".to_owned()));
    assert_eq!(server.control.active(), 1);
}

#[tokio::test]
async fn what_was_sent_into_the_void_is_sent_again() {
    let server = SseTestServer::start(SseOptions::default()).await;
    let mut client = server.connect(None).await;
    let seen = client.last_id.clone();
    client.call_echo(1, "one").await;
    let first = client.next_event().await.unwrap();
    client.call_echo(2, "two").await;
    let second = client.next_event().await.unwrap();
    client.disconnect();
    // As if the last two events had been lost.
    let mut client = server.open_stream(&[("last-event-id", &seen)]).await;
    for expected in [first, second] {
        let event = client.next_event().await.unwrap();
        assert_eq!((event.id, event.data), (expected.id, expected.data));
    }
    client.call_echo(3, "three").await;
    assert_eq!(client.next_text().await.0, 3);
}

#[tokio::test]
async fn what_is_not_kept_any_more_can_not_be_resumed() {
    let options = SseOptions {
        replay_events: 2,
        ..SseOptions::default()
    };
    let server = SseTestServer::start(options).await;
    let mut client = server.connect(None).await;
    let seen = client.last_id.clone();
    let session = seen.rsplit_once('-').unwrap().0;
    for id in 1..=3 {
        client.call_echo(id, "x").await;
        client.next_text().await;
    }
    for id in [
        seen.as_str(),
        &format!("{session}-9"),
        &format!("{session}-99999999999999999999"),
        &format!("{session}--1"),
        session,
        "-",
        "0-0",
    ] {
        assert_eq!(
            server.open_status(&[("last-event-id", id)]).await,
            404,
            "{id}"
        );
    }
    // The attempt does not disturb the open stream; an empty id counts as none.
    client.call_echo(4, "still").await;
    assert_eq!(client.next_text().await.1, "still");
    assert_eq!(server.open_status(&[("last-event-id", "")]).await, 200);
}

#[tokio::test]
async fn a_second_stream_takes_the_place_of_the_first() {
    let server = SseTestServer::start(SseOptions::default()).await;
    let mut first = server.connect(None).await;
    let mut second = server
        .open_stream(&[("last-event-id", &first.last_id)])
        .await;
    assert!(first.next_event().await.is_none(), "the first has ended");
    second.call_echo(1, "here").await;
    assert_eq!(second.next_text().await.1, "here");
    assert_eq!(server.control.active(), 1);
}

#[tokio::test]
async fn who_does_not_come_back_leaves_nothing_behind() {
    let options = SseOptions {
        resume_timeout: Duration::from_millis(50),
        ..SseOptions::default()
    };
    let server = SseTestServer::start(options).await;
    let client = server.connect(None).await;
    client.call_held(1).await;
    client.call_held(2).await;
    let silent = server.open_stream(&[]).await;
    assert_eq!(server.control.active(), 2);
    silent.disconnect();
    let (endpoint, last_id) = client.disconnect();
    wait_until("the sessions to end", || server.control.active() == 0).await;
    let cancelled = || server.probe.cancelled.load(Ordering::SeqCst) == 2;
    wait_until("the calls to stop", cancelled).await;
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(server.post(&endpoint, &[], ping).await.status, 404);
    assert_eq!(
        server.open_status(&[("last-event-id", &last_id)]).await,
        404
    );
}
