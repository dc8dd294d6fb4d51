//! A bounded pool of child processes for extraction. A thread cannot be stopped at its deadline and
//! shares its memory with everything else; a process can be stopped and does not.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Once};
use std::time::Duration;

use deliberate_core::ProcessGroup;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, Command};
use tokio::sync::Semaphore;

use super::child_process::{ChildRequest, ChildResponse, RESPONSE_MARK};
use crate::{
    DocumentFile, DocumentFormat, ExtractError, ExtractLimits, ExtractedDocument,
    sandbox::SANDBOX_NOTE,
};

/// The time that a child may take to start and to write its response, beyond its time limit.
const CHILD_GRACE: Duration = Duration::from_secs(5);
/// The bytes of the child's standard error that are kept.
const MAX_STDERR_BYTES: u64 = 4_096;
const COPY_BUFFER_BYTES: usize = 256 << 10;

/// Runs a bounded number of extractions at once.
#[derive(Debug, Clone)]
pub struct ExtractorPool {
    child: Option<Arc<ChildCommand>>,
    limits: ExtractLimits,
    permits: Arc<Semaphore>,
}

#[derive(Debug)]
struct ChildCommand {
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl ExtractorPool {
    /// A pool whose children run `program` with `arguments` followed by the job; that command must
    /// call [`super::child_main`] with all its arguments.
    pub fn new(
        program: PathBuf,
        arguments: Vec<OsString>,
        limits: ExtractLimits,
        at_once: usize,
    ) -> Self {
        Self {
            child: Some(Arc::new(ChildCommand { program, arguments })),
            limits,
            permits: Arc::new(Semaphore::new(at_once.max(1))),
        }
    }

    /// A pool in this process, for tests and for use as a library: a document that hangs its parser
    /// blocks a thread until it ends.
    pub fn in_process(limits: ExtractLimits) -> Self {
        Self {
            child: None,
            limits,
            permits: Arc::new(Semaphore::new(2)),
        }
    }

    pub const fn limits(&self) -> &ExtractLimits {
        &self.limits
    }

    /// Extracts the file at a path. Dropping the future stops the child.
    pub async fn extract(
        &self,
        file: &Path,
        format: Option<DocumentFormat>,
    ) -> Result<ExtractedDocument, ExtractError> {
        let path = file.to_path_buf();
        let open = tokio::task::spawn_blocking(move || DocumentFile::open(&path)).await;
        let open = open.map_err(|error| ExtractError::Io {
            reason: error.to_string(),
        })??;
        self.read(open, format).await
    }

    /// Extracts an open file. Dropping the future stops the child.
    pub async fn read(
        &self,
        file: DocumentFile,
        format: Option<DocumentFormat>,
    ) -> Result<ExtractedDocument, ExtractError> {
        self.limits.check_size(file.bytes())?;
        let _bench = self.permits.acquire().await.map_err(|_| ExtractError::Io {
            reason: "the extractor pool is closed".to_owned(),
        })?;
        match &self.child {
            Some(child) => extract_in_child(child, &self.limits, file, format).await,
            None => extract_in_process(self.limits.clone(), file, format).await,
        }
    }
}

async fn extract_in_process(
    limits: ExtractLimits,
    file: DocumentFile,
    format: Option<DocumentFormat>,
) -> Result<ExtractedDocument, ExtractError> {
    let seconds = limits.time.as_secs();
    let time = limits.time + CHILD_GRACE;
    let work = tokio::task::spawn_blocking(move || file.read(format, &limits));
    match tokio::time::timeout(time, work).await {
        Ok(Ok(read)) => read,
        Ok(Err(_)) => Err(ExtractError::broken("the reader stopped unexpectedly")),
        Err(_) => Err(ExtractError::TookTooLong { seconds }),
    }
}

/// A running child. Dropping it kills the child and its descendants.
struct RunningExtractor {
    group: ProcessGroup,
    child: tokio::process::Child,
}

impl RunningExtractor {
    fn start(child: &ChildCommand, job: &ChildRequest) -> Result<Self, ExtractError> {
        let mut command = Command::new(&child.program);
        command
            .args(&child.arguments)
            .args(job.arguments()?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        // The child reads hostile files: it gets no keys and only the default PATH. Its own process group
        // allows it to be killed together with its descendants.
        #[cfg(unix)]
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .process_group(0);
        let child = command.spawn().map_err(|error| ExtractError::Io {
            reason: format!("the reader could not be started: {error}"),
        })?;
        Ok(Self {
            group: ProcessGroup::new(child.id()),
            child,
        })
    }
}

async fn extract_in_child(
    child: &ChildCommand,
    limits: &ExtractLimits,
    file: DocumentFile,
    format: Option<DocumentFormat>,
) -> Result<ExtractedDocument, ExtractError> {
    let job = ChildRequest {
        limits: limits.clone(),
        format,
        bytes: file.bytes(),
        name: file.name().to_owned(),
    };
    let mut running = RunningExtractor::start(child, &job)?;
    let most = (limits.text_bytes as u64).saturating_mul(3) + 16_000_000;
    let stdin = running.child.stdin.take();
    let (out, err) = (running.child.stdout.take(), running.child.stderr.take());
    let talk = async {
        // Kept open until the end: a child whose input ends stops.
        let (_held, out, err) = tokio::join!(
            send_file(stdin, file.into_file(), job.bytes),
            read_bounded(out, most),
            read_bounded(err, MAX_STDERR_BYTES)
        );
        // Both outputs have ended. After the wait the id of the group may belong to others.
        running.group.kill();
        let _ = running.child.wait().await;
        (out, err)
    };
    match tokio::time::timeout(limits.time + CHILD_GRACE, talk).await {
        Ok((out, err)) => {
            log_sandbox_note(&err);
            parse_response(&out, &err, most)
        }
        Err(_) => Err(ExtractError::TookTooLong {
            seconds: limits.time.as_secs(),
        }),
    }
}

/// Sends the file's content to the child. The pipe stays open if all of it was sent; closing it
/// tells the child that the file became shorter.
async fn send_file(pipe: Option<ChildStdin>, file: File, bytes: u64) -> Option<ChildStdin> {
    let mut pipe = pipe?;
    let file = tokio::fs::File::from_std(file).take(bytes);
    let mut file = BufReader::with_capacity(COPY_BUFFER_BYTES, file);
    let sent = tokio::io::copy_buf(&mut file, &mut pipe).await.ok()?;
    pipe.flush().await.ok()?;
    (sent == bytes).then_some(pipe)
}

/// Reads a pipe up to a limit; the rest is drained, so that the child does not block.
async fn read_bounded(pipe: Option<impl AsyncRead + Unpin>, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        let _ = (&mut pipe).take(most).read_to_end(&mut bytes).await;
        let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    }
    bytes
}

/// Logs once that the child's sandbox is incomplete.
fn log_sandbox_note(err: &[u8]) {
    static LOGGED: Once = Once::new();
    let text = String::from_utf8_lossy(err);
    if let Some(note) = text.lines().find(|line| line.starts_with(SANDBOX_NOTE)) {
        LOGGED.call_once(|| tracing::warn!("{note}"));
    }
}

/// Parses the child's response, or tells why there is none.
fn parse_response(out: &[u8], err: &[u8], most: u64) -> Result<ExtractedDocument, ExtractError> {
    let start = out.iter().rposition(|byte| *byte == RESPONSE_MARK);
    let line = start
        .and_then(|start| out.get(start + 1..))
        .and_then(|rest| rest.split(|byte| *byte == b'\n').next());
    match line.map(serde_json::from_slice::<ChildResponse>) {
        Some(Ok(ChildResponse::Read(document))) => Ok(*document),
        Some(Ok(ChildResponse::Failed(error))) => Err(error),
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
                Err(ExtractError::broken("the reader stopped unexpectedly"))
            }
        }
    }
}
