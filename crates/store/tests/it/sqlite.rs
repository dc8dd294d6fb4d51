//! Behavior specific to the store in one `SQLite` file.

use std::{path::Path, sync::Arc};

use deliberate_core::Change;
use deliberate_store::{
    Store, StoreError,
    sqlite::{SqliteDurability, SqliteOptions, SqliteStore},
};
use futures::future::join_all;
use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};

use super::legacy_database;
use crate::{
    contract::{ALL, Fixture, commit},
    samples::{session, thought, thought_with_text},
};

pub(crate) fn options(path: &Path) -> SqliteOptions {
    SqliteOptions {
        path: path.to_owned(),
        readers: 4,
        durability: SqliteDurability::Relaxed,
    }
}

pub(crate) fn open(path: &Path) -> SqliteStore {
    SqliteStore::new(options(path))
}

/// Creates a store in a temporary folder.
pub(crate) async fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    Fixture {
        store: Arc::new(open(&path)),
        reopen: Box::new(move || Arc::new(open(&path))),
        _folder: Box::new(folder),
    }
}

/// Opens a separate connection to the file, which is created if it does not exist.
pub(crate) async fn raw_connection(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .connect()
        .await
        .unwrap()
}

async fn first_use(path: &Path) -> Result<(), StoreError> {
    open(path).info().await.map(drop)
}

#[tokio::test]
async fn nothing_is_made_before_the_first_use() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("data");
    let store = open(&inner.join("store.db"));
    assert!(!inner.exists());
    store.close().await;
    assert!(!inner.exists());
    first_use(&inner.join("store.db")).await.unwrap();
    assert!(inner.join("store.db").exists());
}

#[cfg(unix)]
#[tokio::test]
async fn folders_are_made_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let (outer, inner) = (folder.path().join("a"), folder.path().join("a/b"));
    first_use(&inner.join("store.db")).await.unwrap();
    for made in [outer, inner] {
        let mode = std::fs::metadata(&made).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", made.display());
    }
}

#[tokio::test]
async fn the_file_is_marked_as_ours_and_uses_a_write_ahead_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    first_use(&path).await.unwrap();
    let mut connection = raw_connection(&path).await;
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    let mark: i64 = sqlx::query_scalar("PRAGMA application_id")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(
        (mode.as_str(), mark),
        ("wal", i64::from(u32::from_be_bytes(*b"DELB")))
    );
    let broken = sqlx::query("PRAGMA foreign_key_check")
        .fetch_all(&mut connection)
        .await
        .unwrap();
    assert!(broken.is_empty());
}

#[tokio::test]
async fn a_text_file_is_not_taken_for_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    let notes = "my notes, which I would like to keep\n".repeat(100);
    std::fs::write(&path, &notes).unwrap();
    let error = first_use(&path).await.unwrap_err();
    assert_eq!(
        error,
        StoreError::NotOurDatabase {
            location: path.display().to_string(),
            reason: "the file is not an SQLite database".to_owned(),
        }
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), notes);
}

#[tokio::test]
async fn another_programs_database_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    let mut connection = raw_connection(&path).await;
    for sql in [
        "CREATE TABLE bookmarks (url TEXT)",
        "INSERT INTO bookmarks VALUES ('x')",
    ] {
        sqlx::query(sql).execute(&mut connection).await.unwrap();
    }
    connection.close().await.unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = first_use(&path).await.unwrap_err();
    assert_eq!(
        error,
        StoreError::NotOurDatabase {
            location: path.display().to_string(),
            reason: "it contains another program's tables".to_owned(),
        }
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn the_originals_database_is_recognised_and_left_alone() {
    for build in [legacy_database::DOCUMENTED, legacy_database::RELEASED] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reasoning.db");
        legacy_database::create_legacy_database(&path, build, &[]).await;
        let before = std::fs::read(&path).unwrap();
        let error = first_use(&path).await.unwrap_err();
        let location = path.display().to_string();
        assert_eq!(
            error,
            StoreError::LegacyDatabase {
                location: location.clone()
            }
        );
        assert_eq!(error.code(), "Connection");
        let hint = error.hint().unwrap();
        assert!(
            hint.contains(&format!("deliberate import {location}")),
            "{hint}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}

#[tokio::test]
async fn an_empty_file_becomes_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.db");
    std::fs::write(&path, "").unwrap();
    first_use(&path).await.unwrap();
}

#[tokio::test]
async fn the_tables_of_a_newer_version_are_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path);
    commit(&store, vec![Change::AddSession(session("s"))]).await;
    store.close().await;
    let mut connection = raw_connection(&path).await;
    sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
         VALUES (9999, 'from the future', 1, x'00', 0)",
    )
    .execute(&mut connection)
    .await
    .unwrap();
    connection.close().await.unwrap();

    let store = open(&path);
    let error = store.session(&"s".into()).await.unwrap_err();
    assert!(matches!(&error, StoreError::Migration { .. }), "{error:?}");
    assert_eq!(error.code(), "Migration");
    assert!(error.hint().unwrap().contains("newer version"));
}

#[tokio::test]
async fn a_place_where_no_file_can_be_is_a_connection_error() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "x").unwrap();
    let as_folder = folder.path().join("file/store.db");
    let is_folder = folder.path().to_owned();
    for path in [as_folder, is_folder] {
        let error = first_use(&path).await.unwrap_err();
        let StoreError::Connection { location, reason } = &error else {
            panic!("{error:?}");
        };
        assert_eq!(*location, path.display().to_string());
        assert!(!reason.is_empty());
        assert!(error.hint().unwrap().contains("DATABASE_PATH"));
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_folder_one_may_not_write_to_is_a_connection_error() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let closed = folder.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o500)).unwrap();
    if std::fs::write(closed.join("probe"), "x").is_ok() {
        // The user may write anywhere, as root in a container can.
        return;
    }
    let error = first_use(&closed.join("store.db")).await.unwrap_err();
    assert!(matches!(error, StoreError::Connection { .. }), "{error:?}");
}

