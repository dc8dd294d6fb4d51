//! Tests of what each kind of error means for a retry.

use std::time::Duration;

use deliberate_json_schema::SchemaViolation;
use deliberate_mcp_client::{
    ClientError, ClientErrorKind,
    config::ServerConfigError,
    jsonrpc::RpcError,
    transport::{DeliveryStatus, TransportError},
};
use serde_json::json;

fn closed(sent: DeliveryStatus) -> ClientErrorKind {
    let reason = "x".to_owned();
    ClientErrorKind::Transport(TransportError::Closed { reason, sent })
}

fn http(status: u16) -> ClientErrorKind {
    ClientErrorKind::Transport(TransportError::Http {
        status,
        message: None,
        retry_after: None,
    })
}

fn rpc(code: i64) -> ClientErrorKind {
    ClientErrorKind::Rpc(Box::new(RpcError::new(code, "x")))
}

fn transport(error: TransportError) -> ClientErrorKind {
    ClientErrorKind::Transport(error)
}

/// Each kind, with whether it may be repeated if that is unsafe, if it is safe, and whether another
/// server may succeed.
fn kinds() -> Vec<(ClientErrorKind, bool, bool, bool)> {
    let reason = || "x".to_owned();
    let wait = Duration::from_secs(1);
    vec![
        (closed(DeliveryStatus::No), true, true, false),
        (closed(DeliveryStatus::Maybe), false, true, false),
        (closed(DeliveryStatus::Yes), false, true, false),
        (
            transport(TransportError::Unreachable { reason: reason() }),
            true,
            true,
            false,
        ),
        (
            transport(TransportError::NotStarted {
                command: reason(),
                reason: reason(),
            }),
            true,
            true,
            false,
        ),
        (
            transport(TransportError::ConnectTimeout { after: wait }),
            true,
            true,
            false,
        ),
        (
            transport(TransportError::Garbage { reason: reason() }),
            false,
            true,
            false,
        ),
        (
            transport(TransportError::TooLarge { limit: 1 }),
            false,
            false,
            false,
        ),
        (
            transport(TransportError::Unsendable { reason: reason() }),
            false,
            false,
            false,
        ),
        (
            transport(TransportError::Unauthorized {
                reason: reason(),
                forbidden: false,
            }),
            false,
            false,
            true,
        ),
        (http(429), true, true, false),
        (http(408), true, true, false),
        (http(500), false, true, false),
        (http(503), false, true, false),
        (http(400), false, false, false),
        (http(404), false, false, false),
        (ClientErrorKind::Timeout { after: wait }, false, true, false),
        (ClientErrorKind::RateLimited { wait }, true, true, false),
        (
            ClientErrorKind::Backoff {
                wait,
                reason: reason(),
            },
            true,
            true,
            false,
        ),
        (
            ClientErrorKind::Malformed { reason: reason() },
            false,
            true,
            false,
        ),
        (ClientErrorKind::Cancelled, false, false, false),
        (ClientErrorKind::Stopped, false, false, false),
        (
            ClientErrorKind::Domain {
                message: reason(),
                result: Box::new(json!({})),
            },
            false,
            false,
            false,
        ),
        (
            ClientErrorKind::InvalidArguments(Vec::<SchemaViolation>::new()),
            false,
            false,
            false,
        ),
        (
            ClientErrorKind::UnknownTool { nearest: None },
            false,
            false,
            true,
        ),
        (
            ClientErrorKind::Unsupported {
                capability: "tools",
            },
            false,
            false,
            true,
        ),
        (
            ClientErrorKind::Config(ServerConfigError {
                problems: Vec::new(),
            }),
            false,
            false,
            false,
        ),
        (rpc(-32_603), false, true, false),
        (rpc(-32_601), false, false, true),
        (rpc(-32_602), false, false, true),
        (rpc(-32_600), false, false, true),
        (rpc(-32_700), false, false, true),
        (rpc(-32_000), false, false, false),
        (rpc(-32_002), false, false, false),
        (rpc(1), false, false, false),
    ]
}

#[test]
fn each_kind_of_error_says_whether_it_may_be_repeated() {
    for (kind, if_unsafe, if_safe, elsewhere) in kinds() {
        let text = format!("{kind:?}");
        let error = ClientError::new("a", kind).with_subject("t");
        assert_eq!(error.is_repeatable(false), if_unsafe, "unsafe: {text}");
        assert_eq!(error.is_repeatable(true), if_safe, "safe: {text}");
        assert_eq!(error.may_differ_elsewhere(), elsewhere, "elsewhere: {text}");
        let json = error.to_json();
        assert_eq!(
            (&json["server"], &json["about"]),
            (&json!("a"), &json!("t"))
        );
        assert_eq!(json["retryable"], error.is_transient());
        assert!(json["type"].as_str().unwrap().ends_with("_error"));
        assert!(!json["message"].as_str().unwrap().is_empty());
    }
}

#[test]
fn a_servers_text_is_shown_only_in_part() {
    let long = || format!("bad {}", "x".repeat(10_000));
    let kinds = [
        ClientErrorKind::Malformed { reason: long() },
        ClientErrorKind::Rpc(Box::new(RpcError::new(-32_000, long()))),
        ClientErrorKind::Domain {
            message: long(),
            result: Box::default(),
        },
        ClientErrorKind::Backoff {
            wait: Duration::from_secs(1),
            reason: long(),
        },
    ];
    for kind in kinds {
        let text = ClientError::new("s", kind).to_string();
        assert!(text.contains("bad x") && text.contains('…'), "{text}");
        assert!(text.chars().count() < 600, "{}", text.len());
    }
    let short = ClientErrorKind::Malformed {
        reason: "no result".to_owned(),
    };
    let text = ClientError::new("s", short).to_string();
    assert_eq!(text, "server \"s\": the answer is malformed: no result");
}

#[test]
fn a_forbidden_request_and_a_wrong_address_have_hints_of_their_own() {
    let hint = |error| {
        let error = ClientError::new("files", ClientErrorKind::Transport(error));
        error.hint().unwrap()
    };
    let rejected = |forbidden| TransportError::Unauthorized {
        reason: "HTTP status".to_owned(),
        forbidden,
    };
    assert!(hint(rejected(false)).contains("key or token"));
    assert!(hint(rejected(true)).contains("permission"));
    let missing = TransportError::Http {
        status: 404,
        message: None,
        retry_after: None,
    };
    assert!(hint(missing).contains("Check `url`"));
}
