//! Extraction in child processes: a thread cannot be stopped at its deadline and shares its
//! memory with everything else; a process can, and does not. So many at once and no more.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::sync::Semaphore;

use crate::child::{Answer, Job, MARK, read_file, size_of};
use crate::{Document, ExtractError, Format, Limits};

/// What the child may take to start and to write its answer, beyond its time.
const GRACE: Duration = Duration::from_secs(5);
/// How much of the child's last words is kept.
const LAST_WORDS: u64 = 4_096;

/// Runs extractions, a few at a time.
#[derive(Debug, Clone)]
pub struct Workshop {
    child: Option<Arc<Child>>,
    limits: Limits,
    benches: Arc<Semaphore>,
}

#[derive(Debug)]
struct Child {
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl Workshop {
    /// A workshop whose children are `program` with `arguments` before the job; that command
    /// must call [`crate::child_main`] with all its arguments.
    pub fn new(program: PathBuf, arguments: Vec<OsString>, limits: Limits, at_once: usize) -> Self {
        Self {
            child: Some(Arc::new(Child { program, arguments })),
            limits,
            benches: Arc::new(Semaphore::new(at_once.max(1))),
        }
    }

    /// A workshop in this process, for tests and for use as a library: a document that hangs its
    /// parser holds a thread until it ends.
    pub fn in_process(limits: Limits) -> Self {
        Self {
            child: None,
            limits,
            benches: Arc::new(Semaphore::new(2)),
        }
    }

    /// The limits of each document.
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Reads one file. Dropping the future stops the child.
    pub async fn extract(
        &self,
        file: &Path,
        format: Option<Format>,
    ) -> Result<Document, ExtractError> {
        let _bench = self.benches.acquire().await.map_err(|_| ExtractError::Io {
            reason: "the workshop is closed".to_owned(),
        })?;
        let job = Job {
            limits: self.limits.clone(),
            format,
            file: file.to_path_buf(),
        };
        match &self.child {
            Some(child) => in_child(child, &job).await,
            None => here(job).await,
        }
    }
}

async fn here(job: Job) -> Result<Document, ExtractError> {
    let seconds = job.limits.time.as_secs();
    let time = job.limits.time + GRACE;
    let work = tokio::task::spawn_blocking(move || read_file(&job.file, job.format, &job.limits));
    match tokio::time::timeout(time, work).await {
        Ok(Ok(read)) => read,
        Ok(Err(_)) => Err(ExtractError::broken("the reader stopped on it")),
        Err(_) => Err(ExtractError::TookTooLong { seconds }),
    }
}

async fn in_child(child: &Child, job: &Job) -> Result<Document, ExtractError> {
    let file = job.file.clone();
    let size = tokio::task::spawn_blocking(move || size_of(&file))
        .await
        .map_err(|error| ExtractError::Io {
            reason: error.to_string(),
        })??;
    job.limits.check_size(size)?;
    let mut command = Command::new(&child.program);
    command
        .args(&child.arguments)
        .args(job.arguments()?)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    // The child reads hostile files: it is given no keys, and only the usual programs.
    #[cfg(unix)]
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin");
    let mut running = command.spawn().map_err(|error| ExtractError::Io {
        reason: format!("the reader could not be started: {error}"),
    })?;
    let most = (job.limits.text_bytes as u64).saturating_mul(3) + 16_000_000;
    let (out, err) = (running.stdout.take(), running.stderr.take());
    let talk = async {
        let (out, err) = tokio::join!(heard(out, most), heard(err, LAST_WORDS));
        let _ = running.wait().await;
        (out, err)
    };
    let said = tokio::time::timeout(job.limits.time + GRACE, talk).await;
    if let Ok((out, err)) = said {
        return answer(&out, &err, most);
    }
    let _ = running.start_kill();
    let _ = running.wait().await;
    Err(ExtractError::TookTooLong {
        seconds: job.limits.time.as_secs(),
    })
}

/// What came through a pipe, up to a bound; the rest is drained, so that the child is not held.
async fn heard(pipe: Option<impl AsyncRead + Unpin>, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        let _ = (&mut pipe).take(most).read_to_end(&mut bytes).await;
        let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    }
    bytes
}

/// The child's answer, or why there is none.
fn answer(out: &[u8], err: &[u8], most: u64) -> Result<Document, ExtractError> {
    let start = out.iter().rposition(|byte| *byte == MARK);
    let line = start
        .and_then(|start| out.get(start + 1..))
        .and_then(|rest| rest.split(|byte| *byte == b'\n').next());
    match line.map(serde_json::from_slice::<Answer>) {
        Some(Ok(Answer::Read(document))) => Ok(*document),
        Some(Ok(Answer::Failed(error))) => Err(error),
        _ if out.len() as u64 >= most => Err(ExtractError::TooLarge {
            what: "text in bytes".to_owned(),
            size: out.len() as u64,
            limit: most,
        }),
        _ => {
            let words = String::from_utf8_lossy(err);
            if words.contains("memory allocation of") {
                Err(ExtractError::TooMuchMemory)
            } else {
                Err(ExtractError::broken("the reader stopped on it"))
            }
        }
    }
}
