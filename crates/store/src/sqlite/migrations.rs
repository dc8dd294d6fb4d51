//! The migration runner: checks that a database file is ours and brings its tables up to date.

use std::{path::Path, sync::LazyLock};

use sqlx::{
    Connection, Row, SqlStr, SqliteConnection,
    migrate::{Migration, MigrationType, Migrator},
};

use super::open::{explain_connect, set_write_ahead_log};
use crate::StoreError;

/// The version, name and text of each file in `migrations/sqlite`. They are listed here because
/// `sqlx::migrate!` would build SQLite a second time for the compiler.
const FILES: &[(i64, &str, &str)] = &[
    (
        1,
        "reasoning",
        include_str!("../../migrations/sqlite/0001_reasoning.sql"),
    ),
    (
        2,
        "epochs",
        include_str!("../../migrations/sqlite/0002_epochs.sql"),
    ),
    (
        3,
        "running_calls",
        include_str!("../../migrations/sqlite/0003_running_calls.sql"),
    ),
    (
        4,
        "chain_runs",
        include_str!("../../migrations/sqlite/0004_chain_runs.sql"),
    ),
    (
        5,
        "items",
        include_str!("../../migrations/sqlite/0005_items.sql"),
    ),
    (
        6,
        "usage",
        include_str!("../../migrations/sqlite/0006_usage.sql"),
    ),
    (
        8,
        "principal",
        include_str!("../../migrations/sqlite/0008_principal.sql"),
    ),
    (
        9,
        "call_lifecycle",
        include_str!("../../migrations/sqlite/0009_call_lifecycle.sql"),
    ),
];

static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let migrations = FILES.iter().map(|&(version, name, sql)| {
        let sql = SqlStr::from_static(sql);
        Migration::new(version, name.into(), MigrationType::Simple, sql, false)
    });
    Migrator::with_migrations(migrations.collect())
});

/// Identifies our files. The first migration sets it.
const APPLICATION_ID: i64 = 1_145_392_194;

/// Checks that the file is ours and creates or migrates its tables. Many processes may do this at
/// once, because it happens inside one exclusive transaction.
pub(super) async fn migrate(
    path: &Path,
    connection: &mut SqliteConnection,
) -> Result<(), StoreError> {
    let location = path.display().to_string();
    let newest = MIGRATIONS.iter().map(|step| step.version).max();
    if belongs_to_us(&location, connection).await? && schema_version(connection).await == newest {
        return Ok(());
    }
    set_write_ahead_log(&location, connection).await?;
    let migration = |error: &dyn std::fmt::Display| StoreError::Migration {
        location: location.clone(),
        reason: error.to_string(),
    };
    let mut transaction = connection
        .begin_with("BEGIN IMMEDIATE")
        .await
        .map_err(|error| migration(&error))?;
    MIGRATIONS
        .run_direct(None, &mut *transaction, false)
        .await
        .map_err(|error| migration(&error))?;
    transaction
        .commit()
        .await
        .map_err(|error| migration(&error))
}

/// Checks that the file is ours and that its tables are up to date.
pub(super) async fn check_current(
    path: &Path,
    connection: &mut SqliteConnection,
) -> Result<(), StoreError> {
    let location = path.display().to_string();
    let newest = MIGRATIONS.iter().map(|step| step.version).max();
    if belongs_to_us(&location, connection).await? && schema_version(connection).await == newest {
        return Ok(());
    }
    Err(StoreError::Migration {
        location,
        reason: "the file can only be read".to_owned(),
    })
}

async fn belongs_to_us(
    location: &str,
    connection: &mut SqliteConnection,
) -> Result<bool, StoreError> {
    let foreign = |reason: &str| StoreError::NotOurDatabase {
        location: location.to_owned(),
        reason: reason.to_owned(),
    };
    // The tables are read before the application id: another process creates both in one
    // transaction, so tables that have no id a moment later are not ours.
    let tables: Vec<String> =
        sqlx::query_scalar("SELECT name FROM sqlite_master WHERE type = 'table'")
            .fetch_all(&mut *connection)
            .await
            .map_err(|error| explain_connect(Path::new(location), &error))?;
    let application: i64 = sqlx::query_scalar("PRAGMA application_id")
        .fetch_one(&mut *connection)
        .await
        .map_err(|error| explain_connect(Path::new(location), &error))?;
    if application == APPLICATION_ID {
        return Ok(true);
    }
    if is_legacy_schema(&tables) {
        return Err(StoreError::LegacyDatabase {
            location: location.to_owned(),
        });
    }
    if tables.is_empty() {
        Ok(false)
    } else {
        Err(foreign("it contains another program's tables"))
    }
}

/// Tells whether these are the tables of mcp-langbase-reasoning.
pub(super) fn is_legacy_schema(tables: &[String]) -> bool {
    ["sessions", "thoughts", "invocations"]
        .iter()
        .all(|name| tables.iter().any(|table| table == name))
}

async fn schema_version(connection: &mut SqliteConnection) -> Option<i64> {
    let row = sqlx::query("SELECT max(version) FROM _sqlx_migrations WHERE success = 1")
        .fetch_one(connection)
        .await
        .ok()?;
    row.try_get(0).ok()
}

#[cfg(test)]
mod tests {
    use super::FILES;

    #[test]
    fn every_file_of_the_folder_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/sqlite");
        let files = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let listed = FILES
            .iter()
            .map(|(version, name, _)| format!("{version:04}_{name}.sql"));
        assert_eq!(names, listed.collect::<Vec<_>>());
    }
}
