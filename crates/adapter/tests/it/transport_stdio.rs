//! Talking to a program: what it is told of us, what it may say, and how much.

use std::sync::Arc;

use deliberate_adapter::transport::{Incoming, TransportError};
use serde_json::json;

use crate::transport_support::{Line, call, limits, program, request, upstream};

#[tokio::test]
async fn a_program_answers() {
    let mut line = Line::start(upstream(&[]), &limits()).await;
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {} });
    line.link
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
    let mut line = Line::start(upstream(&[]), &limits()).await;
    for id in 0..500 {
        let link = Arc::clone(&line.link);
        tokio::spawn(async move {
            // Some are larger than a pipe holds.
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
    // Whoever runs the tests sets these.
    assert!(std::env::vars_os().any(|(name, _)| name == "CARGO_PKG_NAME"));
    let mut config = upstream(&[]);
    config.pass_env = vec!["CARGO_MANIFEST_DIR".to_owned()];
    config.env.insert("GIVEN".to_owned(), "yes".into());
    let mut line = Line::start(config, &limits()).await;
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
    let line = Line::start(config, &limits()).await;
    let said = said(&line).await;
    assert_eq!(said, folder.to_string_lossy());
    line.link.close().await;
}

/// What the program wrote beside the protocol, once it wrote something.
async fn said(line: &Line) -> String {
    loop {
        if let Some(said) = line.link.diagnosis() {
            return said;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn banners_and_broken_lines_do_no_harm() {
    let mut line = Line::start(upstream(&["garbage"]), &limits()).await;
    for id in 1..=3 {
        line.link
            .send(call(id, "echo", &json!({ "text": "x" })))
            .await
            .unwrap();
        for _ in 0..2 {
            assert!(matches!(line.next().await, Incoming::Garbage(_)));
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
    let mut line = Line::start(program("sh", ["-c", script]), &limits()).await;
    assert_eq!(line.answer().await.0, 1);
    for wanted in ["UTF-8", "Starting"] {
        match line.next().await {
            Incoming::Garbage(text) => assert!(text.contains(wanted), "{text}"),
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
    let mut line = Line::start(upstream(&[]), &limits).await;
    let big = json!({ "bytes": 5_000_000 });
    line.link.send(call(7, "big", &big)).await.unwrap();
    match line.next().await {
        Incoming::Failed { id, error } => {
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
    let mut line = Line::start(program("yes", ["hello"]), &limits()).await;
    match line.end().await {
        Some(TransportError::Garbage { reason }) => assert!(reason.contains("hello"), "{reason}"),
        other => panic!("{other:?}"),
    }
    line.link.close().await;
}

#[tokio::test]
async fn a_message_of_two_lines_is_not_sent() {
    let line = Line::start(upstream(&[]), &limits()).await;
    let mut outgoing = call(1, "echo", &json!({}));
    outgoing.body = "{\n}".into();
    assert!(matches!(
        line.link.send(outgoing).await,
        Err(TransportError::Unsendable { .. })
    ));
}