#[tokio::test]
async fn what_failed_to_open_is_tried_again_by_the_next_use() {
    let folder = tempfile::tempdir().unwrap();
    let blocker = folder.path().join("data");
    std::fs::write(&blocker, "x").unwrap();
    let store = open(&blocker.join("store.db"));
    assert!(store.info().await.is_err());
    std::fs::remove_file(&blocker).unwrap();
    commit(&store, vec![Change::AddSession(session("s"))]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_handles_may_open_a_new_file_at_the_same_time() {
    for round in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/store.db");
        let tasks = (0..16).map(|number| {
            let store = open(&path);
            tokio::spawn(async move {
                let name = format!("s{number}");
                store.commit(vec![Change::AddSession(session(&name))]).await
            })
        });
        for outcome in join_all(tasks).await {
            assert_eq!(outcome.unwrap(), Ok(()), "round {round}");
        }
        assert_eq!(open(&path).sessions(ALL).await.unwrap().len(), 16);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_handles_with_twelve_commits_each_all_succeed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let tasks = (0..8).map(|handle| {
        let store = SqliteStore::new(SqliteOptions {
            durability: SqliteDurability::Full,
            ..options(&path)
        });
        tokio::spawn(async move {
            for number in 0..12 {
                let name = format!("h{handle}-{number}");
                let changes = vec![
                    Change::AddSession(session(&name)),
                    Change::AddThought(thought(&name, &name)),
                ];
                store.commit(changes).await?;
                store.latest_thoughts(&name.as_str().into(), 1).await?;
            }
            Ok::<_, StoreError>(())
        })
    });
    for outcome in join_all(tasks).await {
        assert_eq!(outcome.unwrap(), Ok(()));
    }
    let state = open(&path).info().await.unwrap();
    assert_eq!((state.sessions, state.thoughts), (96, 96));
}

/// Every transaction that changes data changes the file's counter or its log. The log shows it
/// best: commits that share a transaction write the same pages once.
#[tokio::test]
async fn commits_that_wait_together_share_a_transaction() {
    let frames = async |together: bool| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let store = open(&path);
        commit(&store, vec![Change::AddSession(session("s"))]).await;
        let steps = (0..60).map(|number| {
            store.commit(vec![Change::AddThought(thought(
                &format!("t{number}"),
                "s",
            ))])
        });
        if together {
            for outcome in join_all(steps).await {
                outcome.unwrap();
            }
        } else {
            for step in steps {
                step.await.unwrap();
            }
        }
        std::fs::metadata(path.with_extension("db-wal"))
            .unwrap()
            .len()
    };
    let (together, apart) = (frames(true).await, frames(false).await);
    assert!(
        together * 4 < apart,
        "{together} bytes together, {apart} apart"
    );
}

#[tokio::test]
async fn a_damaged_value_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path);
    commit(&store, vec![Change::AddSession(session("s"))]).await;
    let mut connection = raw_connection(&path).await;
    sqlx::query("UPDATE sessions SET metadata = '{ half'")
        .execute(&mut connection)
        .await
        .unwrap();
    let error = store.session(&"s".into()).await.unwrap_err();
    let StoreError::Corrupt { what, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(what, "column metadata");
    assert!(error.hint().unwrap().contains("deliberate doctor"));

    // Other rows are not affected, and the row can be created again.
    let mended = session("s");
    commit(&store, vec![Change::AddSession(session("other"))]).await;
    commit(
        &store,
        vec![
            Change::DeleteSession("s".into()),
            Change::AddSession(mended.clone()),
        ],
    )
    .await;
    assert_eq!(store.session(&"s".into()).await.unwrap(), Some(mended));
    assert_eq!(store.sessions(ALL).await.unwrap().len(), 2);
}

#[tokio::test]
async fn the_file_does_not_contain_the_texts_of_a_deleted_session() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path);
    let text = "a private sentence of several words. ".repeat(2_000);
    let mut changes = vec![Change::AddSession(session("s"))];
    changes
        .extend((0..20).map(|number| {
            Change::AddThought(thought_with_text(&format!("t{number}"), "s", &text))
        }));
    commit(&store, changes).await;
    commit(&store, vec![Change::DeleteSession("s".into())]).await;
    store.close().await;
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let found = bytes.windows(16).any(|it| it == b"private sentence");
        assert!(!found);
    }
}

#[tokio::test]
async fn a_copy_holds_what_is_committed_and_replaces_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.db");
    let store = open(&folder.path().join("store.db"));
    // The commit is still in the log, which a copy of the file alone would miss.
    commit(&store, vec![Change::AddSession(session("s"))]).await;
    store.backup_to(&copy).await.unwrap();
    commit(&store, vec![Change::AddThought(thought("t", "s"))]).await;
    let copied = open(&copy);
    let state = copied.info().await.unwrap();
    assert_eq!((state.sessions, state.thoughts), (1, 0));
    copied.close().await;
    let mut connection = raw_connection(&copy).await;
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(mode, "wal");
    connection.close().await.unwrap();

    let before = std::fs::read(&copy).unwrap();
    let error = store.backup_to(&copy).await.unwrap_err();
    assert_eq!(error.code(), "Copy", "{error}");
    assert_eq!(std::fs::read(&copy).unwrap(), before);
    let nowhere = folder.path().join("nowhere/copy.db");
    assert!(store.backup_to(&nowhere).await.is_err());
}
