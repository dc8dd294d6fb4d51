//! Tests of shutdown: running calls are finished, whoever stops the server.

use std::{process::Stdio, time::Duration};

use deliberate_testkit::{MockFault, MockProvider};
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt as _, process::Command, time::timeout};

use crate::support::{
    TestHome, check_protocol, output, serve, shut_down, terminate, text, tool_failure, wait_until,
};

/// Only a hang lasts longer.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

fn call_request(content: &str) -> Value {
    json!({ "name": "reasoning_linear", "arguments": { "content": content } })
}

#[tokio::test]
async fn a_running_call_is_answered_after_sigterm_and_the_exit_is_clean() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    standin.push_fault(MockFault::Delay(500));
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let id = client
        .send_request("tools/call", call_request("finish this"))
        .await
        .unwrap();
    wait_until(|| standin.in_flight() == 1).await;
    terminate(client.pid().unwrap()).await;
    let answer = client.response(id).await.unwrap();
    assert!(text(&answer, "content").contains("finish this"));
    assert!(
        client.wait_exit().await.unwrap().success(),
        "{}",
        client.stderr()
    );
    check_protocol(&mut client);
    assert_eq!(home.stored_counts().await, (1, 1));
}

#[tokio::test]
async fn running_calls_are_answered_after_the_input_ends() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    standin.set_default_fault(MockFault::Delay(300));
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let mut ids = Vec::new();
    for number in 0..3 {
        ids.push(
            client
                .send_request("tools/call", call_request(&format!("{number}")))
                .await
                .unwrap(),
        );
    }
    client.close_stdin();
    for id in ids {
        text(&client.response(id).await.unwrap(), "thought_id");
    }
    assert!(client.wait_exit().await.unwrap().success());
    assert_eq!(check_protocol(&mut client), [] as [Value; 0]);
    assert_eq!(home.stored_counts().await, (3, 3));
}

#[tokio::test]
async fn an_idle_server_ends_at_once_when_told() {
    let home = TestHome::new();
    let mut client = serve(&mut home.command()).await;
    terminate(client.pid().unwrap()).await;
    assert!(client.wait_exit().await.unwrap().success());
    // Before the handshake too.
    let mut client = deliberate_testkit::StdioClient::spawn(&mut home.command()).unwrap();
    client.request("ping", json!({})).await.unwrap();
    terminate(client.pid().unwrap()).await;
    assert!(client.wait_exit().await.unwrap().success());
}

/// Returns the program with a provider that never answers and a short grace period.
fn command_with_short_grace(home: &TestHome, standin: &MockProvider) -> Command {
    standin.set_default_fault(MockFault::Hang);
    let mut command = home.command_with_provider(standin);
    command.env("DELIBERATE_LIMITS_SHUTDOWN_MS", "200");
    command
}

#[tokio::test]
async fn a_call_that_never_ends_is_given_up_after_the_grace_and_told_so() {
    for by_signal in [false, true] {
        let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
        let mut client = serve(&mut command_with_short_grace(&home, &standin)).await;
        let id = client
            .send_request("tools/call", call_request("never"))
            .await
            .unwrap();
        wait_until(|| standin.in_flight() == 1).await;
        if by_signal {
            terminate(client.pid().unwrap()).await;
        } else {
            client.close_stdin();
        }
        let told = client.response(id).await.unwrap();
        assert_eq!(tool_failure(&told).code, "Stopping", "{told}");
        assert!(client.wait_exit().await.unwrap().success());
        check_protocol(&mut client);
        assert_eq!(home.stored_counts().await, (0, 0));
    }
}

#[tokio::test]
async fn a_call_that_was_told_to_run_on_is_picked_up_after_the_stop() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut command = command_with_short_grace(&home, &standin);
    command.env("DELIBERATE_LIMITS_ANSWER_WITHIN_MS", "100");
    let mut client = serve(&mut command).await;
    let running = client
        .request("tools/call", call_request("later"))
        .await
        .unwrap();
    let id = output(&running)["still_running"]["id"].clone();
    terminate(client.pid().unwrap()).await;
    assert!(client.wait_exit().await.unwrap().success());
    check_protocol(&mut client);

    standin.reset();
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let resumed = client
        .call("reasoning_resume", json!({ "id": id }))
        .await
        .unwrap();
    assert!(text(&resumed, "content").contains("later"), "{resumed}");
    shut_down(client).await;
    assert_eq!(home.stored_counts().await, (1, 1));
}

#[tokio::test]
async fn the_process_ends_when_nobody_reads_its_answers() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut command = home.command_with_provider(&standin);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    // Kept open: only the output is closed.
    stdin
        .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")
        .await
        .unwrap();
    timeout(TEST_TIMEOUT, child.wait())
        .await
        .expect("it goes on for nobody")
        .unwrap();
    drop(stdin);
}

/// A client that sends and never reads: the pipe fills up, and the server must still stop when told
/// to.
#[tokio::test]
async fn a_client_that_never_reads_cannot_keep_the_process_from_ending() {
    let lines = [
        (
            "requests",
            r#"{"jsonrpc":"2.0","id":ID,"method":"tools/list","params":{}}"#,
        ),
        ("rubbish", "rubbish ID"),
    ];
    let home = TestHome::new();
    for (what, line) in lines {
        let mut command = home.command();
        command.env("DELIBERATE_LIMITS_SHUTDOWN_MS", "200");
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let hello = json!({
            "jsonrpc": "2.0", "id": "hello", "method": "initialize",
            "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } },
        });
        stdin
            .write_all(format!("{hello}\n").as_bytes())
            .await
            .unwrap();
        let mut flood = String::new();
        for id in 0..2_000 {
            flood.push_str(&line.replace("ID", &id.to_string()));
            flood.push('\n');
        }
        // It need not read all of it.
        drop(timeout(Duration::from_secs(2), stdin.write_all(flood.as_bytes())).await);
        terminate(child.id().unwrap()).await;
        let ended = timeout(Duration::from_secs(20), child.wait()).await;
        assert!(ended.is_ok(), "{what}: the process hangs");
    }
}
