//! Opening the file: whose it is, its tables, its connections.

use std::{path::Path, time::Duration};

use sqlx::{
    ConnectOptions, Connection, Row, SqliteConnection, SqlitePool,
    migrate::Migrator,
    sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous},
};

use super::{SqliteDurability, SqliteOptions};
use crate::StoreError;

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlite");

/// Set by the first migration; tells our files from others.
const APPLICATION_ID: i64 = 1_145_392_194;

/// How long a process waits for another one's transaction. Eight busy processes on a slow disk
/// need a few seconds at the most; a caller should not wait longer to hear that it is stuck.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(15);

pub(super) async fn open(
    options: &SqliteOptions,
) -> Result<(SqlitePool, SqliteConnection), StoreError> {
    let path = &options.path;
    let problem = |error: &dyn std::fmt::Display| StoreError::Connection {
        location: path.display().to_string(),
        reason: error.to_string(),
    };
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        make_folder(folder).await.map_err(|error| problem(&error))?;
    }
    make_file(path).await.map_err(|error| problem(&error))?;
    let connect = connect_options(options);
    let mut writer = connect
        .clone()
        .create_if_missing(true)
        .connect()
        .await
        .map_err(|error| explain_connect(path, &error))?;
    prepare(path, &mut writer).await?;
    let readers = SqlitePoolOptions::new()
        .max_connections(options.readers)
        .min_connections(0)
        .acquire_timeout(BUSY_TIMEOUT)
        // A connection that was dropped in the middle of a read is closed rather than reused;
        // asking each one whether it still lives would double the cost of a small read.
        .test_before_acquire(false)
        .connect_lazy_with(connect.pragma("query_only", "ON"));
    Ok((readers, writer))
}

pub(super) fn connect_options(options: &SqliteOptions) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(&options.path)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .synchronous(match options.durability {
            SqliteDurability::Full => SqliteSynchronous::Full,
            SqliteDurability::Relaxed => SqliteSynchronous::Normal,
        })
        .disable_statement_logging()
}

async fn make_file(path: &Path) -> std::io::Result<()> {
    match create_private_file(path).await {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Made for the user alone, as the folder is; the files beside it follow its permissions.
pub(super) async fn create_private_file(path: &Path) -> std::io::Result<()> {
    let mut options = tokio::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    options.mode(0o600);
    options.open(path).await.map(drop)
}

/// What is remembered is the user's own: the folder is made for them alone.
async fn make_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = tokio::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    builder.mode(0o700);
    builder.create(folder).await
}

/// Checks whose file it is, and makes or updates its tables. Safe when many processes do it at
/// once: the tables are made inside one exclusive transaction.
async fn prepare(path: &Path, connection: &mut SqliteConnection) -> Result<(), StoreError> {
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

async fn belongs_to_us(
    location: &str,
    connection: &mut SqliteConnection,
) -> Result<bool, StoreError> {
    let foreign = |reason: &str| StoreError::NotOurDatabase {
        location: location.to_owned(),
        reason: reason.to_owned(),
    };
    // Tables before mark: another process makes both in one transaction, so tables that were
    // there without a mark a moment later are not ours.
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
        Err(foreign("it holds another program's tables"))
    }
}

/// Whether these are the tables of the server this one replaces.
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

/// The switch to a write-ahead log needs the file alone for a moment and is refused, not
/// delayed, when another process has it.
pub(super) async fn set_write_ahead_log(
    location: &str,
    connection: &mut SqliteConnection,
) -> Result<(), StoreError> {
    let mut tries = 0_u32;
    loop {
        let outcome: Result<String, sqlx::Error> = sqlx::query_scalar("PRAGMA journal_mode = WAL")
            .fetch_one(&mut *connection)
            .await;
        match outcome {
            Ok(mode) if mode.eq_ignore_ascii_case("wal") => return Ok(()),
            // Some file systems can't share memory; a rollback journal is slower and as safe.
            Ok(mode) => {
                tracing::warn!(mode, "the database can't use a write-ahead log here");
                return Ok(());
            }
            Err(error) if tries >= 300 => {
                return Err(StoreError::Connection {
                    location: location.to_owned(),
                    reason: error.to_string(),
                });
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
        tries += 1;
    }
}

fn explain_connect(path: &Path, error: &sqlx::Error) -> StoreError {
    let location = path.display().to_string();
    let text = error.to_string();
    if text.contains("not a database") {
        return StoreError::NotOurDatabase {
            location,
            reason: "the file is not an SQLite database".to_owned(),
        };
    }
    StoreError::Connection {
        location,
        reason: text,
    }
}
