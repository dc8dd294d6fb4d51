//! The child process of an extraction: limits its own memory and time, enters its sandbox, reads one
//! file's content from standard input, writes one response. The response follows a record separator, so that
//! nothing else on the same pipe can be taken for it. When standard input ends, the parent is gone
//! and the child exits.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::thread;

use serde::{Deserialize, Serialize};

use super::document_file::read_content;
use crate::{
    DocumentFormat, ExtractError, ExtractLimits, ExtractedDocument,
    sandbox::{self, SANDBOX_NOTE},
};

/// Starts the response; it cannot occur inside JSON.
pub(crate) const RESPONSE_MARK: u8 = 0x1e;
/// Parsers recurse; a page of nested forms must not overflow the stack.
const STACK_BYTES: usize = 64 << 20;
/// The thread that waits for the end of standard input needs almost no stack.
const LISTENER_STACK_BYTES: usize = 128 << 10;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChildResponse {
    Read(Box<ExtractedDocument>),
    Failed(ExtractError),
}

/// The job of the child, passed as its last four arguments.
#[derive(Debug)]
pub(crate) struct ChildRequest {
    pub(crate) limits: ExtractLimits,
    pub(crate) format: Option<DocumentFormat>,
    /// The bytes of content that follow on standard input.
    pub(crate) bytes: u64,
    /// The file name, which may indicate the format.
    pub(crate) name: String,
}

impl ChildRequest {
    /// Encodes the job as arguments.
    pub(crate) fn arguments(&self) -> Result<[OsString; 4], ExtractError> {
        let limits = serde_json::to_string(&self.limits).map_err(|error| ExtractError::Io {
            reason: error.to_string(),
        })?;
        let format = self.format.map_or("-", DocumentFormat::name);
        Ok([
            limits.into(),
            format.into(),
            self.bytes.to_string().into(),
            self.name.clone().into(),
        ])
    }

    fn parse(arguments: &[OsString]) -> Option<Self> {
        let [.., limits, format, bytes, name] = arguments else {
            return None;
        };
        Some(Self {
            limits: serde_json::from_str(limits.to_str()?).ok()?,
            format: DocumentFormat::from_name(format.to_str()?),
            bytes: bytes.to_str()?.parse().ok()?,
            name: name.to_string_lossy().into_owned(),
        })
    }

    /// Reads the content and extracts it.
    fn run(&self) -> Result<ExtractedDocument, ExtractError> {
        self.limits.check_size(self.bytes)?;
        let mut content = Vec::with_capacity(usize::try_from(self.bytes).unwrap_or(0));
        io::stdin()
            .lock()
            .take(self.bytes)
            .read_to_end(&mut content)?;
        if (content.len() as u64) < self.bytes {
            return Err(ExtractError::Io {
                reason: "it became shorter while it was being read".to_owned(),
            });
        }
        // Without the listener there is still the time limit.
        let _ = thread::Builder::new()
            .stack_size(LISTENER_STACK_BYTES)
            .spawn(exit_when_stdin_closes);
        read_content(&content, &self.name, self.format, &self.limits)
    }
}

/// The entry point of the hidden subcommand; the last four arguments are the job.
pub fn child_main(arguments: &[OsString]) -> ExitCode {
    let Some(job) = ChildRequest::parse(arguments) else {
        return ExitCode::from(2);
    };
    apply_process_limits(&job.limits);
    let missing = sandbox::enter();
    if !missing.is_empty() {
        // The parent logs it; a child whose standard error is closed works on.
        let _ = writeln!(io::stderr(), "{SANDBOX_NOTE}: {}", missing.join("; "));
    }
    let work = thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || job.run());
    let read = work.map_err(ExtractError::from).and_then(|work| {
        work.join()
            .unwrap_or_else(|_| Err(ExtractError::broken("the reader stopped unexpectedly")))
    });
    let answer = match read {
        Ok(document) => ChildResponse::Read(Box::new(document)),
        Err(error) => ChildResponse::Failed(error),
    };
    let Ok(json) = serde_json::to_vec(&answer) else {
        return ExitCode::FAILURE;
    };
    let mut out = io::stdout().lock();
    let written = out
        .write_all(&[b'\n', RESPONSE_MARK])
        .and_then(|()| out.write_all(&json))
        .and_then(|()| out.write_all(b"\n"))
        .and_then(|()| out.flush());
    if written.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Waits for the end of standard input, then ends this process and its children.
#[expect(
    clippy::exit,
    reason = "nobody is left to answer to, and the work can't be asked to stop"
)]
fn exit_when_stdin_closes() {
    let mut input = io::stdin().lock();
    let mut room = [0; 64];
    loop {
        match input.read(&mut room) {
            Ok(1..) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => break,
        }
    }
    #[cfg(unix)]
    {
        use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group};
        // Only its own process group: if started by hand, the group has other processes in it.
        if getpgrp() == getpid() {
            let _ = kill_current_process_group(Signal::KILL);
        }
    }
    std::process::exit(1)
}

/// Limits memory and CPU time of this process and disables core dumps.
#[cfg(unix)]
fn apply_process_limits(limits: &ExtractLimits) {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let most = |value: u64| Rlimit {
        current: Some(value),
        maximum: Some(value),
    };
    // A system without such a limit still has the parent's deadline.
    let _ = setrlimit(Resource::As, most(limits.memory));
    let _ = setrlimit(Resource::Cpu, most(limits.time.as_secs() + 10));
    let _ = setrlimit(Resource::Core, most(0));
}

#[cfg(not(unix))]
fn apply_process_limits(_: &ExtractLimits) {}
