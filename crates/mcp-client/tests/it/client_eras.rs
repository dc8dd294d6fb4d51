//! Tests of negotiating the era with well-behaved and odd servers.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use deliberate_mcp_client::{
    ClientErrorKind, ServerConfig, config::ProtocolPreference, transport::McpEra,
};
use serde_json::json;

use crate::client_support::{
    ScriptedServer, SpawnedServer, answer_handshake, answer_stateless, call_text, client, stdio,
    with_deadline,
};

async fn assert_protocol(config: ServerConfig, era: McpEra, version: &str) {
    let shown = format!("{} {era:?}", config.name);
    let client = client(config);
    let side = with_deadline(client.server_info()).await.expect(&shown);
    assert_eq!((side.era, side.version.as_str()), (era, version), "{shown}");
    assert_eq!(side.info["unknown"]["field"], true, "{shown}");
    assert!(side.instructions.is_some(), "{shown}");
    let text = call_text(&client, "echo", json!({ "text": "ü\n\u{1f600}" })).await;
    assert_eq!(text, "ü\n\u{1f600}", "{shown}");
    assert_eq!(client.status().version.as_deref(), Some(version), "{shown}");
    with_deadline(client.close()).await;
}

#[tokio::test]
async fn both_eras_are_found_out_on_every_transport() {
    let eras = [
        ("both", McpEra::Stateless, "2026-07-28"),
        ("stateless", McpEra::Stateless, "2026-07-28"),
        ("handshake", McpEra::Handshake, "2025-11-25"),
    ];
    // Started once before, which is slow: a server that does not answer for a while counts as
    // older.
    drop(SpawnedServer::http(&[]));
    for (name, era, version) in eras {
        let arguments = ["--era", name];
        assert_protocol(stdio("stdio", &arguments), era, version).await;
        let web = SpawnedServer::http(&arguments);
        assert_protocol(web.config("http"), era, version).await;
        let streams = SpawnedServer::http(&["--era", name, "--sse"]);
        assert_protocol(streams.config("streams"), era, version).await;
        let socket = SpawnedServer::ws(&arguments);
        assert_protocol(socket.socket_config("socket"), era, version).await;
    }
}

#[tokio::test]
async fn the_era_can_be_chosen() {
    let mut config = stdio("both", &[]);
    config.protocol = ProtocolPreference::Handshake;
    assert_protocol(config, McpEra::Handshake, "2025-11-25").await;
    let mut config = stdio("older", &["--era", "handshake"]);
    config.protocol = ProtocolPreference::Stateless;
    let error = with_deadline(client(config).server_info())
        .await
        .unwrap_err();
    assert!(matches!(error.kind, ClientErrorKind::Rpc(_)), "{error}");
}

#[tokio::test]
async fn a_program_that_dies_when_asked_is_started_again() {
    let config = stdio("dies", &["--fault", "exit-on-discover"]);
    assert_protocol(config, McpEra::Handshake, "2025-11-25").await;
}

#[tokio::test]
async fn what_refuses_or_lies_is_no_server_and_says_why() {
    for (fault, why) in [
        ("refuse-init", "not today"),
        (
            "lie-version",
            "the server answered with protocol revision \"2099-01-01\", which this client does not support",
        ),
    ] {
        let client = client(stdio("odd", &["--era", "handshake", "--fault", fault]));
        let error = with_deadline(client.server_info()).await.unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
        assert_eq!(error.to_json()["sent"], "no");
        let again = with_deadline(client.server_info()).await.unwrap_err();
        assert!(
            matches!(again.kind, ClientErrorKind::Backoff { .. }),
            "{again}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_to_it_is_greeted() {
    let scripted_server = ScriptedServer::new(|stage, message| {
        if message["method"] == "server/discover" || answer_handshake(stage, message) {
            return;
        }
        stage.answer_text(message, "hello");
    });
    let client = scripted_server.client();
    assert_eq!(call_text(&client, "any", json!({})).await, "hello");
    assert_eq!(client.server_info().await.unwrap().era, McpEra::Handshake);
    assert_eq!(scripted_server.open_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_era_is_remembered() {
    let scripted_server = ScriptedServer::new(|stage, message| {
        if !answer_handshake(stage, message) {
            stage.answer_text(message, "hello");
        }
    });
    let client = scripted_server.client();
    for _ in 0..3 {
        call_text(&client, "any", json!({})).await;
        tokio::time::advance(std::time::Duration::from_mins(1)).await;
        scripted_server.last_connection().end("a restart");
    }
    assert_eq!(scripted_server.open_count(), 3);
    assert_eq!(scripted_server.received_of("server/discover").len(), 1);
    assert_eq!(client.status().reconnects, 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_renewed_is_found_out_anew() {
    let renewed = Arc::new(AtomicBool::new(false));
    let is_renewed = renewed.clone();
    let server = ScriptedServer::new(move |stage, message| {
        let known = if is_renewed.load(Ordering::SeqCst) {
            answer_stateless(stage, message)
        } else {
            answer_handshake(stage, message)
        };
        if !known {
            stage.answer_text(message, "hello");
        }
    });
    let client = server.client();
    call_text(&client, "any", json!({})).await;
    renewed.store(true, Ordering::SeqCst);
    tokio::time::advance(std::time::Duration::from_mins(1)).await;
    server.last_connection().end("a new release");
    with_deadline(client.server_info()).await.unwrap_err();
    tokio::time::advance(std::time::Duration::from_mins(1)).await;
    assert_eq!(call_text(&client, "any", json!({})).await, "hello");
    assert_eq!(client.server_info().await.unwrap().era, McpEra::Stateless);
}
