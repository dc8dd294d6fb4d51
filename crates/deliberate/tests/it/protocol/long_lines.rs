//! Tests of lines over the limit: rejected under their id, in constant memory.

use deliberate_testkit::{MockProvider, StdioClient};
use serde_json::{Value, json};

use crate::support::{TestHome, error_code, output, serve, shut_down, think};

const LONG_LINE_BYTES: usize = 50 << 20;
const CHUNK_BYTES: usize = 1 << 20;
/// Maximum memory that a line may take in addition to what the server uses anyway.
const MAX_EXTRA_KIB: u64 = 16 << 10;

/// Sends a line of [`LONG_LINE_BYTES`] bytes between `head` and `tail` and returns the highest
/// memory use of the server meanwhile.
async fn send_long_line(client: &mut StdioClient, head: &str, tail: &str) -> u64 {
    let piece = vec![b'x'; CHUNK_BYTES];
    let mut peak = 0;
    client.send_bytes(head.as_bytes()).await.unwrap();
    for _ in 0..LONG_LINE_BYTES / CHUNK_BYTES {
        client.send_bytes(&piece).await.unwrap();
        peak = peak.max(client.resident_kib().unwrap());
    }
    client.send_line(tail).await.unwrap();
    peak.max(client.resident_kib().unwrap())
}

#[tokio::test]
async fn fifty_megabytes_are_refused_under_their_id_in_little_memory() {
    let cases = [
        (
            r#"{"jsonrpc":"2.0","id":"before","method":"tools/call","params":{"name":"reasoning_linear","arguments":{"content":""#,
            r#""}}}"#,
            json!("before"),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"id":"not this","name":"reasoning_linear","arguments":{"content":""#,
            r#"","id":3}},"id":77}"#,
            json!(77),
        ),
        ("", "", Value::Null),
    ];
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    output(&think(&mut client, "before").await);
    let before = client.resident_kib().unwrap();
    for (head, tail, id) in cases {
        let peak = send_long_line(&mut client, head, tail).await;
        let answer = client.response(id.clone()).await.unwrap();
        assert_eq!(error_code(&answer), -32_600, "{id}");
        assert!(
            peak < before + MAX_EXTRA_KIB,
            "{peak} KiB while {id} came in, {before} before"
        );
        output(&think(&mut client, "and this?").await);
    }
    assert_eq!(standin.model_requests().len(), 4);
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
}

#[tokio::test]
async fn the_limit_is_the_setting_and_a_line_just_under_it_is_taken() {
    let home = TestHome::new();
    let mut command = home.command();
    command.env("DELIBERATE_LIMITS_LINE_BYTES", "65536");
    let mut client = serve(&mut command).await;
    for (length, is_taken) in [(65_536, true), (65_537, false)] {
        let empty =
            json!({ "jsonrpc": "2.0", "id": "it", "method": "ping", "params": { "x": "" } });
        let fill = "x".repeat(length - empty.to_string().len());
        client
            .send_line(&empty.to_string().replace("\"\"", &format!("\"{fill}\"")))
            .await
            .unwrap();
        let answer = client.response("it").await.unwrap();
        assert_eq!(
            answer["result"].is_object(),
            is_taken,
            "{length} bytes: {answer}"
        );
        if !is_taken {
            assert_eq!(error_code(&answer), -32_600);
            assert!(
                answer["error"]["message"]
                    .as_str()
                    .unwrap()
                    .contains("65536"),
                "{answer}"
            );
        }
    }
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
}

/// A line of maximum length full of the shortest messages: the first ones are answered, the rest
/// get a single error.
#[tokio::test]
async fn a_line_of_countless_messages_is_answered_in_little_memory() {
    const ANSWERED: usize = 64;
    let home = TestHome::new();
    let mut client = serve(&mut home.command()).await;
    let before = client.resident_kib().unwrap();
    client.send_line(&"{}".repeat(2_000_000)).await.unwrap();
    assert!(client.request("ping", json!({})).await.unwrap()["result"].is_object());
    assert!(client.resident_kib().unwrap() < before + MAX_EXTRA_KIB);
    let answers = shut_down(client).await;
    assert_eq!(answers.len(), ANSWERED + 1);
    assert!(
        answers
            .iter()
            .all(|answer| answer["error"]["code"] == -32_600)
    );
    let last = answers.iter().filter(|answer| {
        let message = answer["error"]["message"].as_str().unwrap();
        message.contains("more than 64 messages")
    });
    assert_eq!(last.count(), 1);
}
