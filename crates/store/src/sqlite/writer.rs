//! The write connection.
//!
//! Commits are queued. The writer takes all that wait, gives each a savepoint inside one
//! transaction, and ends them with one fsync. A commit that fails is rolled back to its savepoint
//! and does not affect the others.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use deliberate_core::Change;
use sqlx::{Connection, SqliteConnection};
use tokio::{
    sync::{Mutex, mpsc, oneshot},
    task::JoinHandle,
    time::Instant,
};

use super::{
    apply::{apply, run},
    maintenance::DatabaseCondition,
    open::BUSY_TIMEOUT,
    rows::query_error,
};
use crate::StoreError;

/// The number of commits that may wait before callers are blocked.
const QUEUE_LEN: usize = 1_024;

/// The most commits in one transaction, so that the first one does not wait for an endless stream
/// of later ones.
const MAX_BATCH: usize = 256;

#[derive(Debug)]
pub(super) struct SqliteWriter {
    /// `None` once the store is closed.
    queue: Mutex<Option<mpsc::Sender<CommitJob>>>,
    maintenance: mpsc::Sender<MaintenanceJob>,
    task: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct CommitJob {
    changes: Vec<Change>,
    done: oneshot::Sender<Result<(), StoreError>>,
}

/// A statement that runs while no commit waits.
#[derive(Debug)]
pub(super) struct MaintenanceStep {
    pub(super) sql: &'static str,
    pub(super) arguments: Vec<i64>,
}

#[derive(Debug)]
struct MaintenanceJob {
    step: MaintenanceStep,
    done: oneshot::Sender<Result<u64, StoreError>>,
}

impl SqliteWriter {
    pub(super) fn start(
        connection: SqliteConnection,
        path: &Path,
        condition: Arc<DatabaseCondition>,
    ) -> Self {
        let (sender, commits) = mpsc::channel(QUEUE_LEN);
        let (maintenance, steps) = mpsc::channel(1);
        let task = WriterTask {
            connection,
            file: DatabaseFile::for_path(path),
            condition,
        };
        Self {
            queue: Mutex::new(Some(sender)),
            maintenance,
            task: Mutex::new(Some(tokio::spawn(task.run(commits, steps)))),
        }
    }

    /// Runs a step as soon as no commit waits, and returns the number of affected rows.
    pub(super) async fn maintain(&self, step: MaintenanceStep) -> Result<u64, StoreError> {
        let (done, outcome) = oneshot::channel();
        self.maintenance
            .send(MaintenanceJob { step, done })
            .await
            .map_err(|_| StoreError::Closed)?;
        outcome.await.map_err(|_| StoreError::Closed)?
    }

    pub(super) async fn commit(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        let (done, outcome) = oneshot::channel();
        let sender = self.queue.lock().await.clone().ok_or(StoreError::Closed)?;
        sender
            .send(CommitJob { changes, done })
            .await
            .map_err(|_| StoreError::Closed)?;
        drop(sender);
        outcome.await.map_err(|_| StoreError::Closed)?
    }

    /// Writes the queued commits and closes the file.
    pub(super) async fn close(&self) {
        self.queue.lock().await.take();
        if let Some(task) = self.task.lock().await.take()
            && task.await.is_err()
        {
            tracing::error!("the store's writer stopped early");
        }
    }
}

/// The identity of the file that was opened. If the file is deleted or replaced, later writes would
/// go to a file that no one can find.
struct DatabaseFile {
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

impl DatabaseFile {
    fn for_path(path: &Path) -> Self {
        Self {
            identity: file_identity(path),
            path: path.to_owned(),
        }
    }

    fn check(&self) -> Result<(), StoreError> {
        if file_identity(&self.path) == self.identity {
            return Ok(());
        }
        Err(StoreError::Connection {
            location: self.path.display().to_string(),
            reason: "it was removed or replaced while in use; restart the server".to_owned(),
        })
    }
}

#[cfg(unix)]
fn file_identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// On other systems an open file can't be removed.
#[cfg(not(unix))]
fn file_identity(_: &Path) -> Option<(u64, u64)> {
    None
}

/// Writes commits and maintenance steps until the store is closed.
struct WriterTask {
    connection: SqliteConnection,
    file: DatabaseFile,
    condition: Arc<DatabaseCondition>,
}

impl WriterTask {
    async fn run(
        mut self,
        mut commits: mpsc::Receiver<CommitJob>,
        mut steps: mpsc::Receiver<MaintenanceJob>,
    ) {
        loop {
            tokio::select! {
                biased;
                first = commits.recv() => match first {
                    Some(first) => self.write_waiting(first, &mut commits).await,
                    None => break,
                },
                Some(job) = steps.recv() => self.run_step(job).await,
            }
        }
        if let Err(error) = self.connection.close().await {
            tracing::warn!(%error, "the database did not close cleanly");
        }
    }

    /// Fails if nothing may be written to the file.
    fn check_file(&self) -> Result<(), StoreError> {
        match self.condition.damage() {
            Some(damage) => Err(damage.clone()),
            None => self.file.check(),
        }
    }

