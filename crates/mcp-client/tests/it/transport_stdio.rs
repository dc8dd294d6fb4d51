//! Tests of a child process: its environment, its output, and the limits.

use std::sync::Arc;

use deliberate_mcp_client::transport::{IncomingEvent, TransportError};
use deliberate_testkit::wait_for;
use serde_json::json;

use crate::transport_support::{TestConnection, call, limits, mock_server, program, request};

#[tokio::test]
async fn a_program_answers() {
    let mut line = TestConnection::start(mock_server(&[]), &limits()).await;
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {} });
    line.transport
        .send(request(1, "initialize", &params))
        .await
        .unwrap();
    let (id, result) = line.answer().await;
    assert_eq!(id, 1);
    assert_eq!(result["protocolVersion"], "2025-06-18");
    let text = "Grüße, \"世界\"\n\u{2028}";
    let echoed = line.text(2, "echo", &json!({ "text": text })).await;
    assert_eq!(echoed, text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_are_all_answered() {
    let mut line = TestConnection::start(mock_server(&[]), &limits()).await;
    for id in 0..500 {
        let link = Arc::clone(&line.transport);
        tokio::spawn(async move {
            // Some messages are larger than a pipe's buffer.
            let length = if id % 100 == 0 { 200_000 } else { 10 };
            let text = format!("{id}:{}", "x".repeat(length));
            let sent = link.send(call(id, "echo", &json!({ "text": text })));
            sent.await.unwrap();
        });
    }
    let mut seen = vec![false; 500];
    for _ in 0..500 {
        let (id, result) = line.answer().await;
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(text.split(':').next().unwrap(), id.to_string());
        seen[usize::try_from(id).unwrap()] = true;
    }
    assert!(seen.iter().all(|seen| *seen));
}

#[tokio::test]
async fn a_program_knows_nothing_of_us_that_it_was_not_told() {
    // Cargo sets these variables.
    assert!(std::env::vars_os().any(|(name, _)| name == "CARGO_PKG_NAME"));
    let mut config = mock_server(&[]);
    config.pass_env = vec!["CARGO_MANIFEST_DIR".to_owned()];
    config.env.insert("GIVEN".to_owned(), "yes".into());
    let mut line = TestConnection::start(config, &limits()).await;
    let names = line.text(1, "env", &json!({})).await;
    let names: Vec<&str> = names.lines().collect();
    assert!(names.contains(&"PATH"));
    assert!(names.contains(&"GIVEN"));
    assert!(names.contains(&"CARGO_MANIFEST_DIR"));
    let known = [
        "CARGO_MANIFEST_DIR",
        "GIVEN",
        "HOME",
        "LANG",
        "LC_ALL",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TERM",
        "TMPDIR",
        "TZ",
        "USER",
    ];
    let more: Vec<_> = names.iter().filter(|name| !known.contains(name)).collect();
    assert!(more.is_empty(), "{more:?}");
}

#[tokio::test]
async fn a_program_runs_where_it_was_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let mut config = program("sh", ["-c", "pwd >&2; exec sleep 600"]);
    config.cwd = Some(folder.clone());
    let line = TestConnection::start(config, &limits()).await;
    let text = wait_for_stderr(&line).await;
    assert_eq!(text, folder.to_string_lossy());
    line.transport.close().await;
}

/// Waits for the program's standard error.
pub(crate) async fn wait_for_stderr(line: &TestConnection) -> String {
    wait_for(async || line.transport.diagnosis()).await
}

#[tokio::test]
async fn banners_and_broken_lines_do_no_harm() {
    let mut line = TestConnection::start(mock_server(&["garbage"]), &limits()).await;
    for id in 1..=3 {
        line.transport
            .send(call(id, "echo", &json!({ "text": "x" })))
            .await
            .unwrap();
        for _ in 0..2 {
            assert!(matches!(line.next().await, IncomingEvent::Garbage(_)));
        }
        assert_eq!(line.answer().await.0, id);
    }
}

#[tokio::test]
async fn odd_lines_are_read_and_bad_ones_named() {
    let script = concat!(
        r#"printf '\357\273\277{"id":1,"result":{}}\r\n\n  \n'; "#,
        r#"printf '{"id":2,"result":"\377"}\nStarting [31m\n{"id":3,"result":{}}'"#,
    );
    let mut line = TestConnection::start(program("sh", ["-c", script]), &limits()).await;
    assert_eq!(line.answer().await.0, 1);
    for wanted in ["UTF-8", "Starting"] {
        match line.next().await {
            IncomingEvent::Garbage(text) => assert!(text.contains(wanted), "{text}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(line.answer().await.0, 3);
    assert!(line.end().await.is_some());
}

#[tokio::test]
async fn an_answer_that_is_too_large_fails_alone() {
    let mut limits = limits();
    limits.message_bytes = 100_000;
    let mut line = TestConnection::start(mock_server(&[]), &limits).await;
    let big = json!({ "bytes": 5_000_000 });
    line.transport.send(call(7, "big", &big)).await.unwrap();
    match line.next().await {
        IncomingEvent::Failed { id, error } => {
            assert_eq!(id, 7);
            assert_eq!(error, TransportError::TooLarge { limit: 100_000 });
        }
        other => panic!("{other:?}"),
    }
    let fits = line.text(8, "big", &json!({ "bytes": 99_000 })).await;
    assert_eq!(fits.len(), 99_000);
}

#[tokio::test]
async fn who_only_talks_rubbish_is_not_listened_to() {
    let mut line = TestConnection::start(program("yes", ["hello"]), &limits()).await;
    match line.end().await {
        Some(TransportError::Garbage { reason }) => assert!(reason.contains("hello"), "{reason}"),
        other => panic!("{other:?}"),
    }
    line.transport.close().await;
}

#[tokio::test]
async fn a_message_of_two_lines_is_not_sent() {
    let line = TestConnection::start(mock_server(&[]), &limits()).await;
    let mut outgoing = call(1, "echo", &json!({}));
    outgoing.body = "{\n}".into();
    assert!(matches!(
        line.transport.send(outgoing).await,
        Err(TransportError::Unsendable { .. })
    ));
}
