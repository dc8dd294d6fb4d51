//! Tests of when the fallback server is called, and when it never is.

use std::{
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use deliberate_adapter::{
    Adapter, AdapterConfig, CallOptions, ClientError, ClientErrorKind, ServerConfig,
    adapter::FallbackPolicy, transport::DeliveryStatus,
};
use serde_json::{Value, json};

use crate::{
    adapter_support::{adapter, execute, handshake_server, named_server},
    client_support::{ScriptedServer, stdio, text, with_deadline},
};

fn config(when: FallbackPolicy) -> AdapterConfig {
    AdapterConfig {
        fallbacks: [("a".to_owned(), "b".to_owned())].into(),
        fallback_policy: when,
        ..AdapterConfig::default()
    }
}

fn default_config() -> AdapterConfig {
    config(FallbackPolicy::default())
}

/// Three tools: one read-only, one idempotent, one that must not be repeated.
fn tools() -> Value {
    json!([
        { "name": "reads", "annotations": { "readOnlyHint": true } },
        { "name": "repeats", "annotations": { "idempotentHint": true } },
        { "name": "acts" },
    ])
}

/// Returns the outcome of a call to `a` that failed with this error, and how often `b` was called.
async fn call_after_failure(
    fails: impl Fn(&crate::client_support::ServerConnection, &Value) + Send + Sync + 'static,
    tool: &str,
    config: AdapterConfig,
) -> (Result<String, ClientError>, usize) {
    let a = handshake_server(tools(), fails);
    let b = handshake_server(tools(), |stage, message| {
        stage.answer_text(message, "from b");
    });
    let adapter = adapter(&[("a", &a), ("b", &b)], config);
    let options = CallOptions {
        response_timeout: Some(Duration::from_secs(5)),
        ..CallOptions::default()
    };
    let outcome = adapter.execute("a", tool, json!({}), options).await;
    let outcome = outcome.map(|executed| {
        assert_eq!(executed.server, "b");
        text(&executed.result)
    });
    assert_eq!(a.received_of("tools/call").len(), 1);
    (outcome, b.received_of("tools/call").len())
}

#[tokio::test(start_paused = true)]
async fn an_unsafe_tool_is_never_run_twice() {
    type FailingScript = fn(&crate::client_support::ServerConnection, &Value);
    let silent: FailingScript = |_, _| {};
    let dies: FailingScript = |stage, _| stage.end("it died");
    let internal: FailingScript = |stage, message| stage.refuse(message, -32_603, "oops");
    for fails in [silent, dies, internal] {
        for (tool, may_repeat, expected) in [
            ("reads", false, 1),
            ("repeats", false, 1),
            ("acts", false, 0),
            ("acts", true, 1),
        ] {
            let when = FallbackPolicy {
                allow_repeat: may_repeat,
                ..FallbackPolicy::default()
            };
            let (outcome, calls) = call_after_failure(fails, tool, config(when)).await;
            assert_eq!(calls, expected, "{tool} {outcome:?}");
            assert_eq!(outcome.is_ok(), expected == 1);
        }
    }
}

#[tokio::test]
async fn what_the_first_does_not_know_another_may() {
    // Some servers use this code for errors that occur after the work was done.
    for (code, tool) in [(-32_601, "acts"), (-32_602, "reads")] {
        for (unknown, expected) in [(true, 1), (false, 0)] {
            let when = FallbackPolicy {
                on_unknown_tool: unknown,
                ..FallbackPolicy::default()
            };
            let fails = move |stage: &crate::client_support::ServerConnection, message: &Value| {
                stage.refuse(message, code, "no");
            };
            let (_, calls) = call_after_failure(fails, tool, config(when)).await;
            assert_eq!(calls, expected, "{code}");
        }
    }
    let refuses = |stage: &crate::client_support::ServerConnection, message: &Value| {
        stage.refuse(message, -32_602, "no");
    };
    let (_, calls) = call_after_failure(refuses, "acts", config(FallbackPolicy::default())).await;
    assert_eq!(calls, 0, "it may have acted");
    let (a, b) = (named_server("a", &["t"]), named_server("b", &["t", "u"]));
    for (unknown, by) in [(true, Some("b")), (false, None)] {
        let when = FallbackPolicy {
            on_unknown_tool: unknown,
            ..FallbackPolicy::default()
        };
        let adapter = adapter(&[("a", &a), ("b", &b)], config(when));
        let executed = execute(&adapter, "a", "u", json!({})).await;
        assert_eq!(executed.ok().map(|executed| executed.server).as_deref(), by);
    }
}

#[tokio::test]
async fn what_a_tool_says_of_itself_is_never_taken_elsewhere() {
    let fails = |stage: &crate::client_support::ServerConnection, message: &Value| {
        let text = "request_timeout internal_error";
        let result = json!({ "isError": true, "content": [{ "type": "text", "text": text }] });
        stage.answer(message, &result);
    };
    let a = handshake_server(tools(), fails);
    let b = named_server("b", &["reads"]);
    let adapter = adapter(&[("a", &a), ("b", &b)], default_config());
    let executed = execute(&adapter, "a", "reads", json!({})).await.unwrap();
    assert_eq!((executed.server.as_str(), b.open_count()), ("a", 0));
}

#[tokio::test]
async fn what_was_cancelled_is_not_taken_elsewhere() {
    let a = handshake_server(tools(), |_, _| {});
    let b = named_server("b", &["reads"]);
    let adapter = adapter(&[("a", &a), ("b", &b)], default_config());
    let options = CallOptions::default();
    let (running, with) = (adapter.clone(), options.clone());
    let call = tokio::spawn(async move { running.execute("a", "reads", json!({}), with).await });
    crate::client_support::wait_until(|| a.received_of("tools/call").len() == 1).await;
    options.cancellation.cancel();
    assert_eq!(
        with_deadline(call).await.unwrap().unwrap_err().kind,
        ClientErrorKind::Cancelled
    );
    assert_eq!(b.open_count(), 0);
}

#[tokio::test]
async fn wrong_arguments_are_not_taken_elsewhere() {
    let schema = json!({ "type": "object", "required": ["x"] });
    let a = handshake_server(json!([{ "name": "t", "inputSchema": schema }]), |_, _| {});
    let b = named_server("b", &["t"]);
    let adapter = adapter(&[("a", &a), ("b", &b)], default_config());
    let error = execute(&adapter, "a", "t", json!({})).await.unwrap_err();
    assert_eq!((error.code(), b.open_count()), ("Validation", 0));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_cannot_be_asked_has_done_nothing() {
    // The listing is rejected, or it hangs: either way the call was not sent.
    let refused = named_server("a", &["acts"]);
    refused.refuses.store(true, Ordering::SeqCst);
    let hangs = ScriptedServer::new(|stage, message| {
        crate::client_support::answer_handshake(stage, message);
    });
    for a in [refused, hangs] {
        let b = named_server("b", &["acts"]);
        let adapter = adapter(&[("a", &a), ("b", &b)], default_config());
        let executed = adapter
            .execute("a", "acts", json!({}), CallOptions::default())
            .await;
        assert_eq!(executed.unwrap().server, "b");
    }
}

#[tokio::test]
async fn the_hook_sees_what_failed_and_may_say_no() {
    type SeenErrors = Arc<Mutex<Vec<String>>>;
    for allow in [true, false] {
        let seen = SeenErrors::default();
        let sees = seen.clone();
        let config = AdapterConfig {
            before_fallback: Some(Arc::new(move |error, invocation| {
                let text = format!(
                    "{} {} {}",
                    error.code(),
                    invocation.tool,
                    invocation.arguments
                );
                sees.lock().unwrap().push(text);
                allow
            })),
            ..default_config()
        };
        let a = handshake_server(tools(), |stage, message| {
            stage.refuse(message, -32_603, "oops");
        });
        let b = handshake_server(tools(), |stage, message| stage.answer_text(message, "b"));
        let adapter = adapter(&[("a", &a), ("b", &b)], config);
        let outcome = execute(&adapter, "a", "reads", json!({ "x": 1 })).await;
        assert_eq!(outcome.is_ok(), allow);
        assert_eq!(*seen.lock().unwrap(), ["Rpc reads {\"x\":1}"]);
        // The callback is not asked where it makes no difference.
        execute(&adapter, "a", "acts", json!({})).await.unwrap_err();
        assert_eq!(seen.lock().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn both_failures_are_told() {
    let fails = |stage: &crate::client_support::ServerConnection, message: &Value| {
        stage.refuse(message, -32_603, "oops");
    };
    let (a, b) = (
        handshake_server(tools(), fails),
        handshake_server(tools(), fails),
    );
    let adapter = adapter(&[("a", &a), ("b", &b)], default_config());
    let error = execute(&adapter, "a", "reads", json!({}))
        .await
        .unwrap_err();
    let json = error.to_json();
    assert_eq!(
        (&json["server"], &json["rpc_code"]),
        (&json!("b"), &json!(-32_603))
    );
    assert_eq!(json["earlier"]["server"], "a");
    assert_eq!(json["earlier"]["about"], "reads");
}

#[tokio::test]
async fn without_checks_a_tool_that_is_known_may_still_fall_back() {
    let a = handshake_server(tools(), |stage, message| {
        stage.refuse(message, -32_603, "oops");
    });
    let b = named_server("b", &[]);
    let config = AdapterConfig {
        validate: false,
        ..default_config()
    };
    let adapter = adapter(&[("a", &a), ("b", &b)], config);
    // The tool is not known yet, so it counts as unsafe.
    execute(&adapter, "a", "reads", json!({}))
        .await
        .unwrap_err();
    with_deadline(adapter.to_functions()).await.unwrap();
    assert_eq!(
        execute(&adapter, "a", "reads", json!({}))
            .await
            .unwrap()
            .server,
        "b"
    );
    execute(&adapter, "a", "acts", json!({})).await.unwrap_err();
}

/// Two processes that count in one file show that nothing was repeated.
#[tokio::test]
async fn real_servers_count_each_call_once() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("count");
    let state = state.to_str().unwrap();
    let counted = || std::fs::read_to_string(state).unwrap_or_default();
    let other = || stdio("b", &["--state", state]);
    let adapter = |first: ServerConfig| {
        let servers = vec![first, other()];
        Adapter::new(AdapterConfig {
            servers,
            ..default_config()
        })
        .unwrap()
    };
    // The server does not exist: the fallback counts.
    let gone = adapter(ServerConfig::stdio("a", "/no/such/program", [""; 0]));
    assert_eq!(
        execute(&gone, "a", "count", json!({}))
            .await
            .unwrap()
            .server,
        "b"
    );
    assert_eq!(counted(), "1");
    // The server dies while it counts: it may have counted, so the fallback must not.
    let dies = adapter(stdio("a", &["--state", state, "--fault", "die-on:count"]));
    let error = execute(&dies, "a", "count", json!({})).await.unwrap_err();
    assert_eq!(
        (error.delivery, counted().as_str()),
        (DeliveryStatus::Maybe, "1")
    );
    // The server hangs: the same. A read-only tool falls back.
    let hangs = adapter(stdio(
        "a",
        &[
            "--state",
            state,
            "--fault",
            "hang-on:count",
            "--fault",
            "hang-on:pid",
        ],
    ));
    // The limit applies to calls only: a busy machine takes its time to start a server and to list
    // its tools. The fallback must answer within it, too.
    let options = CallOptions {
        response_timeout: Some(Duration::from_secs(2)),
        ..CallOptions::default()
    };
    let error = with_deadline(hangs.execute("a", "count", json!({}), options.clone()))
        .await
        .unwrap_err();
    assert_eq!((error.code(), counted().as_str()), ("Timeout", "1"));
    let read = with_deadline(hangs.execute("a", "pid", json!({}), options)).await;
    assert_eq!(read.unwrap().server, "b");
}

#[tokio::test]
async fn a_server_that_cannot_list_its_tools_is_listed_with_those_of_its_fallback() {
    let b = named_server("b", &["read"]);
    let broken = ScriptedServer::new(|stage, message| {
        if !crate::client_support::answer_handshake(stage, message) {
            stage.refuse(message, -32_603, "out of order");
        }
    });
    let adapter = adapter(&[("a", &broken), ("b", &b)], default_config());
    let functions = with_deadline(adapter.to_functions()).await.unwrap();
    let read = functions.get("a__read").unwrap();
    let answer = with_deadline(read.call(json!({}))).await.unwrap();
    assert_eq!(answer.text(), "b");
    assert!(
        functions.warnings[0].contains("out of order"),
        "{functions:?}"
    );
}
