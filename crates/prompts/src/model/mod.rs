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

pub use argument::{ArgumentDefinition, ArgumentType, ArgumentValidation};
pub use gate::{
    Activation, Criterion, CriterionKind, Enforcement, Evaluation, EvaluationMode, Gate,
    GateConfiguration, GateKind, GateSeverity, InlineGate, RetryConfig, ShellCheck,
    ShellCheckPreset,
};
pub use injection::{
    Injection, InjectionCondition, InjectionConditionKind, InjectionEffect, InjectionFrequency,
    InjectionFrequencyMode, InjectionRule, InjectionRules, InjectionTarget,
};
pub use methodology::{
    Methodology, MethodologyGate, MethodologyGates, MethodologyPhase, PhaseRequirement, PhaseStep,
};
pub use prompt::{ChainStep, Delegation, Prompt, PromptCategory, StepKind, TemplateSource};
pub use script::{ScriptExecution, ScriptRuntime, ScriptTool, ScriptTrigger};
pub use style::{ResponseStyle, StyleMode};

use serde::{Deserialize, Serialize};

/// The kinds of things a library holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LibraryItemKind {
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

impl LibraryItemKind {
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
pub struct ItemOrigin {
    /// Whether it is shipped with the program or stands in the workspace.
    pub layer: LibraryLayer,
    /// Its main file, as people name it: relative to the workspace or to the shipped library.
    pub file: String,
    /// What it was made of: changes whenever one of its files does.
    pub hash: String,
}

/// Which of the two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LibraryLayer {
    /// Shipped with the program; can be replaced in the workspace, not changed.
    Shipped,
    /// In the workspace.
    #[default]
    Workspace,
}
