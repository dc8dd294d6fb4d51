//! The limit on open files: it is raised at the start, connections fit it, and a moment without
//! files leaves no trace.

use std::{net::SocketAddr, time::Duration};

use deliberate_testkit::{MockProvider, StdioClient, load::free_port};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::json;
use tokio::{net::TcpStream, process::Command, time::timeout};

use crate::support::{
    PROGRAM, TestHome, output, run_through, serve, shut_down, think, tool_failure,
};

/// Returns the program with these limits on open files.
fn with_limits(home: &TestHome, standin: &MockProvider, soft: u32, hard: u32) -> Command {
    let mut command = run_through("sh", &home.command_with_provider(standin));
    let script = format!("ulimit -Sn {soft} && ulimit -Hn {hard} && exec \"$0\" \"$@\"");
    command.args(["-c", &script, PROGRAM]);
    command
}

fn set_limit(client: &StdioClient, current: u64) {
    let pid = Pid::from_raw(client.pid().unwrap().try_into().unwrap());
    let limits = |limit| prlimit(pid, Resource::Nofile, limit).unwrap();
    let old = limits(Rlimit {
        current: Some(current),
        maximum: Some(1_024),
    });
    assert_ne!(old.current, Some(current));
}

#[tokio::test]
async fn the_soft_limit_is_raised_to_the_hard_one() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let client = serve(&mut with_limits(&home, &standin, 128, 2_048)).await;
    let limits = format!("/proc/{}/limits", client.pid().unwrap());
    let limits = std::fs::read_to_string(limits).unwrap();
    let line = limits.lines().find(|it| it.starts_with("Max open files"));
    let words: Vec<&str> = line.unwrap().split_whitespace().collect();
    assert_eq!(words[3..5], ["2048", "2048"], "{words:?}");
    shut_down(client).await;
}

#[tokio::test]
async fn many_connections_leave_files_for_calls() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let address = SocketAddr::from(([127, 0, 0, 1], free_port().unwrap()));
    let mut command = with_limits(&home, &standin, 200, 200);
    command.args(["serve", "--stdio", "--http", &address.to_string()]);
    let mut client = serve(&mut command).await;
    let mut connections = Vec::new();
    for _ in 0..400 {
        let connecting = TcpStream::connect(address);
        match timeout(Duration::from_millis(200), connecting).await {
            Ok(Ok(connection)) => connections.push(connection),
            _ => break,
        }
    }
    // They may be accepted a moment later.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let files = format!("/proc/{}/fd", client.pid().unwrap());
    let files = std::fs::read_dir(files).unwrap().count();
    assert!(files < 150, "{files} of 200 files are open");
    output(&think(&mut client, "What is a tide?").await);
    drop(connections);
    shut_down(client).await;
}

#[tokio::test]
async fn a_moment_without_files_does_not_break_the_model() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve(&mut with_limits(&home, &standin, 1_024, 1_024)).await;
    // Opens the database, but makes no HTTP client.
    let list = json!({ "action": "list" });
    output(&client.call("reasoning_sessions", list).await.unwrap());
    set_limit(&client, 3);
    let failed = think(&mut client, "What is a tide?").await;
    let failed = tool_failure(&failed);
    assert!(failed.text.contains("HTTP client"), "{failed:?}");
    set_limit(&client, 1_024);
    output(&think(&mut client, "What is a tide?").await);
    shut_down(client).await;
}
