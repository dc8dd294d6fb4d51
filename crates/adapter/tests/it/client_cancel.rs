//! What is no longer wanted, and what ends.

use std::{sync::Arc, time::Duration};

use deliberate_adapter::{
    Client, Error, ErrorKind,
    client::{CallOptions, Fresh, State},
    transport::Sent,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::client_support::{
    Puppet, Served, call, client, gone, newer, older, said, soon, stdio, until,
};

fn silent() -> Arc<Puppet> {
    Puppet::new(|stage, message| {
        older(stage, message);
    })
}

fn hanging(client: &Client, options: CallOptions) -> tokio::task::JoinHandle<Result<Value, Error>> {
    let client = client.clone();
    tokio::spawn(async move { client.call("hang", json!({}), options).await })
}

#[tokio::test]
async fn a_token_cancels_and_the_server_is_told() {
    let puppet = silent();
    let client = puppet.client();
    let options = CallOptions::default();
    let call = hanging(&client, options.clone());
    until(|| puppet.heard("tools/call").len() == 1).await;
    options.cancelled.cancel();
    let error = soon(call).await.unwrap().unwrap_err();
    assert_eq!(
        (&error.kind, error.sent),
        (&ErrorKind::Cancelled, Sent::Maybe)
    );
    assert!(!error.is_transient() && !error.may_differ_elsewhere());
    until(|| puppet.heard("notifications/cancelled").len() == 1).await;
    let told = &puppet.heard("notifications/cancelled")[0]["params"];
    assert_eq!(told["requestId"], puppet.heard("tools/call")[0]["id"]);
    assert_eq!(client.status().in_flight, 0);
}

#[tokio::test]
async fn dropping_cancels_too() {
    let puppet = silent();
    let client = puppet.client();
    let call = hanging(&client, CallOptions::default());
    until(|| puppet.heard("tools/call").len() == 1).await;
    call.abort();
    until(|| puppet.heard("notifications/cancelled").len() == 1).await;
    assert_eq!(client.status().in_flight, 0);
}

#[tokio::test]
async fn what_was_cancelled_before_is_not_sent() {
    let puppet = silent();
    let client = puppet.client();
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let options = CallOptions {
        cancelled,
        ..CallOptions::default()
    };
    let error = client.call("any", json!({}), options).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Cancelled);
    assert!(puppet.heard("tools/call").is_empty());
    assert!(puppet.heard("notifications/cancelled").is_empty());
}

#[tokio::test]
async fn the_handshake_is_never_cancelled() {
    let puppet = Puppet::new(|_, _| {});
    let mut config = stdio("puppet", &[]);
    config.limits.connect = Duration::from_millis(60);
    let client = puppet.client_with(config);
    soon(client.server()).await.unwrap_err();
    assert_eq!(puppet.heard("initialize").len(), 1);
    assert!(puppet.heard("notifications/cancelled").is_empty());
}

/// The stand-in works on a call until it is told to stop; then nothing is in flight there.
#[tokio::test]
async fn a_real_server_stops_its_work() {
    for era in ["handshake", "stateless"] {
        let web = Served::http(&["--era", era, "--sse"]);
        for config in [stdio("stdio", &["--era", era]), web.config("http")] {
            let client = client(config);
            let options = CallOptions::default();
            let call = hanging(&client, options.clone());
            until(|| client.status().in_flight == 1).await;
            options.cancelled.cancel();
            let error = soon(call).await.unwrap().unwrap_err();
            assert_eq!(error.kind, ErrorKind::Cancelled);
            assert_eq!(said(&client, "echo", json!({ "text": "x" })).await, "x");
        }
    }
}

#[tokio::test]
async fn a_server_of_the_newer_era_may_take_back_its_answer() {
    let puppet = Puppet::new(|stage, message| {
        if !newer(stage, message) {
            let params = json!({ "requestId": message["id"] });
            stage.tell("notifications/cancelled", &params);
        }
    });
    let error = call(&puppet.client(), "any", json!({})).await.unwrap_err();
    assert_eq!(
        (error.kind, error.sent),
        (ErrorKind::Cancelled, Sent::Maybe)
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_dropped_client_leaves_no_process_behind() {
    for era in ["handshake", "stateless"] {
        let client = client(stdio("dropped", &["--era", era]));
        let process = said(&client, "pid", json!({})).await;
        soon(client.tools(Fresh::Cached)).await.unwrap();
        let other = client.clone();
        drop(client);
        assert_eq!(said(&other, "pid", json!({})).await, process);
        drop(other);
        gone(&process).await;
    }
}

#[cfg(unix)]
#[tokio::test]
async fn closing_ends_the_process_and_may_be_done_twice() {
    for faults in [&[][..], &["--fault", "garbage"]] {
        let client = client(stdio("closed", faults));
        let process = said(&client, "pid", json!({})).await;
        soon(async { tokio::join!(client.close(), client.close()) }).await;
        soon(client.close()).await;
        gone(&process).await;
        let error = call(&client, "pid", json!({})).await.unwrap_err();
        assert_eq!((&error.kind, error.sent), (&ErrorKind::Stopped, Sent::No));
        for error in [
            soon(client.server()).await.unwrap_err(),
            soon(client.ping()).await.unwrap_err(),
            soon(client.tools(Fresh::Anew)).await.unwrap_err(),
        ] {
            assert_eq!(error.kind, ErrorKind::Stopped);
        }
        assert_eq!(client.status().state, State::Stopped);
    }
}

#[tokio::test]
async fn closing_ends_what_waits_and_does_not_claim_that_it_did_not_happen() {
    let puppet = silent();
    let client = puppet.client();
    let call = hanging(&client, CallOptions::default());
    until(|| puppet.heard("tools/call").len() == 1).await;
    soon(client.close()).await;
    let error = soon(call).await.unwrap().unwrap_err();
    assert_eq!((error.kind, error.sent), (ErrorKind::Stopped, Sent::Maybe));
}

#[tokio::test]
async fn closing_ends_an_attempt_to_connect() {
    let puppet = Puppet::new(|_, _| {});
    let client = puppet.client();
    let call = hanging(&client, CallOptions::default());
    until(|| puppet.heard("server/discover").len() == 1).await;
    soon(client.close()).await;
    assert_eq!(
        soon(call).await.unwrap().unwrap_err().kind,
        ErrorKind::Stopped
    );
}

#[tokio::test]
async fn an_attempt_ends_when_nobody_is_left() {
    let puppet = Puppet::new(|_, _| {});
    let client = puppet.client();
    let call = hanging(&client, CallOptions::default());
    until(|| puppet.heard("server/discover").len() == 1).await;
    drop(client);
    call.abort();
    until(|| puppet.left() == 1).await;
}

#[tokio::test]
async fn a_dropped_client_leaves_no_connection_behind() {
    let puppet = Puppet::new(|stage, message| {
        if !newer(stage, message) {
            stage.say(message, "hello");
        }
    });
    let client = puppet.client();
    said(&client, "any", json!({})).await;
    until(|| puppet.heard("subscriptions/listen").len() == 1).await;
    drop(client);
    until(|| puppet.left() == 1).await;
}
