//! Damage of the database file is noticed, and nothing is written to it afterwards.

use std::{
    fs::OpenOptions,
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
};

use deliberate_core::{Change, ErrorCode};
use deliberate_store::{EpochFilter, Pagination, Store as _, StoreError};
use sqlx::{ConnectOptions as _, Connection as _, sqlite::SqliteConnectOptions};

use crate::{
    samples::{session, thought_with_text},
    sqlite::open,
};

/// Makes a database of a few hundred pages without a write-ahead log.
async fn fill(path: &Path) {
    let store = open(path);
    let mut changes = vec![Change::AddSession(session("s"))];
    for number in 0..200 {
        let text = format!("{number} {}", "word ".repeat(1_000));
        changes.push(Change::AddThought(thought_with_text(
            &format!("t{number}"),
            "s",
            &text,
        )));
    }
    store.commit(changes).await.unwrap();
    store.close().await;
}

/// Overwrites the pages in the middle of the file, as a failing disk or another program does.
fn overwrite_middle(path: &Path) {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let size = file.metadata().unwrap().len();
    assert!(size > 400_000, "{size}");
    let start = size / 4 / 4096 * 4096;
    file.seek(SeekFrom::Start(start)).unwrap();
    let length = usize::try_from(size / 2).unwrap();
    file.write_all(&vec![0xA5; length]).unwrap();
}

async fn read_all(store: &impl deliberate_store::Store) -> Result<usize, StoreError> {
    let page = Pagination::limit(1_000);
    let thoughts = store.thoughts(&"s".into(), EpochFilter::All, page).await?;
    Ok(thoughts.len())
}

#[tokio::test]
async fn an_intact_file_passes_the_check_and_its_backup_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    fill(&path).await;
    let store = open(&path);
    store.check_integrity().await.unwrap();
    store.check_writable().await.unwrap();
    assert_eq!(store.info().await.unwrap().write_failure, None);
    let copy = folder.path().join("copy.db");
    store.backup_to(&copy).await.unwrap();
    store.close().await;
    let copy = open(&copy);
    copy.check_integrity().await.unwrap();
    assert_eq!(read_all(&copy).await.unwrap(), 200);
}

#[tokio::test]
async fn once_a_read_met_damage_nothing_is_written_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    fill(&path).await;
    overwrite_middle(&path);
    let store = open(&path);
    // Before the damage is met, nobody can know of it.
    store
        .commit(vec![Change::AddSession(session("before"))])
        .await
        .unwrap();
    let met = read_all(&store).await.unwrap_err();
    assert!(matches!(met, StoreError::Damaged { .. }), "{met}");
    assert_eq!(met.code(), ErrorCode::DatabaseDamaged);
    let bytes = || {
        let mut bytes = Vec::new();
        let mut file = std::fs::File::open(&path).unwrap();
        file.read_to_end(&mut bytes).unwrap();
        let log = folder.path().join("store.db-wal");
        (bytes, std::fs::read(log).unwrap_or_default())
    };
    let seen = bytes();
    for _ in 0..2 {
        let refused = store
            .commit(vec![Change::AddSession(session("after"))])
            .await
            .unwrap_err();
        assert_eq!(refused.code(), ErrorCode::DatabaseDamaged);
        assert!(refused.hint().unwrap().contains("restore a backup"));
    }
    assert!(seen == bytes(), "the file was written to");
    // What is intact can still be read.
    assert!(store.session(&"s".into()).await.unwrap().is_some());
    match store.info().await {
        Ok(info) => assert_eq!(
            info.write_failure.unwrap().code(),
            ErrorCode::DatabaseDamaged
        ),
        Err(error) => assert_eq!(error.code(), ErrorCode::DatabaseDamaged),
    }
}

#[tokio::test]
async fn the_check_finds_damage_and_no_backup_of_it_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    fill(&path).await;
    overwrite_middle(&path);
    let store = open(&path);
    let found = store.check_integrity().await.unwrap_err();
    assert_eq!(found.code(), ErrorCode::DatabaseDamaged, "{found}");
    let refused = store
        .commit(vec![Change::AddSession(session("after"))])
        .await
        .unwrap_err();
    assert_eq!(refused.code(), ErrorCode::DatabaseDamaged);
    let copy = folder.path().join("copy.db");
    let failed = store.backup_to(&copy).await.unwrap_err();
    assert_eq!(failed.code(), ErrorCode::DatabaseDamaged, "{failed}");
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().starts_with("copy"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Takes the text of a thought away, in a column that must have one. The pages of the file are fine,
/// so that reading and copying them meets no damage.
async fn remove_required_text(path: &Path) {
    let options = SqliteConnectOptions::new().filename(path);
    let mut database = options.connect().await.unwrap();
    for statement in [
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'content    TEXT NOT NULL', 'content    TEXT') \
         WHERE name = 'thoughts'",
        "PRAGMA writable_schema = RESET",
        "UPDATE thoughts SET content = NULL WHERE id = 't7'",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'content    TEXT', 'content    TEXT NOT NULL') \
         WHERE name = 'thoughts'",
    ] {
        sqlx::query(statement).execute(&mut database).await.unwrap();
    }
    database.close().await.unwrap();
}

#[tokio::test]
async fn a_backup_is_checked_itself_because_copying_does_not_meet_all_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    fill(&path).await;
    remove_required_text(&path).await;
    let store = open(&path);
    let copy = folder.path().join("copy.db");
    let failed = store.backup_to(&copy).await.unwrap_err();
    assert_eq!(failed.code(), ErrorCode::DatabaseDamaged, "{failed}");
    assert!(failed.to_string().contains("NULL value"), "{failed}");
    assert!(!copy.exists());
    // The copying alone succeeds.
    let options = SqliteConnectOptions::new().filename(&path);
    let mut database = options.connect().await.unwrap();
    let unchecked = folder.path().join("unchecked.db");
    sqlx::query("VACUUM INTO $1")
        .bind(unchecked.to_str().unwrap())
        .execute(&mut database)
        .await
        .unwrap();
}
