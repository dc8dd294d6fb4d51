//! The options of the engine, set by the program that starts it.

use std::path::PathBuf;

/// The options of the engine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineOptions {
    pub paths: LibraryPaths,
    pub limits: EngineLimits,
    /// The commands that a gate may run. Each entry is a program with all its arguments; a command
    /// is allowed if it equals an entry word by word and contains no shell syntax. An entry whose
    /// last word is `*` allows any further words, which the author of the command then chooses. If
    /// empty, no commands are run.
    pub commands: Vec<String>,
    /// The script tools that may be run, by id; a trailing `*` matches anything. If empty, no
    /// scripts are run.
    pub scripts: Vec<String>,
    /// Whether calls may write scripts into the workspace. An allowed command may run what it finds
    /// there, now or after the operator has allowed one.
    pub caller_scripts: bool,
    /// The judge of criteria that code cannot check, for gates that specify none.
    pub judge: GateJudgeKind,
    /// The active methodology until it is switched. Usually none, because a plain prompt should
    /// add nothing that was not requested.
    pub methodology: Option<String>,
    /// Whether MCP clients list prompts, unless a prompt or its category says otherwise.
    pub list_prompts: bool,
}

/// The folders of the library. Every file that is read is inside one of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LibraryPaths {
    /// The workspace, where new items are created. It need not exist yet.
    pub workspace: PathBuf,
    /// Replaces the prompts folder of the workspace.
    pub prompts: Option<PathBuf>,
    /// Replaces the gates folder of the workspace.
    pub gates: Option<PathBuf>,
    /// Replaces the methodologies folder of the workspace.
    pub methodologies: Option<PathBuf>,
    /// Replaces the styles folder of the workspace.
    pub styles: Option<PathBuf>,
    /// Replaces the scripts folder of the workspace.
    pub scripts: Option<PathBuf>,
}

/// The limits of the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineLimits {
    /// The maximum bytes of a command.
    pub command_bytes: usize,
    /// The maximum bytes of an answer to a step.
    pub answer_bytes: usize,
    /// The maximum bytes of a rendered prompt.
    pub rendered_bytes: usize,
    /// The maximum steps of a chain, including nested ones.
    pub steps: usize,
    /// The maximum repetitions of one step.
    pub repetitions: u32,
    /// The maximum depth of prompts that refer to prompts, and of chains in chains.
    pub depth: usize,
    /// The maximum instructions that rendering a template may execute.
    pub fuel: u64,
    /// The number of finished runs that are stored for each chain.
    pub max_runs: u32,
    /// The days without activity after which an open run is deleted.
    pub run_idle_days: u32,
    /// The number of stored versions of each prompt, gate and methodology.
    pub max_versions: usize,
    /// The maximum bytes of a file in the library.
    pub file_bytes: u64,
    /// The maximum number of files in the library.
    pub files: usize,
}

impl Default for EngineLimits {
    fn default() -> Self {
        Self {
            command_bytes: 1 << 20,
            answer_bytes: 1 << 20,
            rendered_bytes: 4 << 20,
            steps: 500,
            repetitions: 100,
            depth: 10,
            fuel: 2_000_000,
            max_runs: 1_000,
            run_idle_days: 30,
            max_versions: 50,
            file_bytes: 1 << 20,
            files: 20_000,
        }
    }
}

/// The judge of criteria that code cannot check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GateJudgeKind {
    /// The client's model, which sends a verdict with its answer.
    #[default]
    Client,
    /// The server's model; if there is none, the client's model in a separate request.
    Model,
}
