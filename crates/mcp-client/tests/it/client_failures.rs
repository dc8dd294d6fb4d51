//! Tests of misbehaving servers, which must affect only the call in question.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use deliberate_mcp_client::{
    ClientErrorKind,
    client::{CallOptions, ClientState},
    transport::{DeliveryStatus, TransportError},
};
use serde_json::json;

use crate::client_support::{
    ScriptedServer, SpawnedServer, answer_handshake, call, call_text, client, stdio, wait_until,
    wait_until_gone, with_deadline,
};

#[tokio::test]
async fn killed_in_the_midst_of_a_call() {
    let client = client(stdio("killed", &[]));
    let before = call_text(&client, "pid", json!({})).await;
    let error = call(&client, "die", json!({})).await.unwrap_err();
    assert_eq!(
        (error.code(), error.delivery),
        ("ConnectionClosed", DeliveryStatus::Maybe)
    );
    assert!(!error.is_repeatable(false) && error.is_repeatable(true));
    assert_eq!(error.to_json()["about"], "die");
    assert_eq!(error.to_json()["sent"], "maybe");
    let after = call_text(&client, "pid", json!({})).await;
    assert_ne!(before, after);
    let status = client.status();
    assert_eq!((status.state, status.reconnects), (ClientState::Ready, 1));
    assert_eq!((status.calls, status.failures), (3, 1));
    wait_until_gone(&before).await;
    with_deadline(client.close()).await;
}

#[cfg(unix)]
#[tokio::test]
async fn killed_while_idle_nobody_notices() {
    let client = client(stdio("idle", &[]));
    for times in 1..=2 {
        let process = call_text(&client, "pid", json!({})).await;
        let mut kill = std::process::Command::new("kill");
        assert!(kill.args(["-9", &process]).status().unwrap().success());
        wait_until_gone(&process).await;
        if times == 1 {
            assert_ne!(call_text(&client, "pid", json!({})).await, process);
            assert_eq!(client.status().failures, 0);
        }
    }
}

#[tokio::test]
async fn noise_between_messages_is_only_counted() {
    for (fault, noisy) in [("garbage", true), ("wrong-ids", false)] {
        let client = client(stdio("noisy", &["--fault", fault]));
        for number in 0..20 {
            let own = number.to_string();
            assert_eq!(
                call_text(&client, "echo", json!({ "text": own })).await,
                own
            );
        }
        let status = client.status();
        assert_eq!((status.state, status.failures), (ClientState::Ready, 0));
        assert_eq!(status.garbage > 0, noisy);
    }
}

#[tokio::test]
async fn an_answer_without_an_id_is_no_answer() {
    let client = client(stdio("never", &["--fault", "never-id"]));
    let options = CallOptions {
        response_timeout: Some(Duration::from_millis(300)),
        ..CallOptions::default()
    };
    with_deadline(client.server_info()).await.unwrap();
    let error = client.call("echo", json!({ "text": "x" }), options);
    let error = with_deadline(error).await.unwrap_err();
    assert!(
        matches!(error.kind, ClientErrorKind::Timeout { .. }),
        "{error}"
    );
    assert_eq!(error.delivery, DeliveryStatus::Maybe);
    assert!(error.hint().unwrap().contains("may have completed"));
    with_deadline(client.ping()).await.unwrap();
}

#[tokio::test]
async fn an_answer_that_is_too_large_fails_alone() {
    for era in ["handshake", "stateless"] {
        let web = SpawnedServer::http(&["--era", era]);
        let socket = SpawnedServer::ws(&["--era", era]);
        let configs = [
            stdio("stdio", &["--era", era]),
            web.config("http"),
            socket.socket_config("ws"),
        ];
        for mut config in configs {
            config.limits.message_bytes = 200_000;
            let client = client(config);
            let error = call(&client, "big", json!({ "bytes": 1_000_000 }))
                .await
                .unwrap_err();
            assert_eq!(
                error.kind,
                ClientErrorKind::Transport(TransportError::TooLarge { limit: 200_000 })
            );
            assert!(!error.is_repeatable(true) && error.hint().is_some());
            assert_eq!(
                call_text(&client, "big", json!({ "bytes": 9 })).await.len(),
                9
            );
        }
    }
}

