//! The items of a library as the engine uses them: prompts, gates, methodologies, styles, scripts.
//! They are plain data that can be stored in the plan of a chain run and loaded again. This module
//! knows nothing of files, templates or tools.

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

/// The kind of a library item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LibraryItemKind {
    /// A prompt or a chain.
    Prompt,
    Gate,
    Methodology,
    Style,
    Script,
}

impl LibraryItemKind {
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

/// The layer, file and content hash of a library item.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemOrigin {
    pub layer: LibraryLayer,
    /// The main file, displayed relative to the workspace or to the shipped library.
    pub file: String,
    /// The hash of its files: changes whenever one of them does.
    pub hash: String,
}

/// The layer of the library that an item comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LibraryLayer {
    /// Shipped with the program; can be overridden in the workspace but not changed.
    Shipped,
    #[default]
    Workspace,
}
