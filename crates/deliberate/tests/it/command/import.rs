//! Tests of `deliberate import`: the database of the original server.

use std::path::Path;

use sqlx::{Connection as _, SqliteConnection};

use crate::support::{TestHome, open_sqlite, run_command};

/// Tables of the original server that a small database uses.
const TABLES: &str = "
    CREATE TABLE sessions (id TEXT PRIMARY KEY, mode TEXT NOT NULL, created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL, metadata TEXT, active_branch_id TEXT);
    CREATE TABLE thoughts (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, content TEXT NOT NULL,
        confidence REAL NOT NULL, mode TEXT NOT NULL, parent_id TEXT, branch_id TEXT,
        created_at TEXT NOT NULL, metadata TEXT);
    CREATE TABLE branches (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, name TEXT,
        parent_branch_id TEXT, state TEXT NOT NULL, confidence REAL, priority REAL,
        created_at TEXT NOT NULL, updated_at TEXT NOT NULL, metadata TEXT);
    CREATE TABLE invocations (id TEXT PRIMARY KEY, session_id TEXT, tool_name TEXT NOT NULL,
        input TEXT NOT NULL, output TEXT, pipe_name TEXT, latency_ms INTEGER,
        success INTEGER NOT NULL, error TEXT, created_at TEXT NOT NULL);
";

const ROWS: &str = "
    INSERT INTO sessions VALUES
        ('s1', 'linear', '2025-12-01T10:00:00+00:00', '2025-12-01T10:05:00+00:00', NULL, NULL),
        ('s2', 'tree', '2025-12-02T10:00:00+00:00', '2025-12-02T10:05:00+00:00', '{\"a\":1}', 'b1');
    INSERT INTO branches VALUES
        ('b1', 's2', 'root', NULL, 'active', 0.9, 1.0, '2025-12-02T10:00:00+00:00',
         '2025-12-02T10:00:00+00:00', NULL);
    INSERT INTO thoughts VALUES
        ('t1', 's1', 'First.', 0.7, 'linear', NULL, NULL, '2025-12-01T10:00:00+00:00', NULL),
        ('t2', 's1', 'Second.', 90.4, 'linear', 't1', NULL, '2025-12-01T10:05:00+00:00', NULL),
        ('t3', 's2', 'Branched.', 0.8, 'tree', NULL, 'b1', '2025-12-02T10:00:00+00:00', NULL),
        ('t4', 'lost', 'No session.', 0.8, 'linear', NULL, NULL, '2025-12-02T10:00:00+00:00', NULL);
    INSERT INTO invocations VALUES
        ('i1', 's1', 'reasoning_linear', '{\"content\":\"x\"}', '{}', 'linear-reasoning-v1', 12, 1,
         NULL, '2025-12-01T10:00:00+00:00');
";

/// Creates a small database of the original server.
pub(super) async fn create_legacy_database(path: &Path) {
    let mut connection = open_sqlite(path).await;
    fill_tables(&mut connection).await;
    connection.close().await.unwrap();
}

async fn fill_tables(connection: &mut SqliteConnection) {
    sqlx::raw_sql(TABLES)
        .execute(&mut *connection)
        .await
        .unwrap();
    sqlx::raw_sql(ROWS).execute(connection).await.unwrap();
}

/// Checks that the imported sessions can be read and the scores are in range.
async fn check_imported(home: &TestHome, database: Option<&Path>) {
    let mut command = home.command();
    if let Some(path) = database {
        command.env("DATABASE_PATH", path);
    }
    let output = run_command(command.args(["sessions", "show", "s1", "--json"])).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    let shown: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(shown["thoughts"][0]["content"], "First.");
    assert_eq!(shown["thoughts"][1]["content"], "Second.");
    assert_eq!(shown["thoughts"][1]["parent_id"], "t1");
    assert_eq!(shown["thoughts"][1]["confidence"], 0.904);
    let mut connection = match database {
        Some(path) => open_sqlite(path).await,
        None => home.open_database().await,
    };
    let whole: String = sqlx::query_scalar("PRAGMA integrity_check")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(whole, "ok");
}

#[tokio::test]
async fn an_old_database_is_taken_over_and_reported() {
    let home = TestHome::new();
    let old = home.path("work/reasoning.db");
    create_legacy_database(&old).await;
    let before = std::fs::read(&old).unwrap();
    let output = home.run(&["import", "reasoning.db"]).await;
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    let report = output
        .stdout
        .replace(&home.database().display().to_string(), "DATABASE");
    insta::assert_snapshot!("import_report", report);
    check_imported(&home, None).await;
    assert_eq!(
        std::fs::read(&old).unwrap(),
        before,
        "the old file is only read"
    );
    assert_eq!(home.stored_counts().await, (2, 3));

    // The second time, everything is already there.
    let again = home.run(&["import", "reasoning.db"]).await;
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(home.stored_counts().await, (2, 3));
}

