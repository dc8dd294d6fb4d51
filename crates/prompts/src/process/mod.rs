//! Runs commands and scripts that the operator allowed, and nothing else. No call, file or model
//! can widen what is allowed. Every run has an end, a bounded output, few variables and a place
//! in the workspace or in the script's own folder. Knows nothing of gates beyond their checks.

mod allowlist;
mod child_process;
mod command_line;
mod environment;
mod gate_checks;
mod path_containment;
mod script;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::sync::Semaphore;

pub use child_process::ProcessOutput;
pub use command_line::{CommandLineError, split_command};
pub use script::ScriptOutput;

use crate::model::{ShellCheck, ShellCheckPreset};
use allowlist::{CommandAllowlist, ScriptAllowlist};
use child_process::ProcessSpec;

/// How many run at once.
const MAX_CONCURRENT: usize = 4;

/// The shortest and the longest a command may be given.
const MIN_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_TIMEOUT: Duration = Duration::from_mins(10);

/// Why something was not run, or came to no end.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// It is not allowed.
    #[error(
        "`{what}` is not allowed here; the operator can allow it in the settings of the prompt engine ({list})"
    )]
    NotAllowed {
        /// What.
        what: String,
        /// The list that does not name it.
        list: &'static str,
    },
    /// It can't be run without a shell.
    #[error("`{what}` can't be run: {why}")]
    InvalidCommandLine {
        /// What.
        what: String,
        /// Why.
        #[source]
        why: CommandLineError,
    },
    /// A person must have named it.
    #[error(
        "the script `{0}` asks for confirmation: the operator has to name it in full in `prompts.scripts`, a `*` is not enough"
    )]
    NeedsFullName(String),
    /// It is switched off.
    #[error("the script `{0}` is switched off in its file")]
    Disabled(String),
    /// A path leads out of the folder it must stay in, or to nothing.
    #[error("{what} `{path}` is not inside {inside}")]
    OutsideFolder {
        /// What the path is.
        what: &'static str,
        /// The path.
        path: String,
        /// Where it should be.
        inside: &'static str,
    },
    /// Nothing is known to run such a file.
    #[error(
        "the script `{0}` says nothing about what runs it; set `runtime` to python, node or shell"
    )]
    NoRuntime(String),
    /// The input of a script does not fit.
    #[error("the input of the script `{0}` does not fit: {1}")]
    InvalidInput(String, String),
    /// It could not be started.
    #[error("`{what}` could not be started: {why}")]
    Start {
        /// What.
        what: String,
        /// Why.
        #[source]
        why: std::io::Error,
    },
    /// It took too long and was ended.
    #[error("`{what}` took longer than {} s and was ended", .after.as_secs())]
    TimedOut {
        /// What.
        what: String,
        /// How long it was given.
        after: Duration,
    },
    /// A script failed.
    #[error("the script `{id}` failed ({}): {said}", exit_code_text(*.code))]
    Failed {
        /// Which.
        id: String,
        /// Its exit code.
        code: Option<i32>,
        /// The end of what it said.
        said: String,
    },
    /// A script said more than is kept.
    #[error("the script `{0}` wrote more than {most} KiB", most = child_process::MAX_OUTPUT_BYTES / 1024)]
    OutputTooLarge(String),
}

/// An exit code in words.
fn exit_code_text(code: Option<i32>) -> String {
    code.map_or_else(
        || "ended by a signal".to_owned(),
        |code| format!("exit code {code}"),
    )
}

/// Runs what is allowed. Cheap to clone; the limit on how many run at once is shared.
#[derive(Debug, Clone)]
pub struct ProcessRunner {
    commands: Arc<CommandAllowlist>,
    scripts: Arc<ScriptAllowlist>,
    workspace: Arc<Path>,
    permits: Arc<Semaphore>,
}

impl ProcessRunner {
    /// A runner that runs these and nothing else, in that folder.
    pub fn new(commands: &[String], scripts: &[String], workspace: impl Into<PathBuf>) -> Self {
        Self {
            commands: Arc::new(CommandAllowlist::new(commands)),
            scripts: Arc::new(ScriptAllowlist::new(scripts)),
            workspace: workspace.into().into(),
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT)),
        }
    }

    /// Whether a command may be run, and as which words.
    pub fn check_command(&self, command: &str) -> Result<Vec<String>, ProcessError> {
        self.commands.check(command)
    }

    /// Runs a command on an answer, which it finds on its standard input. Dropping the future
    /// ends the command and everything it started.
    pub async fn run_command(
        &self,
        check: &ShellCheck,
        answer: &str,
    ) -> Result<ProcessOutput, ProcessError> {
        let words = self.check_command(&check.command)?;
        let folder = path_containment::resolve_inside(
            &self.workspace,
            check.working_dir.as_deref(),
            "the working directory",
            "the workspace",
        )
        .await?;
        let _place = self.permits.acquire().await;
        child_process::run(ProcessSpec {
            label: display_command(&check.command),
            argv: words,
            working_dir: folder,
            environment: environment::child_environment(&check.env, &[]),
            input: answer.as_bytes().to_vec(),
            timeout: timeout_for(check),
            keep_output: false,
        })
        .await
    }
}

/// How long a command may take.
fn timeout_for(check: &ShellCheck) -> Duration {
    let usual = match check.preset {
        Some(ShellCheckPreset::Fast) => Duration::from_secs(30),
        Some(ShellCheckPreset::Full) | None => Duration::from_mins(5),
        Some(ShellCheckPreset::Extended) => MAX_TIMEOUT,
    };
    check
        .timeout_ms
        .map_or(usual, Duration::from_millis)
        .clamp(MIN_TIMEOUT, MAX_TIMEOUT)
}

/// A command as a message shows it.
fn display_command(command: &str) -> String {
    let line = command
        .chars()
        .map(|it| if it.is_control() { ' ' } else { it });
    let mut shown: String = line.take(120).collect();
    if command.chars().count() > 120 {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeout_in_ms(timeout_ms: Option<u64>, preset: Option<ShellCheckPreset>) -> u64 {
        timeout_for(&ShellCheck {
            timeout_ms,
            preset,
            ..ShellCheck::default()
        })
        .as_secs()
    }

    #[test]
    fn time_comes_from_the_check_or_its_preset_within_bounds() {
        assert_eq!(timeout_in_ms(None, None), 300);
        assert_eq!(timeout_in_ms(None, Some(ShellCheckPreset::Fast)), 30);
        assert_eq!(timeout_in_ms(None, Some(ShellCheckPreset::Full)), 300);
        assert_eq!(timeout_in_ms(None, Some(ShellCheckPreset::Extended)), 600);
        assert_eq!(
            timeout_in_ms(Some(45_000), Some(ShellCheckPreset::Fast)),
            45
        );
        assert_eq!(timeout_in_ms(Some(1), None), 1);
        assert_eq!(timeout_in_ms(Some(u64::MAX), None), 600);
    }
}
