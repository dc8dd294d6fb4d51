//! Tests of how a program ends: by itself, by the client, or with this process.

use std::time::Duration;

use deliberate_mcp_client::transport::{DeliveryStatus, TransportError, stdio::StdioConnector};
use serde_json::json;

use crate::transport_support::{TestConnection, call, limits, mock_server, program};
#[cfg(unix)]
use crate::{
    transport_stdio::wait_for_stderr,
    transport_support::{is_alive, wait_until_gone},
};

fn close_reason(error: Option<TransportError>) -> (String, DeliveryStatus) {
    match error {
        Some(TransportError::Closed { reason, sent }) => (reason, sent),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_can_t_be_started_says_why() {
    let mut config = program("no-such-program-anywhere", ["x"]);
    let connector = StdioConnector::new(config.clone(), &limits());
    let error = TestConnection::open(&connector).await.err().unwrap();
    assert!(
        error.to_string().contains("the program does not exist"),
        "{error}"
    );
    assert_eq!(error.delivery_status(), DeliveryStatus::No);
    config.command = "true".to_owned();
    config.cwd = Some("/no/such/folder".into());
    let connector = StdioConnector::new(config, &limits());
    let error = TestConnection::open(&connector).await.err().unwrap();
    assert!(error.to_string().contains("/no/such/folder"), "{error}");
}

#[tokio::test]
async fn a_program_that_ends_says_how() {
    let mut line = TestConnection::start(mock_server(&["die-on:add"]), &limits()).await;
    let sum = json!({ "a": 1, "b": 2 });
    line.transport.send(call(1, "add", &sum)).await.unwrap();
    let (reason, sent) = close_reason(line.end().await);
    assert!(reason.contains("exit status: 3"), "{reason}");
    assert_eq!(sent, DeliveryStatus::Maybe);
    let (reason, sent) = close_reason(line.transport.send(call(2, "add", &sum)).await.err());
    assert!(reason.contains("exit status: 3"), "{reason}");
    assert_eq!(sent, DeliveryStatus::No);
    line.transport.close().await;
}

#[tokio::test]
async fn what_a_program_said_last_is_heard() {
    let script = r#"echo '{"id":1,"result":{}}'; echo "it's broken" >&2; kill -9 $$"#;
    let mut line = TestConnection::start(program("sh", ["-c", script]), &limits()).await;
    assert_eq!(line.answer().await.0, 1);
    let (reason, _) = close_reason(line.end().await);
    assert!(reason.contains("signal: 9"), "{reason}");
    line.transport.close().await;
    assert_eq!(line.transport.diagnosis().unwrap(), "it's broken");
}

#[tokio::test]
async fn a_program_that_does_not_read_holds_nobody_for_ever() {
    let mut limits = limits();
    limits.response_timeout = Duration::from_millis(300);
    let line = TestConnection::start(mock_server(&["deaf"]), &limits).await;
    let large = json!({ "text": "x".repeat(1_000_000) });
    let (first, second) = tokio::join!(
        line.transport.send(call(1, "echo", &large)),
        line.transport
            .send(call(2, "echo", &json!({ "text": "x" }))),
    );
    assert_eq!(close_reason(first.err()).1, DeliveryStatus::Maybe);
    assert_eq!(close_reason(second.err()).1, DeliveryStatus::No);
    line.transport.close().await;
}

#[tokio::test]
async fn a_program_that_is_closed_is_gone() {
    let mut line = TestConnection::start(mock_server(&[]), &limits()).await;
    let id = line.text(1, "pid", &json!({})).await;
    tokio::join!(line.transport.close(), line.transport.close());
    assert_eq!(line.end().await, None);
    assert!(line.is_over().await);
    #[cfg(unix)]
    assert!(!is_alive(&id), "{id}");
    let (_, sent) = close_reason(line.transport.send(call(2, "pid", &json!({}))).await.err());
    assert_eq!(sent, DeliveryStatus::No);
    line.transport.close().await;
    drop(id);
}

#[cfg(unix)]
#[tokio::test]
async fn who_does_not_want_to_go_is_made_to_and_so_are_its_children() {
    let script = "trap '' TERM; sleep 600 & echo $$ $! >&2; while :; do sleep 1; done";
    let mut line = TestConnection::start(program("sh", ["-c", script]), &limits()).await;
    let ids = wait_for_stderr(&line).await;
    let (parent, child) = ids.split_once(' ').unwrap();
    assert!(is_alive(parent) && is_alive(child));
    line.transport.close().await;
    assert_eq!(line.end().await, None);
    wait_until_gone(parent).await;
    wait_until_gone(child).await;
}

#[cfg(unix)]
#[tokio::test]
async fn children_of_a_program_that_ended_are_ended() {
    let script = "sleep 600 & echo $! >&2; read line";
    let mut line = TestConnection::start(program("sh", ["-c", script]), &limits()).await;
    let child = wait_for_stderr(&line).await;
    assert!(is_alive(&child));
    line.transport.send(call(1, "x", &json!({}))).await.unwrap();
    assert!(line.end().await.is_some());
    wait_until_gone(&child).await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_nobody_holds_any_more_is_ended() {
    let mut line = TestConnection::start(mock_server(&[]), &limits()).await;
    let id = line.text(1, "pid", &json!({})).await;
    drop(line);
    wait_until_gone(&id).await;
}

/// Plays a parent process that is killed; see the next test.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[ignore = "is a part of the next test"]
async fn a_holder_that_will_be_killed() {
    // These programs ignore the end of their input and the termination signal.
    let stubborn = TestConnection::start(mock_server(&["stubborn"]), &limits()).await;
    let script = "echo $$ >&2; trap '' TERM HUP INT PIPE; while :; do sleep 1; done";
    let shell = TestConnection::start(program("sh", ["-c", script]), &limits()).await;
    println!("holding {}", wait_for_stderr(&shell).await);
    std::future::pending::<()>().await;
    drop((stubborn, shell));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn programs_die_with_us_even_if_we_are_killed() {
    use tokio::io::{AsyncBufReadExt as _, BufReader};

    let mut us = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture"])
        .arg("transport_stdio_shutdown::a_holder_that_will_be_killed")
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(us.stdout.take().unwrap()).lines();
    let id = loop {
        let line = lines.next_line().await.unwrap().unwrap();
        if let Some((_, id)) = line.split_once("holding ") {
            break id.to_owned();
        }
    };
    assert!(is_alive(&id));
    let children = std::process::Command::new("ps")
        .args(["-o", "pid=", "--ppid", &us.id().unwrap().to_string()])
        .output()
        .unwrap();
    let children = String::from_utf8(children.stdout).unwrap();
    assert_eq!(children.split_whitespace().count(), 2, "{children}");
    us.kill().await.unwrap();
    for child in children.split_whitespace() {
        wait_until_gone(child).await;
    }
}
