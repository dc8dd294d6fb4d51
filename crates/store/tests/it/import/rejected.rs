//! Imports that are rejected and leave nothing.

use std::path::Path;

use deliberate_core::Change;
use deliberate_store::{
    Store, StoreError,
    sqlite::{SqliteStore, import_legacy},
};

use super::ImportFixture;
use crate::{
    contract::{ALL, commit},
    legacy_database::{self, DOCUMENTED, DOCUMENTED_ROWS},
    samples::{session, thought},
    sqlite::open,
};

#[tokio::test]
async fn an_import_is_whole_or_did_not_happen() {
    let it = ImportFixture::from(DOCUMENTED, DOCUMENTED_ROWS).await;
    // Our data has the id of the last rows that would be imported.
    let ours = vec![
        Change::AddSession(session("ours")),
        Change::AddGraph(crate::samples::graph("g2", "ours")),
        Change::AddThought(thought("t", "ours")),
    ];
    commit(&it.new, ours).await;
    let error = it.import().await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict { .. }), "{error:?}");
    let state = it.new.info().await.unwrap();
    assert_eq!((state.sessions, state.thoughts), (1, 1));
    assert_eq!(it.new.invocations(None, ALL).await.unwrap(), []);
}

async fn import_error(path: &Path, target: &SqliteStore) -> StoreError {
    let error = import_legacy(path, target).await.unwrap_err();
    assert_eq!(target.info().await.unwrap().sessions, 0);
    error
}

#[tokio::test]
async fn what_is_not_the_originals_database_is_refused_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let target = open(&folder.path().join("store.db"));
    let foreign = |path: &Path, reason: &str| StoreError::NotOurDatabase {
        location: path.display().to_string(),
        reason: reason.to_owned(),
    };

    let ours = folder.path().join("ours.db");
    commit(&open(&ours), vec![Change::AddSession(session("s"))]).await;
    assert_eq!(
        import_error(&ours, &target).await,
        foreign(
            &ours,
            "it is already a database of deliberate; there is nothing to import"
        )
    );

    let other = folder.path().join("other.db");
    legacy_database::create_legacy_database(&other, &["CREATE TABLE sessions (id TEXT)"], &[])
        .await;
    assert_eq!(
        import_error(&other, &target).await,
        foreign(
            &other,
            "it has no tables of sessions, thoughts and invocations"
        )
    );

    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "not a database at all\n".repeat(100)).unwrap();
    assert_eq!(
        import_error(&text, &target).await,
        foreign(&text, "the file is not an SQLite database")
    );

    let missing = folder.path().join("missing.db");
    let error = import_error(&missing, &target).await;
    assert!(matches!(error, StoreError::Connection { .. }), "{error:?}");
    assert!(!missing.exists(), "looking for it does not make it");
}
