//! A disk that is full or read-only: a small file system that only the server sees. Where such
//! cannot be made, the tests say so and end.

use std::{
    fs::File,
    io::Write as _,
    path::{Path, PathBuf},
};

use deliberate_testkit::{MockProvider, StdioClient, wait_for};
use serde_json::{Value, json};
use tokio::process::Command;

use super::{health, serve_both};
use crate::support::{
    PROGRAM, TestHome, output, run_command, run_through, serve, shut_down, think, tool_failure,
};

/// Tells whether this user may mount a file system in a namespace of its own.
async fn can_mount() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let mut attempt = Command::new("unshare");
    attempt
        .args([
            "--map-root-user",
            "--mount",
            "mount",
            "-t",
            "tmpfs",
            "tmpfs",
        ])
        .arg(folder.path());
    let done = attempt.output().await;
    let can = done.as_ref().is_ok_and(|done| done.status.success());
    if !can {
        tracing::warn!("skipped, because no file system can be mounted here: {done:?}");
    }
    can
}

/// Returns the program with `script` before it, which prepares `$0`, the folder of the database.
fn with_disk(home: &TestHome, standin: &MockProvider, script: &str) -> Command {
    let mut command = run_through("unshare", &home.command_with_provider(standin));
    command
        .args(["--map-root-user", "--mount", "sh", "-c"])
        .arg(format!("{script} && exec \"$@\""))
        .arg(home.path("data"))
        .arg(PROGRAM);
    command
}

/// Returns a command that runs in the namespace of the server.
fn beside(client: &StdioClient, program: &str) -> Command {
    let mut command = Command::new("nsenter");
    command
        .args(["--preserve-credentials", "--user", "--mount", "--target"])
        .arg(client.pid().unwrap().to_string())
        .arg(program);
    command
}

/// Copies the database from the server's disk to another one.
async fn back_up(home: &TestHome, client: &StdioClient, name: &str) -> Value {
    let mut command = beside(client, PROGRAM);
    command
        .env_clear()
        .env("HOME", home.path("home"))
        .env("XDG_DATA_HOME", home.path("data"))
        .env("XDG_CONFIG_HOME", home.path("config"))
        .arg("backup")
        .arg(home.path(name))
        .arg("--json");
    let done = run_command(&mut command).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    serde_json::from_str(&done.stdout).unwrap()
}

