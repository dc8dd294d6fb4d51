//! Runs commands and scripts that the operator allowed, and nothing else. No call, file or model
//! can widen what is allowed. Every run has an end, a bounded output, few variables and a place
//! in the workspace or in the script's own folder. Knows nothing of gates beyond their checks.

mod allow;
mod checks;
mod environment;
mod place;
mod process;
mod script;
mod words;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::sync::Semaphore;

pub use process::Finished;
pub use script::ScriptOutput;
pub use words::{NotPlain, split};

use crate::model::{Preset, ShellCheck};
use allow::{Commands, Scripts};
use process::Job;

/// How many run at once.
const AT_ONCE: usize = 4;

/// The shortest and the longest a command may be given.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(10);

/// Why something was not run, or came to no end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
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
    NotPlain {
        /// What.
        what: String,
        /// Why.
        #[source]
        why: NotPlain,
    },
    /// A person must have named it.
    #[error(
        "the script `{0}` asks for confirmation: the operator has to name it in full in `prompts.scripts`, a `*` is not enough"
    )]
    NeedsItsName(String),
    /// It is switched off.
    #[error("the script `{0}` is switched off in its file")]
    Disabled(String),
    /// A path leads out of the folder it must stay in, or to nothing.
    #[error("{what} `{path}` is not inside {inside}")]
    Outside {
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
    Input(String, String),
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
    #[error("the script `{id}` failed ({}): {said}", ending(*.code))]
    Failed {
        /// Which.
        id: String,
        /// Its exit code.
        code: Option<i32>,
        /// The end of what it said.
        said: String,
    },
    /// A script said more than is kept.
    #[error("the script `{0}` wrote more than {most} KiB", most = process::MOST_OUTPUT / 1024)]
    TooMuch(String),
}

/// An exit code in words.
fn ending(code: Option<i32>) -> String {
    code.map_or_else(
        || "ended by a signal".to_owned(),
        |code| format!("exit code {code}"),
    )
}

/// Runs what is allowed. Cheap to clone; the limit on how many run at once is shared.
#[derive(Debug, Clone)]
pub struct Runner {
    commands: Arc<Commands>,
    scripts: Arc<Scripts>,
    workspace: Arc<Path>,
    places: Arc<Semaphore>,
}

impl Runner {
    /// A runner that runs these and nothing else, in that folder.
    pub fn new(commands: &[String], scripts: &[String], workspace: impl Into<PathBuf>) -> Self {
        Self {
            commands: Arc::new(Commands::new(commands)),
            scripts: Arc::new(Scripts::new(scripts)),
            workspace: workspace.into().into(),
            places: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Whether a command may be run, and as which words.
    pub fn allowed(&self, command: &str) -> Result<Vec<String>, RunError> {
        self.commands.check(command)
    }

    /// Runs a command on an answer, which it finds on its standard input. Dropping the future
    /// ends the command and everything it started.
    pub async fn command(&self, check: &ShellCheck, answer: &str) -> Result<Finished, RunError> {
        let words = self.allowed(&check.command)?;
        let folder = place::inside(
            &self.workspace,
            check.working_dir.as_deref(),
            "the working directory",
            "the workspace",
        )
        .await?;
        let _place = self.places.acquire().await;
        process::run(Job {
            what: shown(&check.command),
            words,
            folder,
            environment: environment::of_child(&check.env, &[]),
            input: answer.as_bytes().to_vec(),
            time: time_of(check),
            keep_output: false,
        })
        .await
    }
}

/// How long a command may take.
fn time_of(check: &ShellCheck) -> Duration {
    let usual = match check.preset {
        Some(Preset::Fast) => Duration::from_secs(30),
        Some(Preset::Full) | None => Duration::from_mins(5),
        Some(Preset::Extended) => LONGEST,
    };
    check
        .timeout_ms
        .map_or(usual, Duration::from_millis)
        .clamp(SHORTEST, LONGEST)
}

/// A command as a message shows it.
fn shown(command: &str) -> String {
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

    fn given(timeout_ms: Option<u64>, preset: Option<Preset>) -> u64 {
        time_of(&ShellCheck {
            timeout_ms,
            preset,
            ..ShellCheck::default()
        })
        .as_secs()
    }

    #[test]
    fn time_comes_from_the_check_or_its_preset_within_bounds() {
        assert_eq!(given(None, None), 300);
        assert_eq!(given(None, Some(Preset::Fast)), 30);
        assert_eq!(given(None, Some(Preset::Full)), 300);
        assert_eq!(given(None, Some(Preset::Extended)), 600);
        assert_eq!(given(Some(45_000), Some(Preset::Fast)), 45);
        assert_eq!(given(Some(1), None), 1);
        assert_eq!(given(Some(u64::MAX), None), 600);
    }
}