    /// Writes the first commit together with all others that wait.
    async fn write_waiting(&mut self, first: CommitJob, commits: &mut mpsc::Receiver<CommitJob>) {
        let mut jobs = vec![first];
        while jobs.len() < MAX_BATCH
            && let Ok(job) = commits.try_recv()
        {
            jobs.push(job);
        }
        let outcomes = match self.check_file() {
            Ok(()) => write_batch(&mut self.connection, &jobs).await,
            Err(error) => jobs.iter().map(|_| Err(error.clone())).collect(),
        };
        for (job, outcome) in jobs.into_iter().zip(outcomes) {
            self.condition.record_write(outcome.as_ref().err());
            // The caller may be gone. The commit stays.
            drop(job.done.send(outcome));
        }
    }

    async fn run_step(&mut self, job: MaintenanceJob) {
        let outcome = match self.check_file() {
            Ok(()) => write_step(&mut self.connection, &job.step).await,
            Err(error) => Err(error),
        };
        self.condition.record_write(outcome.as_ref().err());
        // The caller may be gone.
        drop(job.done.send(outcome));
    }
}

async fn write_batch(
    connection: &mut SqliteConnection,
    jobs: &[CommitJob],
) -> Vec<Result<(), StoreError>> {
    match jobs {
        [one] => vec![write_single(connection, &one.changes).await],
        many => match write_in_transaction(connection, many).await {
            Ok(outcomes) => outcomes,
            // A foreign key that is checked at the end of the transaction is violated. Writing each
            // commit alone shows which one is at fault.
            Err(StoreError::Conflict { .. }) => {
                let mut outcomes = Vec::with_capacity(many.len());
                for job in many {
                    outcomes.push(write_single(connection, &job.changes).await);
                }
                outcomes
            }
            Err(error) => many.iter().map(|_| Err(error.clone())).collect(),
        },
    }
}

async fn write_step(
    connection: &mut SqliteConnection,
    step: &MaintenanceStep,
) -> Result<u64, StoreError> {
    begin_transaction(connection).await?;
    let mut statement = sqlx::query(step.sql);
    for argument in &step.arguments {
        statement = statement.bind(*argument);
    }
    let written = run(connection, statement).await;
    end_transaction(connection, written).await
}

async fn write_single(
    connection: &mut SqliteConnection,
    changes: &[Change],
) -> Result<(), StoreError> {
    begin_transaction(connection).await?;
    let written = apply(connection, changes).await;
    end_transaction(connection, written).await
}

/// Writes the jobs in one transaction and returns each one's result, or the error that undid all.
async fn write_in_transaction(
    connection: &mut SqliteConnection,
    jobs: &[CommitJob],
) -> Result<Vec<Result<(), StoreError>>, StoreError> {
    begin_transaction(connection).await?;
    let mut outcomes = Ok(Vec::with_capacity(jobs.len()));
    for job in jobs {
        let written = write_job(connection, &job.changes).await;
        outcomes = outcomes.and_then(|mut outcomes| {
            outcomes.push(written?);
            Ok(outcomes)
        });
        if outcomes.is_err() {
            break;
        }
    }
    end_transaction(connection, outcomes).await
}

/// Commits the transaction, or rolls it back on an error so that the next one starts clean.
async fn end_transaction<T>(
    connection: &mut SqliteConnection,
    written: Result<T, StoreError>,
) -> Result<T, StoreError> {
    let ended = match written {
        Ok(value) => execute(connection, "COMMIT").await.map(|()| value),
        Err(error) => Err(error),
    };
    if ended.is_err() {
        drop(execute(connection, "ROLLBACK").await);
    }
    ended
}

/// Writes one job. The outer error means that its savepoint, and with it the whole transaction, is
/// gone: a full disk ends more than one statement.
async fn write_job(
    connection: &mut SqliteConnection,
    changes: &[Change],
) -> Result<Result<(), StoreError>, StoreError> {
    execute(connection, "SAVEPOINT one_call").await?;
    let outcome = apply(connection, changes).await;
    if outcome.is_err() {
        execute(connection, "ROLLBACK TO one_call").await?;
    }
    execute(connection, "RELEASE one_call").await?;
    Ok(outcome)
}

/// Begins a write transaction. `SQLite`'s own busy timeout covers nearly all cases; a few kinds of
/// "busy" return at once and are retried here.
async fn begin_transaction(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let give_up = Instant::now() + BUSY_TIMEOUT;
    loop {
        match execute(connection, "BEGIN IMMEDIATE").await {
            Err(StoreError::Busy { .. }) if Instant::now() < give_up => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            outcome => return outcome,
        }
    }
}

async fn execute(connection: &mut SqliteConnection, sql: &'static str) -> Result<(), StoreError> {
    sqlx::query(sql)
        .execute(connection)
        .await
        .map(drop)
        .map_err(|error| query_error(&error))
}