/// Fills the file system until nothing more fits.
fn fill(file: &Path) {
    let mut file = File::create(file).unwrap();
    for size in [65_536, 4_096, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
}

async fn wait_for_store_state(address: std::net::SocketAddr, wanted: &str) -> Value {
    let found = wait_for(async || {
        let (_, report) = health(address).await;
        (report["store"]["state"] == wanted).then_some(report)
    });
    found.await
}

async fn list_titles(client: &mut StdioClient) -> Vec<Value> {
    let listed = client
        .call("reasoning_sessions", json!({ "action": "list" }))
        .await
        .unwrap();
    let sessions = output(&listed)["sessions"].as_array().unwrap().clone();
    sessions.into_iter().map(|it| it["title"].clone()).collect()
}

#[tokio::test]
async fn a_full_disk_answers_reads_and_backups_and_recovers() {
    if !can_mount().await {
        return;
    }
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let script = "mount -t tmpfs -o size=4m tmpfs \"$0\"";
    let mut command = with_disk(&home, &standin, script);
    let (mut client, address) = serve_both(&mut command).await;
    output(&think(&mut client, "What is a tide?").await);
    let (_, report) = health(address).await;
    assert_eq!(report["status"], "ok", "{report}");

    let data = PathBuf::from(format!(
        "/proc/{}/root{}",
        client.pid().unwrap(),
        home.path("data").display()
    ));
    fill(&data.join("filler"));
    let mut failed = None;
    for _ in 0..20 {
        let answer = think(&mut client, "And a neap tide?").await;
        if answer["result"]["isError"] == true {
            failed = Some(answer);
            break;
        }
    }
    let failed = failed.expect("a call that finds the disk full");
    assert_eq!(tool_failure(&failed).code, "DiskFull");
    assert!(tool_failure(&failed).hint.unwrap().contains("Free space"));
    let titles = list_titles(&mut client).await;
    assert!(titles.contains(&json!("What is a tide?")), "{titles:?}");
    let report = wait_for_store_state(address, "read_only").await;
    assert_eq!(report["status"], "degraded", "{report}");
    let reason = report["store"]["reason"].as_str().unwrap();
    assert!(reason.contains("the disk is full"), "{reason}");
    let copied = back_up(&home, &client, "work/full.db").await;
    assert_eq!(copied["sessions"], titles.len(), "{copied}");

    std::fs::remove_file(data.join("filler")).unwrap();
    let report = wait_for_store_state(address, "ok").await;
    assert_eq!(report["status"], "ok", "{report}");
    output(&think(&mut client, "And a spring tide?").await);
    assert_eq!(list_titles(&mut client).await.len(), titles.len() + 1);
    shut_down(client).await;
}

/// Returns a home with an empty data folder, and the folder with the data of one session.
async fn home_with_seed() -> (TestHome, MockProvider, PathBuf) {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    output(&think(&mut client, "What is a tide?").await);
    shut_down(client).await;
    let seed = home.path("seed");
    std::fs::rename(home.path("data"), &seed).unwrap();
    std::fs::create_dir(home.path("data")).unwrap();
    (home, standin, seed)
}

#[tokio::test]
async fn a_full_disk_can_be_read_by_a_process_that_starts_then() {
    if !can_mount().await {
        return;
    }
    let (home, standin, seed) = home_with_seed().await;
    let script = format!(
        "mount -t tmpfs -o size=4m tmpfs \"$0\" && cp -r {}/. \"$0\" && \
         {{ cat /dev/zero > \"$0/filler\" 2>/dev/null || true; }}",
        seed.display()
    );
    let mut command = with_disk(&home, &standin, &script);
    let (mut client, address) = serve_both(&mut command).await;
    assert_eq!(list_titles(&mut client).await, [json!("What is a tide?")]);
    let report = wait_for_store_state(address, "read_only").await;
    assert_eq!(report["status"], "degraded", "{report}");
    let copied = back_up(&home, &client, "work/full.db").await;
    assert_eq!(copied["sessions"], 1, "{copied}");
    shut_down(client).await;
}

#[tokio::test]
async fn a_read_only_disk_answers_reads_and_backups_and_recovers() {
    if !can_mount().await {
        return;
    }
    let (home, standin, seed) = home_with_seed().await;
    let script = format!(
        "mount -t tmpfs tmpfs \"$0\" && cp -r {}/. \"$0\" && mount -o remount,ro \"$0\"",
        seed.display()
    );
    let mut command = with_disk(&home, &standin, &script);
    let (mut client, address) = serve_both(&mut command).await;
    assert_eq!(list_titles(&mut client).await, [json!("What is a tide?")]);
    let refused = think(&mut client, "And a neap tide?").await;
    let refused = tool_failure(&refused);
    assert_eq!(refused.code, "DatabaseReadOnly", "{refused:?}");
    assert!(refused.hint.unwrap().contains("writable"), "{refused:?}");
    let report = wait_for_store_state(address, "read_only").await;
    assert_eq!(report["status"], "degraded", "{report}");
    let copied = back_up(&home, &client, "work/read_only.db").await;
    assert_eq!(copied["sessions"], 1, "{copied}");

    let mut remount = beside(&client, "mount");
    remount.args(["-o", "remount,rw"]).arg(home.path("data"));
    let remounted = run_command(&mut remount).await;
    assert_eq!(remounted.code, Some(0), "{remounted:?}");
    wait_for_store_state(address, "ok").await;
    output(&think(&mut client, "And a neap tide?").await);
    assert_eq!(list_titles(&mut client).await.len(), 2);
    shut_down(client).await;
}