#[tokio::test]
async fn one_that_hangs_holds_up_nobody_else() {
    let client = client(stdio("hangs", &[]));
    with_deadline(client.server_info()).await.unwrap();
    let hanging = client.clone();
    let hanging = tokio::spawn(async move { call(&hanging, "hang", json!({})).await });
    wait_until(|| client.status().in_flight == 1).await;
    assert_eq!(
        call_text(&client, "echo", json!({ "text": "x" })).await,
        "x"
    );
    hanging.abort();
    wait_until(|| client.status().in_flight == 0).await;
}

#[tokio::test]
async fn a_deaf_server_is_given_up() {
    let mut config = stdio("deaf", &["--fault", "deaf"]);
    config.limits.connect_timeout = Duration::from_secs(3);
    let client = client(config);
    let error = call(&client, "echo", json!({})).await.unwrap_err();
    assert_eq!(
        (error.code(), error.delivery),
        ("Timeout", DeliveryStatus::No)
    );
    assert_eq!(client.status().state, ClientState::Resting);
}

/// A server that reports progress every second, `steps` times, and then answers.
fn slow_server(steps: u64) -> Arc<ScriptedServer> {
    ScriptedServer::new(move |stage, message| {
        if answer_handshake(stage, message) {
            return;
        }
        let (stage, message) = (stage.clone(), message.clone());
        tokio::spawn(async move {
            for step in 1..=steps {
                tokio::time::sleep(Duration::from_secs(1)).await;
                let token = &message["params"]["_meta"]["progressToken"];
                let params = json!({ "progressToken": token, "progress": step, "total": steps });
                stage.notify("notifications/progress", &params);
            }
            stage.answer_text(&message, "done");
        });
    })
}

#[tokio::test(start_paused = true)]
async fn progress_extends_the_limit_but_not_for_ever() {
    let client = slow_server(30).client();
    let seen: Arc<Mutex<Vec<f64>>> = Arc::default();
    let sees = seen.clone();
    let options = CallOptions {
        response_timeout: Some(Duration::from_secs(3)),
        progress: Some(Arc::new(move |progress| {
            sees.lock().unwrap().push(progress.done);
        })),
        ..CallOptions::default()
    };
    client
        .call("any", json!({}), options.clone())
        .await
        .unwrap();
    let expected: Vec<f64> = (1..=30).map(f64::from).collect();
    assert_eq!(*seen.lock().unwrap(), expected);
    let options = CallOptions {
        total_timeout: Some(Duration::from_secs(10)),
        ..options
    };
    let error = client.call("any", json!({}), options).await.unwrap_err();
    let ClientErrorKind::Timeout { after } = error.kind else {
        panic!("{error}");
    };
    assert_eq!(after.as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn without_progress_the_limit_holds() {
    let server = ScriptedServer::new(|stage, message| {
        answer_handshake(stage, message);
    });
    let client = server.client();
    let error = call(&client, "any", json!({})).await;
    assert!(error.is_err());
    let cancelled = || server.received_of("notifications/cancelled");
    wait_until(|| cancelled().len() == 1).await;
    assert_eq!(cancelled()[0]["params"]["reason"], "timeout");
    assert_eq!(
        cancelled()[0]["params"]["requestId"],
        server.received_of("tools/call")[0]["id"]
    );
}

#[tokio::test]
async fn a_forgotten_session_is_begun_anew_and_the_call_repeated_once() {
    let web = SpawnedServer::http(&["--era", "handshake", "--fault", "session-lost-after:4"]);
    let client = client(web.config("forgets"));
    for _ in 0..20 {
        assert_eq!(
            call_text(&client, "echo", json!({ "text": "x" })).await,
            "x"
        );
    }
    let status = client.status();
    assert_eq!((status.failures, status.state), (0, ClientState::Ready));
    assert!(status.reconnects >= 3, "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn what_waits_in_a_forgotten_session_may_still_be_answered() {
    let server = ScriptedServer::new(|stage, message| {
        if answer_handshake(stage, message) {
            return;
        }
        let (stage, message) = (stage.clone(), message.clone());
        let slow = message["params"]["name"] == "slow";
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(if slow { 5 } else { 0 })).await;
            stage.answer_text(&message, &stage.number.to_string());
        });
    });
    let client = server.client();
    let waits = client.clone();
    let waits = tokio::spawn(async move { call_text(&waits, "slow", json!({})).await });
    wait_until(|| !server.received_of("tools/call").is_empty()).await;
    server.last_connection().forget_session();
    assert_eq!(call_text(&client, "fast", json!({})).await, "2");
    assert_eq!(waits.await.unwrap(), "1");
}

