//! Settings of the prompt engine and of the groups of tools.

use std::path::{Path, PathBuf};

use deliberate_research::ToolListingMode;

use crate::config::{parse::IN_MEMORY, resolved::ResolvedSettings};

/// Groups of tools offered to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ToolSets {
    pub(crate) reasoning: bool,
    pub(crate) prompts: bool,
    /// How research tools are listed; `None` if they are off.
    pub(crate) research: Option<ToolListingMode>,
    pub(crate) gateway: bool,
}

/// Settings of the prompt engine.
#[derive(Debug, Clone)]
pub(crate) struct PromptSettings {
    /// Folder of the user's own prompts; `None` if the user has no data directory.
    pub(crate) workspace: Option<PathBuf>,
    /// Folders that replace those of the workspace.
    pub(crate) folders: PromptFolders,
    /// Commands that gates may run.
    pub(crate) commands: Vec<String>,
    /// Script tools that prompts may run.
    pub(crate) scripts: Vec<String>,
    /// Whether calls may write scripts into the workspace.
    pub(crate) caller_scripts: bool,
    pub(crate) judge: JudgeSetting,
    /// Active methodology until it is switched.
    pub(crate) methodology: Option<String>,
    /// Whether prompts are listed in clients' menus.
    pub(crate) in_menu: bool,
    /// Maximum steps of a chain.
    pub(crate) steps: usize,
    /// Maximum repetitions of a step.
    pub(crate) repetitions: u32,
    /// Number of ended runs kept for each chain.
    pub(crate) runs_kept: u32,
}

/// Folders by kind of content.
#[derive(Debug, Clone, Default)]
pub(crate) struct PromptFolders {
    pub(crate) prompts: Option<PathBuf>,
    pub(crate) gates: Option<PathBuf>,
    pub(crate) methodologies: Option<PathBuf>,
    pub(crate) styles: Option<PathBuf>,
    pub(crate) scripts: Option<PathBuf>,
}

/// Judge of criteria that cannot be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JudgeSetting {
    /// The model that gave the answer.
    Client,
    /// The model of the server.
    Model,
}

impl ToolSets {
    pub(crate) fn from_values(values: &ResolvedSettings) -> Self {
        let chosen = values.choices("tools.sets");
        Self {
            reasoning: chosen.contains(&"reasoning"),
            prompts: chosen.contains(&"prompts"),
            research: if chosen.contains(&"research") {
                Some(ToolListingMode::Common)
            } else {
                chosen
                    .contains(&"research_compact")
                    .then_some(ToolListingMode::Compact)
            },
            gateway: chosen.contains(&"gateway"),
        }
    }
}

impl PromptSettings {
    pub(crate) fn from_values(values: &ResolvedSettings) -> Self {
        let workspace = values.optional_path("prompts.workspace");
        Self {
            workspace: workspace.or_else(|| sibling_path(&values.path("database.path"), "prompts")),
            folders: PromptFolders::from_values(values),
            commands: values.texts("prompts.commands"),
            scripts: values.texts("prompts.scripts"),
            caller_scripts: values.switch("prompts.caller_scripts"),
            judge: match values.choice("prompts.judge") {
                "model" => JudgeSetting::Model,
                _ => JudgeSetting::Client,
            },
            methodology: values.text("prompts.methodology"),
            in_menu: values.switch("prompts.in_menu"),
            steps: values.count("prompts.steps"),
            repetitions: values.count("prompts.repetitions"),
            runs_kept: values.count("prompts.runs_kept"),
        }
    }
}

/// Returns a path beside the database: a user without a data directory has at least set the
/// database's path.
pub(crate) fn sibling_path(database: &Path, name: &str) -> Option<PathBuf> {
    let named = database != Path::new(IN_MEMORY);
    let folder = database.parent().filter(|_| named)?;
    Some(folder.join(name))
}

impl PromptFolders {
    fn from_values(values: &ResolvedSettings) -> Self {
        let all = values.optional_path("prompts.resources_path");
        let folder = |key: &str, name: &str| {
            let own = values.optional_path(key);
            own.or_else(|| all.as_ref().map(|all| all.join(name)))
        };
        Self {
            prompts: folder("prompts.prompts_path", "prompts"),
            gates: folder("prompts.gates_path", "gates"),
            methodologies: folder("prompts.methodologies_path", "methodologies"),
            styles: folder("prompts.styles_path", "styles"),
            scripts: folder("prompts.scripts_path", "scripts"),
        }
    }
}
