//! What servers do wrong, and that it harms nobody but who asked for it.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use deliberate_adapter::{
    ErrorKind,
    client::{CallOptions, State},
    transport::{Sent, TransportError},
};
use serde_json::json;

use crate::client_support::{Puppet, Served, call, client, gone, older, said, soon, stdio, until};

#[tokio::test]
async fn killed_in_the_midst_of_a_call() {
    let client = client(stdio("killed", &[]));
    let before = said(&client, "pid", json!({})).await;
    let error = call(&client, "die", json!({})).await.unwrap_err();
    assert_eq!(
        (error.code(), error.sent),
        ("ConnectionClosed", Sent::Maybe)
    );
    assert!(!error.may_be_repeated(false) && error.may_be_repeated(true));
    assert_eq!(error.to_json()["about"], "die");
    assert_eq!(error.to_json()["sent"], "maybe");
    let after = said(&client, "pid", json!({})).await;
    assert_ne!(before, after);
    let status = client.status();
    assert_eq!((status.state, status.reconnects), (State::Ready, 1));
    assert_eq!((status.calls, status.failures), (3, 1));
    gone(&before).await;
    soon(client.close()).await;
}

#[cfg(unix)]
#[tokio::test]
async fn killed_while_idle_nobody_notices() {
    let client = client(stdio("idle", &[]));
    for times in 1..=2 {
        let process = said(&client, "pid", json!({})).await;
        let mut kill = std::process::Command::new("kill");
        assert!(kill.args(["-9", &process]).status().unwrap().success());
        gone(&process).await;
        if times == 1 {
            assert_ne!(said(&client, "pid", json!({})).await, process);
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
            assert_eq!(said(&client, "echo", json!({ "text": own })).await, own);
        }
        let status = client.status();
        assert_eq!((status.state, status.failures), (State::Ready, 0));
        assert_eq!(status.garbage > 0, noisy);
    }
}

#[tokio::test]
async fn an_answer_without_an_id_is_no_answer() {
    let client = client(stdio("never", &["--fault", "never-id"]));
    let options = CallOptions {
        answer: Some(Duration::from_millis(300)),
        ..CallOptions::default()
    };
    soon(client.server()).await.unwrap();
    let error = client.call("echo", json!({ "text": "x" }), options);
    let error = soon(error).await.unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Timeout { .. }), "{error}");
    assert_eq!(error.sent, Sent::Maybe);
    assert!(error.hint().unwrap().contains("may have happened"));
    soon(client.ping()).await.unwrap();
}

#[tokio::test]
async fn an_answer_that_is_too_large_fails_alone() {
    for era in ["handshake", "stateless"] {
        let web = Served::http(&["--era", era]);
        let socket = Served::ws(&["--era", era]);
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
                ErrorKind::Transport(TransportError::TooLarge { limit: 200_000 })
            );
            assert!(!error.may_be_repeated(true) && error.hint().is_some());
            assert_eq!(said(&client, "big", json!({ "bytes": 9 })).await.len(), 9);
        }
    }
}

#[tokio::test]
async fn one_that_hangs_holds_up_nobody_else() {
    let client = client(stdio("hangs", &[]));
    soon(client.server()).await.unwrap();
    let hanging = client.clone();
    let hanging = tokio::spawn(async move { call(&hanging, "hang", json!({})).await });
    until(|| client.status().in_flight == 1).await;
    assert_eq!(said(&client, "echo", json!({ "text": "x" })).await, "x");
    hanging.abort();
    until(|| client.status().in_flight == 0).await;
}

#[tokio::test]
async fn a_deaf_server_is_given_up() {
    let mut config = stdio("deaf", &["--fault", "deaf"]);
    config.limits.connect = Duration::from_secs(3);
    let client = client(config);
    let error = call(&client, "echo", json!({})).await.unwrap_err();
    assert_eq!((error.code(), error.sent), ("Timeout", Sent::No));
    assert_eq!(client.status().state, State::Resting);
}

/// A server that tells of progress every second, as often as it is told to, and then answers.
fn slow(steps: u64) -> Arc<Puppet> {
    Puppet::new(move |stage, message| {
        if older(stage, message) {
            return;
        }
        let (stage, message) = (stage.clone(), message.clone());
        tokio::spawn(async move {
            for step in 1..=steps {
                tokio::time::sleep(Duration::from_secs(1)).await;
                let token = &message["params"]["_meta"]["progressToken"];
                let params = json!({ "progressToken": token, "progress": step, "total": steps });
                stage.tell("notifications/progress", &params);
            }
            stage.say(&message, "done");
        });
    })
}

