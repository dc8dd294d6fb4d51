//! Tests of the backoff after failures, and of finding a server again.

use std::{sync::atomic::Ordering, time::Duration};

use deliberate_mcp_client::{
    ClientErrorKind, McpClient, client::ClientState, transport::DeliveryStatus,
};
use deliberate_testkit::wait_until_async;
use serde_json::json;
use tokio::time::advance;

use crate::client_support::{
    ScriptedServer, SpawnedServer, answer_handshake, call, call_text, client, wait_until,
};

fn echo_server() -> std::sync::Arc<ScriptedServer> {
    ScriptedServer::new(|stage, message| {
        if !answer_handshake(stage, message) {
            stage.answer_text(message, "hello");
        }
    })
}

/// Returns the remaining backoff.
async fn backoff_of(client: &McpClient) -> Duration {
    let error = call(client, "any", json!({})).await.unwrap_err();
    assert_eq!(error.delivery, DeliveryStatus::No);
    let ClientErrorKind::Backoff { wait, .. } = error.kind else {
        panic!("{error}");
    };
    assert!(error.is_transient() && error.hint().is_some());
    wait
}

#[tokio::test(start_paused = true)]
async fn rests_grow_while_it_is_refused_and_end_when_it_is_back() {
    let server = echo_server();
    server.refuses.store(true, Ordering::SeqCst);
    let client = server.client();
    let mut rests = Vec::new();
    for tries in 1..=12 {
        let error = call(&client, "any", json!({})).await.unwrap_err();
        assert_eq!(
            (error.code(), error.delivery),
            ("Unreachable", DeliveryStatus::No)
        );
        let rest = backoff_of(&client).await;
        assert_eq!(client.status().state, ClientState::Resting);
        // A call during the backoff makes no attempt.
        assert_eq!(server.open_count(), tries);
        rests.push(rest);
        advance(rest).await;
    }
    assert_eq!(rests.first(), Some(&Duration::from_millis(250)));
    assert!(rests.is_sorted());
    assert_eq!(rests.last(), Some(&Duration::from_secs(30)));
    server.refuses.store(false, Ordering::SeqCst);
    assert_eq!(call_text(&client, "any", json!({})).await, "hello");
    let status = client.status();
    assert_eq!((status.state, status.reconnects), (ClientState::Ready, 0));
    assert!(status.up_percent.unwrap() < 50.0);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_again_and_again_is_tried_less_and_less() {
    let server = echo_server();
    let client = server.client();
    let mut rests = Vec::new();
    for _ in 0..6 {
        call_text(&client, "any", json!({})).await;
        server.last_connection().end("it fell over");
        let again = call(&client, "any", json!({})).await;
        if let Err(error) = again {
            let ClientErrorKind::Backoff { wait, reason } = error.kind else {
                panic!("{error}");
            };
            assert_eq!(reason, "it fell over");
            rests.push(wait);
            advance(wait).await;
        }
    }
    // The first short connection is forgiven.
    assert_eq!(rests.len(), 5);
    assert!(rests.is_sorted_by(|one, next| one < next), "{rests:?}");
}

#[tokio::test(start_paused = true)]
async fn a_long_life_makes_up_for_failures() {
    let server = echo_server();
    let client = server.client();
    for _ in 0..3 {
        call_text(&client, "any", json!({})).await;
        server.last_connection().end("it fell over");
        advance(Duration::from_mins(1)).await;
    }
    call_text(&client, "any", json!({})).await;
    advance(Duration::from_mins(1)).await;
    server.last_connection().end("a restart");
    assert_eq!(call_text(&client, "any", json!({})).await, "hello");
    server.last_connection().end("and once more");
    assert_eq!(call_text(&client, "any", json!({})).await, "hello");
}

#[tokio::test(start_paused = true)]
async fn callers_share_an_attempt_and_one_who_leaves_does_not_end_it() {
    let scripted_server = ScriptedServer::new(|stage, message| {
        if message["method"] == "server/discover" {
            let (stage, message) = (stage.clone(), message.clone());
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                stage.refuse(&message, -32_601, "no");
            });
        } else if !answer_handshake(stage, message) {
            stage.answer_text(message, "hello");
        }
    });
    let client = &scripted_server.client();
    let impatient = tokio::time::timeout(Duration::from_millis(10), client.server_info());
    assert!(impatient.await.is_err());
    assert_eq!(client.status().state, ClientState::Connecting);
    let each = (0..20).map(|_| call_text(client, "any", json!({})));
    futures::future::join_all(each).await;
    assert_eq!(scripted_server.open_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_nobody_waited_for_is_not_served_stale() {
    let server = echo_server();
    server.refuses.store(true, Ordering::SeqCst);
    let client = server.client();
    {
        let leaving = client.server_info();
        tokio::pin!(leaving);
        let _ = futures::poll!(&mut leaving);
    }
    wait_until(|| client.status().state == ClientState::Resting).await;
    server.refuses.store(false, Ordering::SeqCst);
    advance(Duration::from_mins(1)).await;
    assert_eq!(call_text(&client, "any", json!({})).await, "hello");
}

/// Returns a loopback address that only this process uses, so that nobody takes a port that is free
/// for a while. Systems other than Linux have just one.
fn private_loopback() -> String {
    if cfg!(target_os = "linux") {
        let [_, b, c, d] = std::process::id().to_be_bytes();
        format!("127.{b}.{c}.{d}:0")
    } else {
        "127.0.0.1:0".to_owned()
    }
}

#[tokio::test]
async fn a_real_server_is_found_again() {
    let mut web = SpawnedServer::spawn_at("--http", &private_loopback(), &[]);
    let address = web.url().to_owned();
    let client = client(web.config("web"));
    call_text(&client, "pid", json!({})).await;
    web.kill();
    let error = call(&client, "pid", json!({})).await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    let _again = SpawnedServer::spawn_at("--http", &address, &[]);
    wait_until_async(async || call(&client, "pid", json!({})).await.is_ok()).await;
}
