//! The one connection that writes.
//!
//! Commits queue up; the writer takes all that wait, gives each a savepoint of its own inside
//! one transaction, and ends them with one fsync. A commit that fails is rolled back to its
//! savepoint and spoils no other.

use std::time::Duration;

use deliberate_core::Change;
use sqlx::{Connection, SqliteConnection};
use tokio::{
    sync::{Mutex, mpsc, oneshot},
    task::JoinHandle,
    time::Instant,
};

use super::{apply::apply, open::BUSY_TIMEOUT, rows::query_error};
use crate::StoreError;

/// Commits that may wait before callers are held back.
const QUEUE: usize = 1_024;

/// Commits that share one transaction at the most, so that the first of them does not wait for
/// an endless stream behind it.
const TOGETHER: usize = 256;

#[derive(Debug)]
pub(super) struct Writer {
    queue: Mutex<Option<mpsc::Sender<Job>>>,
    task: Mutex<Option<JoinHandle<()>>>,
    sender: mpsc::WeakSender<Job>,
}

#[derive(Debug)]
struct Job {
    changes: Vec<Change>,
    done: oneshot::Sender<Result<(), StoreError>>,
}

impl Writer {
    pub(super) fn start(connection: SqliteConnection) -> Self {
        let (sender, jobs) = mpsc::channel(QUEUE);
        let task = tokio::spawn(write_all(connection, jobs));
        Self {
            sender: sender.downgrade(),
            queue: Mutex::new(Some(sender)),
            task: Mutex::new(Some(task)),
        }
    }

    pub(super) async fn commit(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        let (done, outcome) = oneshot::channel();
        let sender = self.sender.upgrade().ok_or(StoreError::Closed)?;
        sender
            .send(Job { changes, done })
            .await
            .map_err(|_| StoreError::Closed)?;
        drop(sender);
        outcome.await.map_err(|_| StoreError::Closed)?
    }

    /// Writes what is queued, then lets go of the file.
    pub(super) async fn close(&self) {
        self.queue.lock().await.take();
        if let Some(task) = self.task.lock().await.take()
            && task.await.is_err()
        {
            tracing::error!("the store's writer ended early");
        }
    }
}

async fn write_all(mut connection: SqliteConnection, mut jobs: mpsc::Receiver<Job>) {
    while let Some(first) = jobs.recv().await {
        let mut waiting = vec![first];
        while waiting.len() < TOGETHER
            && let Ok(job) = jobs.try_recv()
        {
            waiting.push(job);
        }
        write_together(&mut connection, waiting).await;
    }
    if let Err(error) = connection.close().await {
        tracing::warn!(%error, "the database did not close cleanly");
    }
}

async fn write_together(connection: &mut SqliteConnection, jobs: Vec<Job>) {
    let outcomes = match jobs.as_slice() {
        [one] => vec![write_alone(connection, &one.changes).await],
        many => match write_shared(connection, many).await {
            Ok(outcomes) => outcomes,
            // A link that is checked only at the end is broken; whose it is shows when each one
            // stands alone.
            Err(StoreError::Conflict { .. }) => {
                let mut outcomes = Vec::with_capacity(many.len());
                for job in many {
                    outcomes.push(write_alone(connection, &job.changes).await);
                }
                outcomes
            }
            Err(error) => many.iter().map(|_| Err(error.clone())).collect(),
        },
    };
    for (job, outcome) in jobs.into_iter().zip(outcomes) {
        // The caller may have gone; what was committed stays committed.
        drop(job.done.send(outcome));
    }
}

async fn write_alone(
    connection: &mut SqliteConnection,
    changes: &[Change],
) -> Result<(), StoreError> {
    begin(connection).await?;
    let written = apply(connection, changes).await;
    end(connection, written).await
}

/// Writes the jobs in one transaction: what became of each, or why nothing of any is there.
async fn write_shared(
    connection: &mut SqliteConnection,
    jobs: &[Job],
) -> Result<Vec<Result<(), StoreError>>, StoreError> {
    begin(connection).await?;
    let mut outcomes = Ok(Vec::with_capacity(jobs.len()));
    for job in jobs {
        let written = write_one(connection, &job.changes).await;
        outcomes = outcomes.and_then(|mut outcomes| {
            outcomes.push(written?);
            Ok(outcomes)
        });
        if outcomes.is_err() {
            break;
        }
    }
    end(connection, outcomes).await
}

/// Ends the transaction: by a commit if all went well, else so that the next one starts clean.
async fn end<T>(
    connection: &mut SqliteConnection,
    written: Result<T, StoreError>,
) -> Result<T, StoreError> {
    let ended = match written {
        Ok(value) => run(connection, "COMMIT").await.map(|()| value),
        Err(error) => Err(error),
    };
    if ended.is_err() {
        drop(run(connection, "ROLLBACK").await);
    }
    ended
}

/// What became of one job. The outer error means that its savepoint, and with it the whole
/// transaction, is gone: a full disk ends more than one statement.
async fn write_one(
    connection: &mut SqliteConnection,
    changes: &[Change],
) -> Result<Result<(), StoreError>, StoreError> {
    run(connection, "SAVEPOINT one_call").await?;
    let outcome = apply(connection, changes).await;
    if outcome.is_err() {
        run(connection, "ROLLBACK TO one_call").await?;
    }
    run(connection, "RELEASE one_call").await?;
    Ok(outcome)
}

/// Begins to write. `SQLite`'s own wait covers nearly all cases; a few kinds of "busy" come back
/// at once, so those are tried again here.
async fn begin(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let give_up = Instant::now() + BUSY_TIMEOUT;
    loop {
        match run(connection, "BEGIN IMMEDIATE").await {
            Err(StoreError::Busy { .. }) if Instant::now() < give_up => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            outcome => return outcome,
        }
    }
}

async fn run(connection: &mut SqliteConnection, sql: &'static str) -> Result<(), StoreError> {
    sqlx::query(sql)
        .execute(connection)
        .await
        .map(drop)
        .map_err(|error| query_error(&error))
}