#[tokio::test(start_paused = true)]
async fn progress_extends_the_limit_but_not_for_ever() {
    let client = slow(30).client();
    let seen: Arc<Mutex<Vec<f64>>> = Arc::default();
    let sees = seen.clone();
    let options = CallOptions {
        answer: Some(Duration::from_secs(3)),
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
        longest: Some(Duration::from_secs(10)),
        ..options
    };
    let error = client.call("any", json!({}), options).await.unwrap_err();
    let ErrorKind::Timeout { after } = error.kind else {
        panic!("{error}");
    };
    assert_eq!(after.as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn without_progress_the_limit_holds() {
    let puppet = Puppet::new(|stage, message| {
        older(stage, message);
    });
    let client = puppet.client();
    let error = call(&client, "any", json!({})).await;
    assert!(error.is_err());
    let cancelled = || puppet.heard("notifications/cancelled");
    until(|| cancelled().len() == 1).await;
    assert_eq!(cancelled()[0]["params"]["reason"], "timeout");
    assert_eq!(
        cancelled()[0]["params"]["requestId"],
        puppet.heard("tools/call")[0]["id"]
    );
}

#[tokio::test]
async fn a_forgotten_session_is_begun_anew_and_the_call_repeated_once() {
    let web = Served::http(&["--era", "handshake", "--fault", "session-lost-after:4"]);
    let client = client(web.config("forgets"));
    for _ in 0..20 {
        assert_eq!(said(&client, "echo", json!({ "text": "x" })).await, "x");
    }
    let status = client.status();
    assert_eq!((status.failures, status.state), (0, State::Ready));
    assert!(status.reconnects >= 3, "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn what_waits_in_a_forgotten_session_may_still_be_answered() {
    let puppet = Puppet::new(|stage, message| {
        if older(stage, message) {
            return;
        }
        let (stage, message) = (stage.clone(), message.clone());
        let slow = message["params"]["name"] == "slow";
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(if slow { 5 } else { 0 })).await;
            stage.say(&message, &stage.number.to_string());
        });
    });
    let client = puppet.client();
    let waits = client.clone();
    let waits = tokio::spawn(async move { said(&waits, "slow", json!({})).await });
    until(|| !puppet.heard("tools/call").is_empty()).await;
    puppet.stage().forget_session();
    assert_eq!(said(&client, "fast", json!({})).await, "2");
    assert_eq!(waits.await.unwrap(), "1");
}

#[tokio::test]
async fn a_stream_that_breaks_leaves_it_open_what_happened() {
    for era in ["handshake", "stateless"] {
        let web = Served::http(&["--era", era, "--sse", "--fault", "drop-stream:2"]);
        let client = client(web.config("drops"));
        let mut broken = Vec::new();
        for _ in 0..3 {
            broken.extend(call(&client, "echo", json!({ "text": "x" })).await.err());
        }
        let error = &broken[0];
        assert_eq!(
            (error.code(), error.sent),
            ("ConnectionClosed", Sent::Maybe)
        );
        soon(client.ping()).await.unwrap();
    }
}

#[tokio::test]
async fn statuses_say_whether_it_may_have_happened() {
    for (status, code, transient, sent) in [
        ("503", "Http", true, Sent::Maybe),
        ("429", "Http", true, Sent::No),
        ("401", "Unauthorized", false, Sent::No),
        ("422", "Http", false, Sent::No),
    ] {
        let fault = format!("status:{status}:tools/call");
        let web = Served::http(&["--fault", &fault]);
        let client = client(web.config("status"));
        let error = call(&client, "echo", json!({ "text": "x" }))
            .await
            .unwrap_err();
        assert_eq!(
            (error.code(), error.sent),
            (code, sent),
            "{status}: {error}"
        );
        assert_eq!(error.is_transient(), transient, "{status}");
    }
}

#[tokio::test]
async fn what_a_program_cannot_do_is_told_with_what_it_wrote() {
    let client = client(stdio("wrong", &["--no-such-option"]));
    let error = soon(client.server()).await.unwrap_err();
    let shown = error.to_json();
    assert!(
        shown["diagnosis"]
            .as_str()
            .unwrap()
            .contains("--no-such-option"),
        "{shown}"
    );
}
