//! Tests of parsing and encoding JSON-RPC messages.

use serde_json::json;

use super::*;

fn parse_one(text: &str) -> RpcMessage {
    let mut all = parse_messages(text.as_bytes()).unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn a_result_stays_as_it_was_written() {
    let RpcMessage::Response { id, outcome } =
        parse_one(r#"{"id":7,"jsonrpc":"2.0","result":{"z":1,"a":{"y": 2.50},"new":[ ]}}"#)
    else {
        panic!("no response");
    };
    assert_eq!(id, 7);
    assert_eq!(
        outcome.unwrap().get(),
        r#"{"z":1,"a":{"y": 2.50},"new":[ ]}"#
    );
}

#[test]
fn an_id_may_come_back_as_text() {
    assert!(matches!(
        parse_one(r#"{"id":"7","result":{}}"#),
        RpcMessage::Response { id: 7, .. }
    ));
}

#[test]
fn requests_and_notifications_are_told_apart() {
    assert!(matches!(
        parse_one(r#"{"id":"a","method":"ping"}"#),
        RpcMessage::Request { id, method, params: Value::Null } if id == "a" && method == "ping"
    ));
    assert!(matches!(
        parse_one(r#"{"id":null,"method":"notifications/message","params":{"x":1}}"#),
        RpcMessage::Notification { params, .. } if params == json!({"x": 1})
    ));
}

#[test]
fn what_is_no_message_says_why() {
    for text in [
        "",
        "hello",
        "{}",
        "[1]",
        r#"{"id":1}"#,
        r#"{"id":{},"result":1}"#,
        r#"{"id":1,"id":2,"result":1}"#,
    ] {
        assert!(parse_messages(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn an_error_is_an_error_however_it_is_written() {
    for (text, message) in [
        (r#"{"id":1,"error":"boom"}"#, "boom"),
        (r#"{"id":1,"error":{"code":"E_X"}}"#, r#"{"code":"E_X"}"#),
    ] {
        let RpcMessage::Response { outcome, .. } = parse_one(text) else {
            panic!("{text}");
        };
        assert_eq!(outcome.unwrap_err().message, message);
    }
}

#[test]
fn a_result_may_be_null() {
    let RpcMessage::Response { outcome, .. } = parse_one(r#"{"id":1,"result":null}"#) else {
        panic!("no response");
    };
    assert_eq!(outcome.unwrap().get(), "null");
}

#[test]
fn batches_are_read() {
    let all = parse_messages(br#" [{"id":1,"result":1},{"method":"x"}]"#).unwrap();
    assert_eq!(all.len(), 2);
}

#[test]
fn an_error_with_a_null_result_is_an_error() {
    let message = parse_one(r#"{"id":1,"result":null,"error":{"code":-32601,"message":"no"}}"#);
    assert!(
        matches!(message, RpcMessage::Response { outcome: Err(error), .. } if error.code == -32601)
    );
}
