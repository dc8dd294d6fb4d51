//! Tests of `deliberate backup`.

use std::os::unix::fs::PermissionsExt as _;

use deliberate_testkit::MockProvider;
use serde_json::Value;

use crate::support::{TestHome, output, run_command, serve, shut_down, think};

#[tokio::test]
async fn a_copy_made_while_a_server_runs_is_whole_and_replaces_nothing() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let papers = home.path("data/deliberate/research/papers");
    std::fs::create_dir_all(&papers).unwrap();
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    output(&think(&mut client, "What is a tide?").await);
    let output = home.run(&["backup", "copy.db"]).await;
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    let held = "copy.db contains 1 session(s), 1 thought(s), 0 paper(s) with their texts";
    assert!(output.stdout.contains(held), "{}", output.stdout);
    let elsewhere = papers.display().to_string();
    assert!(output.stdout.contains(&elsewhere), "{}", output.stdout);

    let copy = home.path("work/copy.db");
    let before = std::fs::read(&copy).unwrap();
    let again = home.run(&["backup", "copy.db"]).await;
    assert_eq!((again.code, again.stdout.as_str()), (Some(2), ""));
    assert!(again.stderr.contains("does not exist"), "{}", again.stderr);
    assert_eq!(std::fs::read(&copy).unwrap(), before);
    let told = home.run_json(&["backup", "other.db", "--json"]).await;
    assert_eq!(told["sessions"], 1);
    let not_in_it = told["not_in_it"].as_array().unwrap();
    assert!(not_in_it.contains(&elsewhere.into()), "{told}");
    shut_down(client).await;

    // The copy is one file that only its owner can read, and it can be used directly.
    let mode = std::fs::metadata(&copy).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0);
    assert!(!home.path("work/copy.db-wal").exists());
    let mut command = home.command();
    command.args(["--database", "copy.db", "sessions", "list", "--json"]);
    let listed: Value = serde_json::from_str(&run_command(&mut command).await.stdout).unwrap();
    assert_eq!(listed[0]["session"]["title"], "What is a tide?");
}

#[tokio::test]
async fn without_a_database_nothing_is_copied_and_nothing_made() {
    let home = TestHome::new();
    let output = home.run(&["backup", "copy.db"]).await;
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
    assert!(
        output.stderr.contains("there is no database at"),
        "{}",
        output.stderr
    );
    assert!(!home.database().exists() && !home.path("work/copy.db").exists());
}