#[tokio::test]
async fn a_stream_that_breaks_leaves_it_open_what_happened() {
    for era in ["handshake", "stateless"] {
        let web = SpawnedServer::http(&["--era", era, "--sse", "--fault", "drop-stream:2"]);
        let client = client(web.config("drops"));
        let mut broken = Vec::new();
        for _ in 0..3 {
            broken.extend(call(&client, "echo", json!({ "text": "x" })).await.err());
        }
        let error = &broken[0];
        assert_eq!(
            (error.code(), error.delivery),
            ("ConnectionClosed", DeliveryStatus::Maybe)
        );
        with_deadline(client.ping()).await.unwrap();
    }
}

#[tokio::test]
async fn statuses_say_whether_it_may_have_happened() {
    for (status, code, transient, sent) in [
        ("503", "Http", true, DeliveryStatus::Maybe),
        ("429", "Http", true, DeliveryStatus::No),
        ("401", "Unauthorized", false, DeliveryStatus::No),
        ("422", "Http", false, DeliveryStatus::No),
    ] {
        let fault = format!("status:{status}:tools/call");
        let web = SpawnedServer::http(&["--fault", &fault]);
        let client = client(web.config("status"));
        let error = call(&client, "echo", json!({ "text": "x" }))
            .await
            .unwrap_err();
        assert_eq!(
            (error.code(), error.delivery),
            (code, sent),
            "{status}: {error}"
        );
        assert_eq!(error.is_transient(), transient, "{status}");
    }
}

#[tokio::test]
async fn what_a_program_cannot_do_is_told_with_what_it_wrote() {
    let client = client(stdio("wrong", &["--no-such-option"]));
    let error = with_deadline(client.server_info()).await.unwrap_err();
    let shown = error.to_json();
    assert!(
        shown["diagnosis"]
            .as_str()
            .unwrap()
            .contains("--no-such-option"),
        "{shown}"
    );
}

#[tokio::test]
async fn a_part_of_a_result_that_has_a_wrong_form_does_not_take_the_rest_with_it() {
    let server = ScriptedServer::new(|stage, message| {
        if answer_handshake(stage, message) {
            return;
        }
        let newer = json!({ "type": "hologram", "data": 3 });
        let kept = json!({ "type": "text", "text": "kept" });
        let result = match message["params"]["name"].as_str() {
            Some("parts") => json!({
                "content": [7, kept, { "type": "text" }, newer, { "type": "image", "data": "AA==" }],
                "_meta": "no object",
            }),
            Some("content") => json!({ "content": "kept" }),
            _ => json!({ "content": [kept], "isError": "perhaps" }),
        };
        stage.answer(message, &result);
    });
    let client = server.client();
    let result = call(&client, "parts", json!({})).await.unwrap();
    let blocks = result["content"].as_array().unwrap();
    assert_eq!(blocks.len(), 5);
    assert_eq!(blocks[1]["text"], "kept");
    assert_eq!(blocks[3]["type"], "hologram");
    for at in [0, 2, 4] {
        let note = blocks[at]["text"].as_str().unwrap();
        assert!(note.contains("left out"), "{note}");
    }
    assert!(result.get("_meta").is_none(), "{result}");
    for tool in ["content", "flag"] {
        let error = call(&client, tool, json!({})).await.unwrap_err();
        assert_eq!(error.code(), "Malformed", "{tool}");
    }
}
