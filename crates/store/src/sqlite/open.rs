//! Opens the database file and its connections.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use sqlx::{
    ConnectOptions, Connection as _, SqliteConnection, SqlitePool,
    sqlite::{SqliteAutoVacuum, SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous},
};

use super::{
    SqliteDurability, SqliteOptions,
    deletion::CREATE_DELETED_SESSIONS,
    migrations::{check_current, migrate},
};
use crate::StoreError;

/// How long a process waits for another one's transaction. Eight busy processes on a slow disk
/// need a few seconds at most; a caller should not wait longer to learn that the file is locked.
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
    let mut first = connect.clone().create_if_missing(true);
    // It is a property of a new file. To set it again would write to the file at every start.
    if is_empty(path).await {
        first = first.auto_vacuum(SqliteAutoVacuum::Incremental);
    }
    let mut writer = first
        .connect()
        .await
        .map_err(|error| explain_connect(path, &error))?;
    migrate(path, &mut writer).await?;
    sqlx::query(CREATE_DELETED_SESSIONS)
        .execute(&mut writer)
        .await
        .map_err(|error| problem(&error))?;
    Ok((read_connections(options, connect), writer))
}

/// Opens an existing file without the files that `SQLite` keeps beside it. This is only for a disk
/// that can't be written: what other processes write meanwhile would look like damage.
pub(super) async fn open_read_only(options: &SqliteOptions) -> Result<SqlitePool, StoreError> {
    let path = &options.path;
    let refused = |reason: &str| StoreError::Connection {
        location: path.display().to_string(),
        reason: reason.to_owned(),
    };
    let beside = |ending: &str| {
        let mut name = path.clone().into_os_string();
        name.push(ending);
        PathBuf::from(name)
    };
    if tokio::fs::metadata(beside("-wal"))
        .await
        .is_ok_and(|log| log.len() > 0)
    {
        return Err(refused(
            "its write-ahead log holds commits and can't be read",
        ));
    }
    if !is_write_denied(&beside("-probe")).await {
        return Err(refused("the disk can be written"));
    }
    let connect = read_only_options(options);
    let mut connection = connect
        .connect()
        .await
        .map_err(|error| explain_connect(path, &error))?;
    check_current(path, &mut connection).await?;
    drop(connection.close().await);
    Ok(read_connections(options, connect))
}

/// Tells whether the system refuses to write a new file.
async fn is_write_denied(probe: &Path) -> bool {
    use std::io::ErrorKind;
    // As much as the file of shared memory takes.
    let written = async {
        create_private_file(probe).await?;
        let written = tokio::fs::write(probe, vec![0; 32 * 1024]).await;
        drop(tokio::fs::remove_file(probe).await);
        written
    };
    written.await.is_err_and(|error: std::io::Error| {
        matches!(
            error.kind(),
            ErrorKind::ReadOnlyFilesystem
                | ErrorKind::PermissionDenied
                | ErrorKind::StorageFull
                | ErrorKind::QuotaExceeded
        )
    })
}

pub(super) fn read_only_options(options: &SqliteOptions) -> SqliteConnectOptions {
    connect_options(options).read_only(true).immutable(true)
}

fn read_connections(options: &SqliteOptions, connect: SqliteConnectOptions) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(options.readers)
        .min_connections(0)
        .acquire_timeout(BUSY_TIMEOUT)
        // A connection that was dropped during a read is closed rather than reused. Testing each
        // one before use would double the cost of a small read.
        .test_before_acquire(false)
        .connect_lazy_with(connect.pragma("query_only", "ON"))
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
        // Deleted texts are overwritten, so that the file does not contain them any more.
        .pragma("secure_delete", "ON")
        .disable_statement_logging()
}

async fn is_empty(path: &Path) -> bool {
    let metadata = tokio::fs::metadata(path).await;
    metadata.is_ok_and(|metadata| metadata.len() == 0)
}

async fn make_file(path: &Path) -> std::io::Result<()> {
    match create_private_file(path).await {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Creates a file that only the user can read. The files that `SQLite` adds copy its permissions.
pub(super) async fn create_private_file(path: &Path) -> std::io::Result<()> {
    let mut options = tokio::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    options.mode(0o600);
    options.open(path).await.map(drop)
}

/// Creates the folder for the user alone, because the stored data is private.
async fn make_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = tokio::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    builder.mode(0o700);
    builder.create(folder).await
}

/// Switches to a write-ahead log. That needs exclusive access for a moment and fails, instead of
/// waiting, while another process uses the file.
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
            // Some file systems have no shared memory. A rollback journal is slower and as safe.
            Ok(mode) => {
                tracing::warn!(mode, "the file system does not support a write-ahead log");
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

pub(super) fn explain_connect(path: &Path, error: &sqlx::Error) -> StoreError {
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
