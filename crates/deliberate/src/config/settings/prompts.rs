//! The settings of the prompt engine, and which tools there are at all.

use std::path::{Path, PathBuf};

use deliberate_research::ToolListingMode;

use crate::config::{parse::IN_MEMORY, resolved::ResolvedSettings};

/// Which tools clients get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ToolSets {
    /// Those that reason.
    pub(crate) reasoning: bool,
    /// Those of the prompt engine.
    pub(crate) prompts: bool,
    /// Those of research, and how they are shown.
    pub(crate) research: Option<ToolListingMode>,
    /// Those of other servers.
    pub(crate) gateway: bool,
}

/// The prompt engine.
#[derive(Debug, Clone)]
pub(crate) struct PromptSettings {
    /// Where people keep their own; `None` if there is no place that would be theirs.
    pub(crate) workspace: Option<PathBuf>,
    /// Folders in place of the workspace's.
    pub(crate) folders: PromptFolders,
    /// What gates may run.
    pub(crate) commands: Vec<String>,
    /// Script tools that may be run.
    pub(crate) scripts: Vec<String>,
    /// Who judges.
    pub(crate) judge: JudgeSetting,
    /// In use until someone switches.
    pub(crate) methodology: Option<String>,
    /// Whether prompts are shown in menus.
    pub(crate) in_menu: bool,
    /// Steps of a chain.
    pub(crate) steps: usize,
    /// Repetitions of a step.
    pub(crate) repetitions: u32,
    /// Ended runs of a chain.
    pub(crate) runs_kept: u32,
}

/// Folders by what is in them.
#[derive(Debug, Clone, Default)]
pub(crate) struct PromptFolders {
    /// Prompts.
    pub(crate) prompts: Option<PathBuf>,
    /// Gates.
    pub(crate) gates: Option<PathBuf>,
    /// Methodologies.
    pub(crate) methodologies: Option<PathBuf>,
    /// Styles.
    pub(crate) styles: Option<PathBuf>,
    /// Script tools.
    pub(crate) scripts: Option<PathBuf>,
}

/// Who judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JudgeSetting {
    /// Whoever answered.
    Client,
    /// A model.
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

/// A user without directories of their own has at least named the database.
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
