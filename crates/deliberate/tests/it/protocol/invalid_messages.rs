//! Tests of bytes that are no valid message: they always get an answer, with the id if it can be
//! read.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::{TestHome, error_code, serve, shut_down};

fn raw_call(argument: &[u8]) -> Vec<u8> {
    let mut line = br#"{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"reasoning_linear","arguments":{"content":"#.to_vec();
    line.extend_from_slice(argument);
    line.extend_from_slice(b"}}}\n");
    line
}

#[tokio::test]
async fn a_line_that_cannot_be_read_is_answered_under_its_id_and_the_next_is_served() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let deep_open = "[".repeat(10_000);
    let cases: [(&str, &[u8]); 10] = [
        ("one invalid byte", b"\"a\xFFb\""),
        ("a cut character", b"\"\xE2\x82\""),
        ("an encoded surrogate", b"\"\xED\xA0\x80\""),
        ("a lone surrogate escape", br#""\ud800 alone""#),
        ("a raw NUL", b"\"a\0b\""),
        ("a raw control character", b"\"a\x01b\""),
        ("deep nesting", deep.as_bytes()),
        ("deep nesting that never ends", deep_open.as_bytes()),
        ("a bad escape", br#""\x""#),
        ("a number that is none", b"01"),
    ];
    let home = TestHome::new();
    let mut client = serve(&mut home.command()).await;
    for (what, argument) in cases {
        client.send_bytes(&raw_call(argument)).await.unwrap();
        let answer = client.response(42).await.unwrap();
        assert_eq!(error_code(&answer), -32_700, "{what}: {answer}");
        assert!(
            answer.to_string().len() < 1_000,
            "{what} is not repeated in full"
        );
        assert!(client.request("ping", json!({})).await.unwrap()["result"].is_object());
    }
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
}

#[tokio::test]
async fn what_has_no_readable_id_is_answered_with_a_null_id() {
    let cases: [(&[u8], i64); 9] = [
        (b"hello", -32_700),
        (b"{", -32_700),
        (b"\xFF\xFE", -32_700),
        (b"{\"id\":\"\xFF\",\"method\":\"ping\"}", -32_700),
        (b"\0", -32_700),
        (b"null", -32_600),
        (b"5", -32_600),
        (b"\"ping\"", -32_600),
        (b"{}", -32_600),
    ];
    let home = TestHome::new();
    let mut client = serve(&mut home.command()).await;
    for (line, expected) in cases {
        client.send_bytes(&[line, b"\n"].concat()).await.unwrap();
        let answer = client.response(Value::Null).await.unwrap();
        assert_eq!(
            error_code(&answer),
            expected,
            "{}",
            String::from_utf8_lossy(line)
        );
    }
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
}

#[tokio::test]
async fn blank_lines_a_byte_order_mark_and_windows_line_ends_are_taken() {
    let home = TestHome::new();
    let mut client = serve(&mut home.command()).await;
    client.send_bytes(b"\n\r\n   \n\t\n").await.unwrap();
    let ping = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"ping"}}"#);
    client
        .send_line(&format!("\u{feff}{}", ping("mark")))
        .await
        .unwrap();
    client
        .send_line(&format!("{}\r", ping("windows")))
        .await
        .unwrap();
    client
        .send_line(&format!("  \t{}  ", ping("spaces")))
        .await
        .unwrap();
    for id in ["mark", "windows", "spaces"] {
        assert_eq!(
            client.response(id).await.unwrap()["result"],
            json!({}),
            "{id}"
        );
    }
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
}

#[tokio::test]
async fn two_messages_on_one_line_are_both_answered() {
    let home = TestHome::new();
    let mut client = serve(&mut home.command()).await;
    let line = r#"{"jsonrpc":"2.0","id":"a","method":"ping"} {"jsonrpc":"2.0","id":"b","method":"tools/list"}{"jsonrpc":"2.0","id":"c","method":"#;
    client.send_line(line).await.unwrap();
    assert_eq!(client.response("a").await.unwrap()["result"], json!({}));
    assert!(client.response("b").await.unwrap()["result"]["tools"].is_array());
    assert_eq!(error_code(&client.response("c").await.unwrap()), -32_700);
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
}

#[tokio::test]
async fn a_message_may_come_byte_by_byte_and_the_last_one_without_a_newline() {
    let home = TestHome::new();
    let mut client = serve(&mut home.command()).await;
    for byte in "{\"jsonrpc\":\"2.0\",\"id\":\"é\",\"method\":\"ping\"}\n".as_bytes() {
        client.send_bytes(&[*byte]).await.unwrap();
    }
    assert_eq!(client.response("é").await.unwrap()["result"], json!({}));
    let last = br#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#;
    client.send_bytes(last).await.unwrap();
    let rest = shut_down(client).await;
    assert_eq!(
        rest,
        [json!({ "jsonrpc": "2.0", "id": "last", "result": {} })]
    );
}

#[tokio::test]
async fn ten_thousand_lines_of_rubbish_are_each_answered() {
    const COUNT: usize = 10_000;
    let home = TestHome::new();
    let mut client = serve(&mut home.command()).await;
    let mut flood = String::new();
    for number in 0..COUNT {
        match number % 3 {
            0 => writeln!(flood, "rubbish {number}").unwrap(),
            1 => writeln!(flood, r#"{{"id":"n{number}","#).unwrap(),
            _ => writeln!(flood, r#"{{"jsonrpc":"2.0","id":"n{number}"}}"#).unwrap(),
        }
    }
    client.send_bytes(flood.as_bytes()).await.unwrap();
    assert_eq!(
        client.request("ping", json!({})).await.unwrap()["result"],
        json!({})
    );
    let answers = shut_down(client).await;
    assert_eq!(answers.len(), COUNT);
    let mut ids: Vec<&str> = answers
        .iter()
        .filter_map(|answer| answer["id"].as_str())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), COUNT - COUNT.div_ceil(3), "each id once");
}
