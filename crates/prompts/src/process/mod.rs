//! Runs commands and scripts that the operator allowed, and nothing else. No call, file or model
//! can extend the allowlists. Every process has a timeout, a bounded output, few variables and a
//! working directory in the workspace or in the script's own folder. Knows nothing of gates except
//! their checks.

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

use deliberate_toolkit::ComputeError;
use tokio::sync::Semaphore;

pub use child_process::ProcessOutput;
pub use command_line::{CommandLineError, split_command};
pub use script::ScriptOutput;

use crate::model::{ShellCheck, ShellCheckPreset};
use allowlist::{CommandAllowlist, ScriptAllowlist};
use child_process::ProcessSpec;
use environment::{VariableSource, child_environment};

/// The maximum number of concurrent processes.
const MAX_CONCURRENT: usize = 4;

/// The shortest and the longest timeout of a command.
const MIN_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_TIMEOUT: Duration = Duration::from_mins(10);

/// A process that was not started or did not finish.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The allowlist does not contain it.
    #[error(
        "`{what}` is not allowed here; the operator can allow it in the settings of the prompt engine ({list})"
    )]
    NotAllowed {
        what: String,
        /// The setting that would allow it.
        list: &'static str,
    },
    /// The command cannot be run without a shell.
    #[error("`{what}` cannot be run: {why}")]
    InvalidCommandLine {
        what: String,
        #[source]
        why: CommandLineError,
    },
    /// The script requires confirmation, so the operator must list its full name.
    #[error(
        "the script `{0}` requires confirmation: the operator must list its full name in `prompts.scripts`; a `*` is not enough"
    )]
    NeedsFullName(String),
    #[error("the script `{0}` is disabled in its file")]
    Disabled(String),
    /// A path leads out of its folder or does not exist.
    #[error("{what} `{path}` is not inside {inside}")]
    OutsideFolder {
        /// The role of the path.
        what: &'static str,
        path: String,
        /// The folder that should contain it.
        inside: &'static str,
    },
    /// No interpreter is known for the file.
    #[error("the runtime of the script `{0}` is unknown; set `runtime` to python, node or shell")]
    NoRuntime(String),
    /// The input of a script does not match its schema.
    #[error("the input of the script `{0}` is invalid: {1}")]
    InvalidInput(String, String),
    /// The input of a script could not be checked against its schema in time.
    #[error("the input of the script `{0}` could not be checked: {1}; retry, or send less")]
    InputNotChecked(String, #[source] ComputeError),
    #[error("`{what}` could not be started: {why}")]
    Start {
        what: String,
        #[source]
        why: std::io::Error,
    },
    /// The process exceeded its timeout and was killed.
    #[error("`{what}` took longer than {} s and was stopped", .after.as_secs())]
    TimedOut { what: String, after: Duration },
    /// A script exited with an error.
    #[error("the script `{id}` failed ({}): {said}", exit_code_text(*.code))]
    Failed {
        id: String,
        code: Option<i32>,
        /// The end of its output.
        said: String,
    },
    #[error("the script `{0}` wrote more than {most} KiB", most = child_process::MAX_OUTPUT_BYTES / 1024)]
    OutputTooLarge(String),
}

/// Describes an exit code.
fn exit_code_text(code: Option<i32>) -> String {
    code.map_or_else(
        || "terminated by a signal".to_owned(),
        |code| format!("exit code {code}"),
    )
}

/// Runs allowed commands and scripts. Cheap to clone; the limit on concurrency is shared.
#[derive(Debug, Clone)]
pub struct ProcessRunner {
    commands: Arc<CommandAllowlist>,
    scripts: Arc<ScriptAllowlist>,
    workspace: Arc<Path>,
    permits: Arc<Semaphore>,
}

impl ProcessRunner {
    /// Creates a runner with these allowlists for this workspace.
    pub fn new(commands: &[String], scripts: &[String], workspace: impl Into<PathBuf>) -> Self {
        Self {
            commands: Arc::new(CommandAllowlist::new(commands)),
            scripts: Arc::new(ScriptAllowlist::new(scripts)),
            workspace: workspace.into().into(),
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT)),
        }
    }

    /// Returns the words of a command if it is allowed.
    pub fn check_command(&self, command: &str) -> Result<Vec<String>, ProcessError> {
        self.commands.check(command)
    }

    /// Runs a command with an answer on its standard input. Dropping the future kills the command
    /// and every process in its group.
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
            environment: child_environment(VariableSource::Gate, &check.env, &[]),
            input: answer.as_bytes().to_vec(),
            timeout: timeout_for(check),
            keep_output: false,
        })
        .await
    }
}

/// Returns the timeout of a command.
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

/// Formats a command for a message.
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
