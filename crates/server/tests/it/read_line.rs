//! Tests of parsing a line.

use deliberate_server::stdio::{IncomingMessage, RpcRejection, read_line};
use serde_json::Value;

/// A summary of each message of a line: `request ID METHOD`, `notification METHOD`, `response ID`
/// or `CODE ID`.
fn summarize_line(line: &[u8]) -> Vec<String> {
    let described = read_line(line).into_iter().map(|incoming| match incoming {
        IncomingMessage::Rejected(rejection) => {
            let answer: Value = serde_json::from_slice(&rejection.to_line()).unwrap();
            assert_eq!(answer["jsonrpc"], "2.0");
            assert_eq!(answer["error"]["code"], rejection.code);
            format!(
                "{} {}",
                rejection.code,
                rejection.id.as_deref().unwrap_or("null")
            )
        }
        IncomingMessage::Message { message, .. } => {
            let message = serde_json::to_value(*message).unwrap();
            match (message.get("method"), message.get("id")) {
                (Some(method), Some(id)) => format!("request {id} {}", method.as_str().unwrap()),
                (Some(method), None) => format!("notification {}", method.as_str().unwrap()),
                (None, id) => format!("response {}", id.unwrap()),
            }
        }
    });
    described.collect()
}

#[track_caller]
fn check_cases(cases: &[(&[u8], &[&str])]) {
    for (line, expected) in cases {
        assert_eq!(
            summarize_line(line),
            *expected,
            "{}",
            String::from_utf8_lossy(line)
        );
    }
}

#[test]
fn sound_messages_are_handed_on() {
    check_cases(&[
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            &["request 1 ping"],
        ),
        (
            br#"{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{}}"#,
            &["request \"a\" tools/list"],
        ),
        (
            br#"{"method":"ping","id":-3,"jsonrpc":"2.0"}"#,
            &["request -3 ping"],
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"made/up","params":{"a":1}}"#,
            &["request 1 made/up"],
        ),
        (
            br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            &["notification notifications/initialized"],
        ),
        (
            br#"{"jsonrpc":"2.0","method":"made/up"}"#,
            &["notification made/up"],
        ),
        (br#"{"jsonrpc":"2.0","id":7,"result":{}}"#, &["response 7"]),
        (
            br#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}"#,
            &["response 7"],
        ),
        (
            b"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
            &["request 1 ping"],
        ),
        (
            b" \t{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r",
            &["request 1 ping"],
        ),
    ]);
}

#[test]
fn nothing_is_made_of_a_blank_line() {
    check_cases(&[(b"", &[]), (b" \t\r", &[]), (b"\xEF\xBB\xBF", &[])]);
}

#[test]
fn several_messages_on_a_line_are_read_one_by_one() {
    check_cases(&[
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
            &["request 1 ping", "request 2 ping"],
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping"} {"id":2} {"jsonrpc":"2.0","id":3,"#,
            &["request 1 ping", "-32600 2", "-32700 3"],
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            &["request 1 ping", "-32700 null"],
        ),
    ]);
}

#[test]
fn what_is_no_json_is_a_parse_error_with_the_id_that_can_be_seen() {
    check_cases(&[
        (b"hello", &["-32700 null"]),
        (br#"{"id":1"#, &["-32700 null"]),
        (br#"{"id":1,"#, &["-32700 1"]),
        (
            br#"{"method":"x","id":"two","params":{"#,
            &["-32700 \"two\""],
        ),
        (br#"{"params":{"id":1},"id":2,"#, &["-32700 2"]),
        (b"{\"id\":4,\"method\":\"\xFF\"}", &["-32700 4"]),
        (b"{\"id\":4,\"method\":\"a\0b\"}", &["-32700 4"]),
        (
            br#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"\ud800"}}"#,
            &["-32700 5"],
        ),
        (br#"{"id":1,,}"#, &["-32700 1"]),
        (
            br#"{"id":12345678901234567890123,"#,
            &["-32700 12345678901234567890123"],
        ),
    ]);
}

#[test]
fn nesting_without_end_is_refused_and_not_followed() {
    for brackets in [("[", "]"), (r#"{"a":"#, "}")] {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{{"name":"x","arguments":{{"a":{}1{}}}}}}}"#,
            brackets.0.repeat(100_000),
            brackets.1.repeat(100_000)
        );
        assert_eq!(summarize_line(deep.as_bytes()), ["-32700 9"]);
    }
    let open = "[".repeat(1_000_000);
    assert_eq!(summarize_line(open.as_bytes()), ["-32700 null"]);
}

#[test]
fn what_is_json_but_no_message_is_an_invalid_request() {
    check_cases(&[
        (b"5", &["-32600 null"]),
        (b"null", &["-32600 null"]),
        (b"\"ping\"", &["-32600 null"]),
        (b"{}", &["-32600 null"]),
        (br#"{"jsonrpc":"2.0"}"#, &["-32600 null"]),
        (br#"{"jsonrpc":"2.0","id":1}"#, &["-32600 1"]),
        (br#"{"jsonrpc":"2.0","id":1,"method":5}"#, &["-32600 1"]),
        (br#"{"id":1,"method":"ping"}"#, &["-32600 1"]),
        (
            br#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            &["-32600 1"],
        ),
        (br#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, &["-32600 1"]),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping","id":2}"#,
            &["-32600 1"],
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#,
            &["-32602 1"],
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}"#,
            &["-32602 1"],
        ),
    ]);
}

#[test]
fn batches_are_refused_for_each_id_in_them() {
    check_cases(&[
        (b"[]", &["-32600 null"]),
        (b"[1,\"id\",null]", &["-32600 null"]),
        (br#"["2.0",23,"ping",null]"#, &["-32600 null"]),
        (
            br#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},{"id":"b"}]"#,
            &["-32600 1", "-32600 \"b\""],
        ),
        (br#"[[{"id":1}]]"#, &["-32600 null"]),
    ]);
}

#[test]
fn ids_that_are_none_are_refused_and_numbers_echoed() {
    check_cases(&[
        (
            br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            &["-32600 1.5"],
        ),
        (
            br#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}"#,
            &["-32600 18446744073709551615"],
        ),
        (
            br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            &["-32600 null"],
        ),
        (
            br#"{"jsonrpc":"2.0","id":{"id":1},"method":"ping"}"#,
            &["-32600 null"],
        ),
        (
            br#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
            &["-32600 null"],
        ),
        (
            br#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
            &["-32600 null"],
        ),
        (
            br#"{"jsonrpc":"2.0","id":9223372036854775807,"method":"ping"}"#,
            &["request 9223372036854775807 ping"],
        ),
        (
            br#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}"#,
            &["-32600 9223372036854775808"],
        ),
    ]);
}

#[test]
fn nobody_is_answered_who_asked_nothing() {
    check_cases(&[
        (
            br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}"#,
            &[],
        ),
        (
            br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":"x"}"#,
            &[],
        ),
        (
            br#"{"jsonrpc":"2.0","id":3,"error":"not an error object"}"#,
            &[],
        ),
    ]);
}

#[test]
fn a_rejection_is_one_line_whatever_it_says() {
    let rejection = RpcRejection {
        id: Some("\"a\\nb\"".to_owned()),
        code: -1,
        message: "two\nlines and a \" quote".to_owned(),
    };
    let line = rejection.to_line();
    assert_eq!(
        line.iter().position(|byte| *byte == b'\n'),
        Some(line.len() - 1)
    );
    let answer: Value = serde_json::from_slice(&line).unwrap();
    assert_eq!(answer["id"], "a\nb");
    assert_eq!(answer["error"]["message"], "two\nlines and a \" quote");
}
