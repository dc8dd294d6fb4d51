//! Runs one process from start to exit: without a shell, in its own process group that is killed
//! with it. Its output is read to the end but only partly stored.

use std::{collections::VecDeque, ffi::OsString, path::PathBuf, process::Stdio, time::Duration};

use deliberate_core::ProcessGroup;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::{Child, Command},
};

use super::ProcessError;

/// The number of characters stored from the end of a command's output.
const TAIL_CHARS: usize = 5_000;

/// The maximum bytes of those characters.
const TAIL_BYTES: usize = TAIL_CHARS * 4;

/// The maximum bytes of a script's output.
pub(super) const MAX_OUTPUT_BYTES: usize = 64 << 10;

/// The time that the pipes may stay open after the process has exited: a process that it started
/// may have left the group.
const PIPE_CLOSE_GRACE: Duration = Duration::from_secs(1);

/// A process to run.
pub(super) struct ProcessSpec {
    /// The name in messages.
    pub(super) label: String,
    /// The program and its arguments.
    pub(super) argv: Vec<String>,
    pub(super) working_dir: PathBuf,
    /// All environment variables of the process.
    pub(super) environment: Vec<(OsString, OsString)>,
    /// The content of its standard input.
    pub(super) input: Vec<u8>,
    pub(super) timeout: Duration,
    /// Whether the start of its standard output is stored separately.
    pub(super) keep_output: bool,
}

/// The exit code and output of a finished process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessOutput {
    /// The exit code; `None` if a signal ended the process.
    pub code: Option<i32>,
    /// The last 5,000 characters of its output.
    pub tail: String,
    /// The standard output, if `keep_output` was set.
    pub(super) output: Vec<u8>,
    /// Whether the standard output exceeded the limit.
    pub(super) overflowed: bool,
}

impl ProcessOutput {
    /// Returns whether the exit code is 0.
    pub fn succeeded(&self) -> bool {
        self.code == Some(0)
    }
}

/// Runs a process until it exits or times out.
pub(super) async fn run(job: ProcessSpec) -> Result<ProcessOutput, ProcessError> {
    let ProcessSpec {
        label: what,
        argv: words,
        working_dir: folder,
        environment,
        input,
        timeout: time,
        keep_output,
    } = job;
    let Some((program, arguments)) = words.split_first() else {
        let why = std::io::ErrorKind::InvalidInput.into();
        return Err(ProcessError::Start { what, why });
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .envs(environment)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(|why| ProcessError::Start {
        what: what.clone(),
        why,
    })?;
    // Dropping the group kills every process in it, however this function returns.
    let group = ProcessGroup::new(child.id());
    let finished =
        tokio::time::timeout(time, wait_for_exit(&mut child, &group, &input, keep_output)).await;
    match finished {
        Ok(Ok(finished)) => Ok(finished),
        Ok(Err(why)) => Err(ProcessError::Start { what, why }),
        Err(_) => {
            drop(group);
            // Reaps the process; it was killed, so this does not block.
            let _ = child.wait().await;
            Err(ProcessError::TimedOut { what, after: time })
        }
    }
}

async fn wait_for_exit(
    child: &mut Child,
    group: &ProcessGroup,
    input: &[u8],
    keep_output: bool,
) -> std::io::Result<ProcessOutput> {
    let mut stdin = child.stdin.take();
    let writing = async move {
        if let Some(stdin) = &mut stdin {
            // A write error is ignored: a command need not read its input.
            let _ = stdin.write_all(input).await;
            let _ = stdin.shutdown().await;
        }
    };
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let kept = tokio::sync::Mutex::new(ProcessOutputBuffer::default());
    let reading = async {
        tokio::join!(read(stdout, &kept, keep_output), read(stderr, &kept, false));
    };
    let pipes = async { tokio::join!(writing, reading) };
    tokio::pin!(pipes);
    let mut closed = false;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            _ = &mut pipes, if !closed => closed = true,
        }
    };
    group.kill();
    if !closed {
        let _ = tokio::time::timeout(PIPE_CLOSE_GRACE, pipes).await;
    }
    let mut buffer = kept.lock().await;
    Ok(ProcessOutput {
        code: status.code(),
        tail: buffer.tail(),
        output: std::mem::take(&mut buffer.output),
        overflowed: buffer.overflowed,
    })
}

/// The stored part of the output.
#[derive(Default)]
struct ProcessOutputBuffer {
    tail_bytes: VecDeque<u8>,
    output: Vec<u8>,
    overflowed: bool,
}

impl ProcessOutputBuffer {
    fn push(&mut self, bytes: &[u8], as_output: bool) {
        if as_output {
            let room = MAX_OUTPUT_BYTES.saturating_sub(self.output.len());
            self.overflowed |= bytes.len() > room;
            self.output.extend(bytes.iter().take(room));
            return;
        }
        self.tail_bytes.extend(bytes);
        let over = self.tail_bytes.len().saturating_sub(TAIL_BYTES);
        self.tail_bytes.drain(..over);
    }

    fn tail(&mut self) -> String {
        let text = String::from_utf8_lossy(self.tail_bytes.make_contiguous());
        let skipped = text.chars().count().saturating_sub(TAIL_CHARS);
        text.chars().skip(skipped).collect()
    }
}

async fn read(
    from: Option<impl AsyncRead + Unpin>,
    kept: &tokio::sync::Mutex<ProcessOutputBuffer>,
    as_output: bool,
) {
    let Some(mut from) = from else { return };
    let mut buffer = vec![0; 4_096];
    while let Ok(read) = from.read(&mut buffer).await {
        if read == 0 {
            break;
        }
        kept.lock()
            .await
            .push(buffer.get(..read).unwrap_or_default(), as_output);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_much_output_is_kept() {
        let mut buffer = ProcessOutputBuffer::default();
        for at in 0..100_000_u32 {
            buffer.push(format!("é{at}\n").as_bytes(), false);
            assert!(buffer.tail_bytes.len() <= TAIL_BYTES);
        }
        let tail = buffer.tail();
        assert_eq!(tail.chars().count(), TAIL_CHARS);
        assert!(tail.ends_with("é99999\n"));
        buffer.push(&vec![b'x'; MAX_OUTPUT_BYTES], true);
        assert!(!buffer.overflowed);
        buffer.push(b"y", true);
        assert!(buffer.overflowed && buffer.output.len() == MAX_OUTPUT_BYTES);
    }
}
