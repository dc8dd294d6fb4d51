//! What the engine is told by whoever starts it.

use std::path::PathBuf;

/// What the engine is told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineOptions {
    /// Where the files are.
    pub paths: LibraryPaths,
    /// What may be used up.
    pub limits: EngineLimits,
    /// The commands a gate may run: each is a program with all its arguments, and a command is run
    /// if it is one of them word by word and holds nothing that only a shell understands. An entry
    /// whose last word is `*` allows any further words: whoever writes the command then chooses
    /// them. Empty means that none are run.
    pub commands: Vec<String>,
    /// The script tools that may be run, by id; a trailing `*` stands for anything. Empty means
    /// that none are run.
    pub scripts: Vec<String>,
    /// Who judges what can't be computed, if a gate does not say.
    pub judge: GateJudgeKind,
    /// The methodology in use until someone switches; usually none, because a plain prompt's
    /// answer adds nothing that was not asked for.
    pub methodology: Option<String>,
    /// Whether clients see prompts in their menu unless a prompt or its category says otherwise.
    pub list_prompts: bool,
}

/// Where the files are. All that is read lies below one of these.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LibraryPaths {
    /// The workspace: what is created goes here. It need not exist yet.
    pub workspace: PathBuf,
    /// Folders that stand in for those of the workspace.
    pub prompts: Option<PathBuf>,
    /// Likewise.
    pub gates: Option<PathBuf>,
    /// Likewise.
    pub methodologies: Option<PathBuf>,
    /// Likewise.
    pub styles: Option<PathBuf>,
    /// Likewise.
    pub scripts: Option<PathBuf>,
}

/// What may be used up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineLimits {
    /// Bytes of a command.
    pub command_bytes: usize,
    /// Bytes of an answer to a step.
    pub answer_bytes: usize,
    /// Bytes that a prompt may render to.
    pub rendered_bytes: usize,
    /// Steps of a chain, nested ones counted.
    pub steps: usize,
    /// How often one step may be repeated.
    pub repetitions: u32,
    /// How deep prompts may refer to prompts, and chains to chains.
    pub depth: usize,
    /// Steps that a template may take.
    pub fuel: u64,
    /// Ended runs that are kept of each chain.
    pub max_runs: u32,
    /// Days after which an open run that nobody goes on with is forgotten.
    pub run_idle_days: u32,
    /// Versions that are kept of each prompt, gate and methodology.
    pub max_versions: usize,
    /// Bytes of a file in the library.
    pub file_bytes: u64,
    /// Files in the library.
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

/// Who judges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GateJudgeKind {
    /// Whoever answered, with a verdict beside the answer.
    #[default]
    Client,
    /// The server's model; without one, the client's, asked separately.
    Model,
}
