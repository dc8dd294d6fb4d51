//! Damage that a running server meets.

use std::{
    fs::OpenOptions,
    io::{Seek as _, SeekFrom, Write as _},
    path::Path,
};

use deliberate_testkit::MockProvider;
use serde_json::{Value, json};

use super::{health, serve_both};
use crate::support::{TestHome, output, serve, shut_down, think, tool_failure};

/// Overwrites the pages in the middle of the file, as a failing disk or another program does.
fn overwrite_middle(path: &Path) {
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    let size = file.metadata().unwrap().len();
    assert!(size > 400_000, "{size}");
    file.seek(SeekFrom::Start(size / 4 / 4096 * 4096)).unwrap();
    let length = usize::try_from(size / 2).unwrap();
    file.write_all(&vec![0xA5; length]).unwrap();
}

#[tokio::test]
async fn a_damaged_database_is_told_and_not_written_to() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let mut sessions = Vec::new();
    for number in 0..20 {
        let content = format!("{number} {}", "word ".repeat(8_000));
        let done = think(&mut client, &content).await;
        sessions.push(output(&done)["session_id"].clone());
    }
    shut_down(client).await;
    let intact = home.run(&["doctor"]).await;
    assert!(intact.stdout.contains(", intact"), "{}", intact.stdout);
    let saved = home.run(&["backup", "saved.db"]).await;
    assert_eq!(saved.code, Some(0), "{saved:?}");
    overwrite_middle(&home.database());

    let (mut client, address) = serve_both(&mut home.command_with_provider(&standin)).await;
    let mut answers: Vec<Value> = Vec::new();
    for session in &sessions {
        let read = json!({ "id": session });
        answers.push(client.call("reasoning_get", read).await.unwrap());
    }
    let damaged = answers.iter().find(|it| it["result"]["isError"] == true);
    let damaged = tool_failure(damaged.expect("a read that meets the damage"));
    assert_eq!(damaged.code, "DatabaseDamaged");
    let refused = think(&mut client, "What is a tide?").await;
    let refused = tool_failure(&refused);
    assert_eq!(refused.code, "DatabaseDamaged", "{refused:?}");
    assert!(refused.hint.unwrap().contains("restore a backup"));
    let (status, report) = health(address).await;
    assert_eq!(
        (status, &report["status"]),
        (503, &json!("unavailable")),
        "{report}"
    );
    assert_eq!(report["store"]["state"], "damaged", "{report}");
    let reason = report["store"]["reason"].as_str().unwrap();
    assert!(reason.contains("damaged"), "{reason}");
    shut_down(client).await;

    let doctor = home.run(&["doctor"]).await;
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    let line = doctor.stdout.lines().find(|line| line.contains("database"));
    let line = line.unwrap();
    assert!(line.starts_with("WRONG"), "{line}");
    assert!(
        line.contains("damaged") && line.contains("restore"),
        "{line}"
    );
    let backup = home.run(&["backup", "bad.db"]).await;
    assert_eq!(backup.code, Some(2), "{backup:?}");
    assert!(backup.stderr.contains("damaged"), "{}", backup.stderr);
    assert!(!home.path("work/bad.db").exists());

    // Restoring is putting the copy in place.
    let database = home.database();
    for ending in ["-wal", "-shm"] {
        drop(std::fs::remove_file(format!(
            "{}{ending}",
            database.display()
        )));
    }
    std::fs::copy(home.path("work/saved.db"), &database).unwrap();
    assert_eq!(home.stored_counts().await, (20, 20));
    assert_eq!(home.run(&["doctor"]).await.code, Some(0));
}
