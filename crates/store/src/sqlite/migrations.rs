//! The migration runner: checks that a database file is ours and brings its tables up to date.

use std::path::Path;

use sqlx::{Connection, Row, SqliteConnection, migrate::Migrator};

use super::open::{explain_connect, set_write_ahead_log};
use crate::StoreError;

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlite");

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
