//! How a server speaks is found out, whatever it does when it is asked.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use deliberate_adapter::{ErrorKind, ServerConfig, config::Speaks, transport::Era};
use serde_json::json;

use crate::client_support::{Puppet, Served, client, newer, older, said, soon, stdio};

async fn speaks(config: ServerConfig, era: Era, version: &str) {
    let shown = format!("{} {era:?}", config.name);
    let client = client(config);
    let side = soon(client.server()).await.expect(&shown);
    assert_eq!((side.era, side.version.as_str()), (era, version), "{shown}");
    assert_eq!(side.info["unknown"]["field"], true, "{shown}");
    assert!(side.instructions.is_some(), "{shown}");
    let text = said(&client, "echo", json!({ "text": "ü\n\u{1f600}" })).await;
    assert_eq!(text, "ü\n\u{1f600}", "{shown}");
    assert_eq!(client.status().version.as_deref(), Some(version), "{shown}");
    soon(client.close()).await;
}

#[tokio::test]
async fn both_eras_are_found_out_on_every_transport() {
    let eras = [
        ("both", Era::Stateless, "2026-07-28"),
        ("stateless", Era::Stateless, "2026-07-28"),
        ("handshake", Era::Handshake, "2025-11-25"),
    ];
    // Started once before, which is slow: a server that says nothing for a while counts as older.
    drop(Served::http(&[]));
    for (name, era, version) in eras {
        let arguments = ["--era", name];
        speaks(stdio("stdio", &arguments), era, version).await;
        let web = Served::http(&arguments);
        speaks(web.config("http"), era, version).await;
        let streams = Served::http(&["--era", name, "--sse"]);
        speaks(streams.config("streams"), era, version).await;
        let socket = Served::ws(&arguments);
        speaks(socket.socket_config("socket"), era, version).await;
    }
}

#[tokio::test]
async fn the_era_can_be_chosen() {
    let mut config = stdio("both", &[]);
    config.speaks = Speaks::Handshake;
    speaks(config, Era::Handshake, "2025-11-25").await;
    let mut config = stdio("older", &["--era", "handshake"]);
    config.speaks = Speaks::Stateless;
    let error = soon(client(config).server()).await.unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Rpc(_)), "{error}");
}

#[tokio::test]
async fn a_program_that_dies_when_asked_is_started_again() {
    let config = stdio("dies", &["--fault", "exit-on-discover"]);
    speaks(config, Era::Handshake, "2025-11-25").await;
}

#[tokio::test]
async fn what_refuses_or_lies_is_no_server_and_says_why() {
    for (fault, why) in [
        ("refuse-init", "not today"),
        (
            "lie-version",
            "it speaks revision \"2099-01-01\", which we do not know",
        ),
    ] {
        let client = client(stdio("odd", &["--era", "handshake", "--fault", fault]));
        let error = soon(client.server()).await.unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
        assert_eq!(error.to_json()["sent"], "no");
        let again = soon(client.server()).await.unwrap_err();
        assert!(matches!(again.kind, ErrorKind::Resting { .. }), "{again}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_to_it_is_greeted() {
    let puppet = Puppet::new(|stage, message| {
        if message["method"] == "server/discover" || older(stage, message) {
            return;
        }
        stage.say(message, "hello");
    });
    let client = puppet.client();
    assert_eq!(said(&client, "any", json!({})).await, "hello");
    assert_eq!(client.server().await.unwrap().era, Era::Handshake);
    assert_eq!(puppet.opened(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_era_is_remembered() {
    let puppet = Puppet::new(|stage, message| {
        if !older(stage, message) {
            stage.say(message, "hello");
        }
    });
    let client = puppet.client();
    for _ in 0..3 {
        said(&client, "any", json!({})).await;
        tokio::time::advance(std::time::Duration::from_mins(1)).await;
        puppet.stage().end("a restart");
    }
    assert_eq!(puppet.opened(), 3);
    assert_eq!(puppet.heard("server/discover").len(), 1);
    assert_eq!(client.status().reconnects, 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_renewed_is_found_out_anew() {
    let renewed = Arc::new(AtomicBool::new(false));
    let is_renewed = renewed.clone();
    let puppet = Puppet::new(move |stage, message| {
        let known = if is_renewed.load(Ordering::SeqCst) {
            newer(stage, message)
        } else {
            older(stage, message)
        };
        if !known {
            stage.say(message, "hello");
        }
    });
    let client = puppet.client();
    said(&client, "any", json!({})).await;
    renewed.store(true, Ordering::SeqCst);
    tokio::time::advance(std::time::Duration::from_mins(1)).await;
    puppet.stage().end("a new release");
    soon(client.server()).await.unwrap_err();
    tokio::time::advance(std::time::Duration::from_mins(1)).await;
    assert_eq!(said(&client, "any", json!({})).await, "hello");
    assert_eq!(client.server().await.unwrap().era, Era::Stateless);
}
