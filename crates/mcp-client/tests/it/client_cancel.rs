//! Tests of cancelled calls and closed clients.

use std::{sync::Arc, time::Duration};

use deliberate_mcp_client::{
    ClientError, ClientErrorKind, McpClient,
    client::{CachePolicy, CallOptions, ClientState},
    transport::DeliveryStatus,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::client_support::{
    ScriptedServer, SpawnedServer, answer_handshake, answer_stateless, call, call_text, client,
    stdio, wait_until, wait_until_gone, with_deadline,
};

fn silent_server() -> Arc<ScriptedServer> {
    ScriptedServer::new(|stage, message| {
        answer_handshake(stage, message);
    })
}

fn spawn_hanging_call(
    client: &McpClient,
    options: CallOptions,
) -> tokio::task::JoinHandle<Result<Value, ClientError>> {
    let client = client.clone();
    tokio::spawn(async move { client.call("hang", json!({}), options).await })
}

#[tokio::test]
async fn a_token_cancels_and_the_server_is_told() {
    let server = silent_server();
    let client = server.client();
    let options = CallOptions::default();
    let call = spawn_hanging_call(&client, options.clone());
    wait_until(|| server.received_of("tools/call").len() == 1).await;
    options.cancellation.cancel();
    let error = with_deadline(call).await.unwrap().unwrap_err();
    assert_eq!(
        (&error.kind, error.delivery),
        (&ClientErrorKind::Cancelled, DeliveryStatus::Maybe)
    );
    assert!(!error.is_transient() && !error.may_differ_elsewhere());
    wait_until(|| server.received_of("notifications/cancelled").len() == 1).await;
    let told = &server.received_of("notifications/cancelled")[0]["params"];
    assert_eq!(told["requestId"], server.received_of("tools/call")[0]["id"]);
    assert_eq!(client.status().in_flight, 0);
}

#[tokio::test]
async fn dropping_cancels_too() {
    let server = silent_server();
    let client = server.client();
    let call = spawn_hanging_call(&client, CallOptions::default());
    wait_until(|| server.received_of("tools/call").len() == 1).await;
    call.abort();
    wait_until(|| server.received_of("notifications/cancelled").len() == 1).await;
    assert_eq!(client.status().in_flight, 0);
}

#[tokio::test]
async fn what_was_cancelled_before_is_not_sent() {
    let server = silent_server();
    let client = server.client();
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let options = CallOptions {
        cancellation: cancelled,
        ..CallOptions::default()
    };
    let error = client.call("any", json!({}), options).await.unwrap_err();
    assert_eq!(error.kind, ClientErrorKind::Cancelled);
    assert!(server.received_of("tools/call").is_empty());
    assert!(server.received_of("notifications/cancelled").is_empty());
}

#[tokio::test]
async fn the_handshake_is_never_cancelled() {
    let server = ScriptedServer::new(|_, _| {});
    let mut config = stdio("puppet", &[]);
    config.limits.connect_timeout = Duration::from_millis(60);
    let client = server.client_with(config);
    with_deadline(client.server_info()).await.unwrap_err();
    assert_eq!(server.received_of("initialize").len(), 1);
    assert!(server.received_of("notifications/cancelled").is_empty());
}

/// The mock server works on a call until it is cancelled; then nothing is in flight there.
#[tokio::test]
async fn a_real_server_stops_its_work() {
    for era in ["handshake", "stateless"] {
        let web = SpawnedServer::http(&["--era", era, "--sse"]);
        for config in [stdio("stdio", &["--era", era]), web.config("http")] {
            let client = client(config);
            let options = CallOptions::default();
            let call = spawn_hanging_call(&client, options.clone());
            wait_until(|| client.status().in_flight == 1).await;
            options.cancellation.cancel();
            let error = with_deadline(call).await.unwrap().unwrap_err();
            assert_eq!(error.kind, ClientErrorKind::Cancelled);
            assert_eq!(
                call_text(&client, "echo", json!({ "text": "x" })).await,
                "x"
            );
        }
    }
}

#[tokio::test]
async fn a_server_of_the_newer_era_may_take_back_its_answer() {
    let server = ScriptedServer::new(|stage, message| {
        if !answer_stateless(stage, message) {
            let params = json!({ "requestId": message["id"] });
            stage.notify("notifications/cancelled", &params);
        }
    });
    let error = call(&server.client(), "any", json!({})).await.unwrap_err();
    assert_eq!(
        (error.kind, error.delivery),
        (ClientErrorKind::Cancelled, DeliveryStatus::Maybe)
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_dropped_client_leaves_no_process_behind() {
    for era in ["handshake", "stateless"] {
        let client = client(stdio("dropped", &["--era", era]));
        let process = call_text(&client, "pid", json!({})).await;
        with_deadline(client.tools(CachePolicy::Cached))
            .await
            .unwrap();
        let other = client.clone();
        drop(client);
        assert_eq!(call_text(&other, "pid", json!({})).await, process);
        drop(other);
        wait_until_gone(&process).await;
    }
}

#[cfg(unix)]
#[tokio::test]
async fn closing_ends_the_process_and_may_be_done_twice() {
    for faults in [&[][..], &["--fault", "garbage"]] {
        let client = client(stdio("closed", faults));
        let process = call_text(&client, "pid", json!({})).await;
        with_deadline(async { tokio::join!(client.close(), client.close()) }).await;
        with_deadline(client.close()).await;
        wait_until_gone(&process).await;
        let error = call(&client, "pid", json!({})).await.unwrap_err();
        assert_eq!(
            (&error.kind, error.delivery),
            (&ClientErrorKind::Stopped, DeliveryStatus::No)
        );
        for error in [
            with_deadline(client.server_info()).await.unwrap_err(),
            with_deadline(client.ping()).await.unwrap_err(),
            with_deadline(client.tools(CachePolicy::Refresh))
                .await
                .unwrap_err(),
        ] {
            assert_eq!(error.kind, ClientErrorKind::Stopped);
        }
        assert_eq!(client.status().state, ClientState::Stopped);
    }
}

#[tokio::test]
async fn closing_ends_what_waits_and_does_not_claim_that_it_did_not_happen() {
    let server = silent_server();
    let client = server.client();
    let call = spawn_hanging_call(&client, CallOptions::default());
    wait_until(|| server.received_of("tools/call").len() == 1).await;
    with_deadline(client.close()).await;
    let error = with_deadline(call).await.unwrap().unwrap_err();
    assert_eq!(
        (error.kind, error.delivery),
        (ClientErrorKind::Stopped, DeliveryStatus::Maybe)
    );
}

#[tokio::test]
async fn closing_ends_an_attempt_to_connect() {
    let scripted_server = ScriptedServer::new(|_, _| {});
    let client = scripted_server.client();
    let call = spawn_hanging_call(&client, CallOptions::default());
    wait_until(|| scripted_server.received_of("server/discover").len() == 1).await;
    with_deadline(client.close()).await;
    assert_eq!(
        with_deadline(call).await.unwrap().unwrap_err().kind,
        ClientErrorKind::Stopped
    );
}

#[tokio::test]
async fn an_attempt_ends_when_nobody_is_left() {
    let scripted_server = ScriptedServer::new(|_, _| {});
    let client = scripted_server.client();
    let call = spawn_hanging_call(&client, CallOptions::default());
    wait_until(|| scripted_server.received_of("server/discover").len() == 1).await;
    drop(client);
    call.abort();
    wait_until(|| scripted_server.closed_count() == 1).await;
}

#[tokio::test]
async fn a_dropped_client_leaves_no_connection_behind() {
    let server = ScriptedServer::new(|stage, message| {
        if !answer_stateless(stage, message) {
            stage.answer_text(message, "hello");
        }
    });
    let client = server.client();
    call_text(&client, "any", json!({})).await;
    wait_until(|| server.received_of("subscriptions/listen").len() == 1).await;
    drop(client);
    wait_until(|| server.closed_count() == 1).await;
}
