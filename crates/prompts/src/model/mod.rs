//! What the library holds, as the rest of the engine sees it: prompts, gates, methodologies,
//! styles, scripts. Plain data that can be written into a run's plan and read back. Knows nothing
//! of files, templates or tools.

mod argument;
mod gate;
mod injection;
mod methodology;
mod prompt;
mod script;
mod style;

pub use argument::{Argument, ArgumentType, Validation};
pub use gate::{
    Activation, Criterion, CriterionKind, Enforcement, Evaluation, EvaluationMode, Gate,
    GateConfiguration, GateKind, InlineGate, Preset, RetryConfig, Severity, ShellCheck,
};
pub use injection::{
    Condition, Effect, Frequency, FrequencyMode, Injection, InjectionRules, Rule, Target, When,
};
pub use methodology::{BringsGates, Guard, Methodology, MethodologyGate, Phase, PhaseStep};
pub use prompt::{Category, ChainStep, Delegation, Prompt, StepKind, Text};
pub use script::{Execution, Runtime, ScriptTool, Trigger};
pub use style::{Mode, Style};

use serde::{Deserialize, Serialize};

/// The kinds of things a library holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A prompt, or a chain of them.
    Prompt,
    /// A quality gate.
    Gate,
    /// A methodology.
    Methodology,
    /// A response style.
    Style,
    /// A script tool.
    Script,
}

impl Kind {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Gate => "gate",
            Self::Methodology => "methodology",
            Self::Style => "style",
            Self::Script => "script",
        }
    }
}

/// Where something came from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Whether it is shipped with the program or stands in the workspace.
    pub layer: Layer,
    /// Its main file, as people name it: relative to the workspace or to the shipped library.
    pub file: String,
    /// What it was made of: changes whenever one of its files does.
    pub hash: String,
}

/// Which of the two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// Shipped with the program; can be replaced in the workspace, not changed.
    Shipped,
    /// In the workspace.
    #[default]
    Workspace,
}
