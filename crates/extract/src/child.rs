//! The child's side of an extraction: binds its own memory and time, reads one file, writes one
//! answer. The answer stands behind a record separator, so that nothing else on the same pipe
//! can be taken for it.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use serde::{Deserialize, Serialize};

use crate::{Document, ExtractError, Format, Limits, extract};

/// Begins the answer; it cannot stand inside JSON.
pub(crate) const MARK: u8 = 0x1e;
/// Parsers recurse; a page of nested forms must not run into the end of the stack.
const STACK: usize = 64 << 20;

/// What the child answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    Read(Box<Document>),
    Failed(ExtractError),
}

/// What the child is to do, as its last three arguments.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) limits: Limits,
    pub(crate) format: Option<Format>,
    pub(crate) file: PathBuf,
}

impl Job {
    /// The arguments that say this job.
    pub(crate) fn arguments(&self) -> Result<[OsString; 3], ExtractError> {
        let limits = serde_json::to_string(&self.limits).map_err(|error| ExtractError::Io {
            reason: error.to_string(),
        })?;
        let format = self.format.map_or("-", Format::name);
        Ok([
            limits.into(),
            format.into(),
            self.file.clone().into_os_string(),
        ])
    }

    fn parse(arguments: &[OsString]) -> Option<Self> {
        let [.., limits, format, file] = arguments else {
            return None;
        };
        Some(Self {
            limits: serde_json::from_str(limits.to_str()?).ok()?,
            format: Format::named(format.to_str()?),
            file: file.into(),
        })
    }
}

/// What the hidden subcommand runs, given its arguments; the last three say the job.
pub fn child_main(arguments: &[OsString]) -> ExitCode {
    let Some(job) = Job::parse(arguments) else {
        return ExitCode::from(2);
    };
    bind(&job.limits);
    let work = thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || read_file(&job.file, job.format, &job.limits));
    let read = work.map_err(ExtractError::from).and_then(|work| {
        work.join()
            .unwrap_or_else(|_| Err(ExtractError::broken("the reader stopped on it")))
    });
    let answer = match read {
        Ok(document) => Answer::Read(Box::new(document)),
        Err(error) => Answer::Failed(error),
    };
    let Ok(json) = serde_json::to_vec(&answer) else {
        return ExitCode::FAILURE;
    };
    let mut out = std::io::stdout().lock();
    let written = out
        .write_all(&[b'\n', MARK])
        .and_then(|()| out.write_all(&json))
        .and_then(|()| out.write_all(b"\n"))
        .and_then(|()| out.flush());
    if written.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Reads and extracts one file, in this thread.
pub(crate) fn read_file(
    file: &Path,
    format: Option<Format>,
    limits: &Limits,
) -> Result<Document, ExtractError> {
    let size = size_of(file)?;
    limits.check_size(size)?;
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    // A file that grows while it is read is stopped one byte past the limit.
    std::fs::File::open(file)?
        .take(limits.bytes.saturating_add(1))
        .read_to_end(&mut bytes)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let format = format
        .or_else(|| Format::detect(&bytes, &name))
        .ok_or(ExtractError::UnknownFormat)?;
    extract(&bytes, format, limits)
}

/// The size of a plain file; anything else is refused, since reading it might never end.
pub(crate) fn size_of(file: &Path) -> Result<u64, ExtractError> {
    let about = std::fs::metadata(file)?;
    if !about.is_file() {
        return Err(ExtractError::Io {
            reason: "it is not a plain file".to_owned(),
        });
    }
    Ok(about.len())
}

/// Binds this process to its memory and time, and lets it leave no core behind.
#[cfg(unix)]
fn bind(limits: &Limits) {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let most = |value: u64| Rlimit {
        current: Some(value),
        maximum: Some(value),
    };
    // A system that has no such limit still has the parent's deadline.
    let _ = setrlimit(Resource::As, most(limits.memory));
    let _ = setrlimit(Resource::Cpu, most(limits.time.as_secs() + 10));
    let _ = setrlimit(Resource::Core, most(0));
}

#[cfg(not(unix))]
fn bind(_: &Limits) {}