#[tokio::test]
async fn an_imported_session_is_continued() {
    let home = TestHome::new();
    create_legacy_database(&home.path("work/reasoning.db")).await;
    home.run(&["import", "reasoning.db"]).await;
    let standin = deliberate_testkit::MockProvider::start().await.unwrap();
    let cli_output = run_command(home.command_with_provider(&standin).args([
        "think",
        "--json",
        "--session",
        "s1",
        "And then?",
    ]))
    .await;
    assert_eq!(cli_output.code, Some(0), "{}", cli_output.stderr);
    let output: serde_json::Value = serde_json::from_str(&cli_output.stdout).unwrap();
    assert_eq!(output["previous_thought"], "t2");
    let asked = standin.model_requests().pop().unwrap().body["messages"].to_string();
    assert!(
        asked.contains("First.") && asked.contains("Second."),
        "{asked}"
    );
}

#[tokio::test]
async fn a_database_in_the_new_ones_place_is_put_aside() {
    let home = TestHome::new();
    let old = home.path("work/reasoning.db");
    create_legacy_database(&old).await;
    let before = std::fs::read(&old).unwrap();
    let mut command = home.command();
    command.env("DATABASE_PATH", &old).arg("import").arg(&old);
    let output = run_command(&mut command).await;
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    let kept = home.path("work/reasoning.original.db");
    assert!(
        output
            .stdout
            .contains(&format!("The old database is now {}.", kept.display())),
        "{}",
        output.stdout
    );
    assert_eq!(std::fs::read(&kept).unwrap(), before);
    check_imported(&home, Some(&old)).await;
    let mut left: Vec<String> = std::fs::read_dir(home.path("work"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with("-wal") && !name.ends_with("-shm"))
        .collect();
    left.sort();
    assert_eq!(left, ["reasoning.db", "reasoning.original.db"]);
}

/// The original server was killed: its last rows are still in the write-ahead log beside the
/// database.
#[tokio::test]
async fn so_is_one_that_was_not_closed_with_its_log() {
    let home = TestHome::new();
    let live = home.path("work/live.db");
    let mut connection = open_sqlite(&live).await;
    sqlx::raw_sql("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;")
        .execute(&mut connection)
        .await
        .unwrap();
    fill_tables(&mut connection).await;
    // As a crash leaves it: both files, and no process that uses them.
    let old = home.path("work/reasoning.db");
    std::fs::copy(&live, &old).unwrap();
    std::fs::copy(
        home.path("work/live.db-wal"),
        home.path("work/reasoning.db-wal"),
    )
    .unwrap();
    connection.close().await.unwrap();

    let mut command = home.command();
    command.env("DATABASE_PATH", &old).arg("import").arg(&old);
    let output = run_command(&mut command).await;
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    check_imported(&home, Some(&old)).await;
    // The old database is complete as well.
    let mut kept = open_sqlite(&home.path("work/reasoning.original.db")).await;
    let thoughts: i64 = sqlx::query_scalar("SELECT count(*) FROM thoughts")
        .fetch_one(&mut kept)
        .await
        .unwrap();
    assert_eq!(thoughts, 4);
}

#[tokio::test]
async fn what_is_no_old_database_is_refused_and_nothing_is_made() {
    let home = TestHome::new();
    std::fs::write(home.path("work/notes.txt"), "just notes\n".repeat(200)).unwrap();
    drop(open_sqlite(&home.path("work/empty.db")).await);
    let cases = [
        ("nowhere.db", "there is no file nowhere.db"),
        ("notes.txt", "not an SQLite database"),
        (
            "empty.db",
            "cannot be imported: it has no tables of sessions",
        ),
        (".", "there is no file"),
    ];
    for (path, sentence) in cases {
        let output = home.run(&["import", path]).await;
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (Some(2), ""),
            "{path}"
        );
        assert!(
            output.stderr.contains(sentence),
            "{path}: {}",
            output.stderr
        );
    }
    assert_eq!(home.stored_counts().await, (0, 0));
    let ours = home.database().display().to_string();
    let output = home.run(&["import", &ours]).await;
    assert_eq!(output.code, Some(2), "{}", output.stdout);
    assert!(
        output.stderr.contains("already a database of deliberate"),
        "{}",
        output.stderr
    );
    assert!(home.database().exists());
}
