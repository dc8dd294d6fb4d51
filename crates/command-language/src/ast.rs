//! The tree of a parsed command: stages of steps, each with its annotations and arguments.
//!
//! Contains no parsing or printing.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{quote::quote, span::Spanned};

/// A whole command: its stages, and the annotations that apply to every step.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CommandTree {
    /// Annotations that apply to every step.
    pub whole: CommandAnnotations,
    pub stages: Vec<CommandStage>,
}

/// One stage of a chain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommandStage {
    pub arrow: Arrow,
    pub kind: StageKind,
}

/// The operator that connects a stage to the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrow {
    /// No operator: this is the first stage.
    First,
    /// `-->`: runs after the previous stage.
    Chain,
    /// `==>`: runs after the previous stage and is delegated to a sub-agent.
    Delegate,
}

/// The content of a stage: parallel steps or a conditional.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StageKind {
    /// Parallel steps; most often one.
    Group(Vec<CommandStep>),
    /// Two branches of which one runs.
    Conditional {
        condition: Spanned<String>,
        /// Parallel steps that run if the condition holds.
        then: Vec<CommandStep>,
        /// Parallel steps that run if the condition does not hold; may be empty.
        otherwise: Vec<CommandStep>,
    },
}

/// One call of one prompt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommandStep {
    /// The id of the prompt.
    pub id: Spanned<String>,
    /// Annotations that apply to this step alone.
    pub marks: CommandAnnotations,
    /// The number of repetitions, if `* N` is given.
    pub repeat: Option<Spanned<u32>>,
    pub args: StepArgs,
}

/// Modifier, framework, style and gates of a step or of the whole command.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CommandAnnotations {
    /// `%name`.
    pub modifier: Option<Spanned<CommandModifier>>,
    /// `@name`.
    pub framework: Option<Spanned<String>>,
    /// `#name`.
    pub style: Option<Spanned<String>>,
    /// One entry per `::`.
    pub gates: Vec<Spanned<GateAnnotation>>,
}

impl CommandAnnotations {
    /// Returns whether there are no annotations.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A modifier that limits which guidance is added around a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandModifier {
    /// Adds nothing to the prompt.
    Clean,
    /// Adds only the gates.
    Lean,
    /// Adds only the framework.
    Framework,
    /// Asks for a choice of guidance first.
    Judge,
}

impl CommandModifier {
    /// All modifiers.
    pub const ALL: [Self; 4] = [Self::Clean, Self::Lean, Self::Framework, Self::Judge];

    /// Returns the name as written after `%`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Lean => "lean",
            Self::Framework => "framework",
            Self::Judge => "judge",
        }
    }

    /// Finds the modifier with exactly this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }
}

/// The operand of `::`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateAnnotation {
    /// Quoted texts, each one criterion whatever it contains.
    Criteria(Vec<Spanned<String>>),
    /// A word: a gate's id, or a criterion if there is no such gate.
    Word(String),
    /// A named gate that exists for this command only.
    Named {
        name: String,
        /// The criterion of the gate.
        text: String,
    },
    /// A shell command that checks the result.
    Verify(ShellVerify),
}

/// `:: verify:"…"` with its options.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ShellVerify {
    pub command: String,
    pub preset: Option<ShellVerifyPreset>,
    /// `max:N`: the maximum number of attempts.
    pub max: Option<u32>,
    /// `timeout:N`: the seconds that one run may take.
    pub timeout: Option<u32>,
    /// `loop:…`: whether to repeat until the command passes.
    #[serde(rename = "loop")]
    pub again: Option<bool>,
}

/// A named set of limits for a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellVerifyPreset {
    Fast,
    Full,
    Extended,
}

impl ShellVerifyPreset {
    /// All presets.
    pub const ALL: [Self; 3] = [Self::Fast, Self::Full, Self::Extended];

    /// Returns the name as written after `:`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Full => "full",
            Self::Extended => "extended",
        }
    }
}

/// The arguments of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepArgs {
    #[default]
    None,
    /// One JSON object.
    Json {
        /// The JSON as written.
        raw: Spanned<String>,
        /// The parsed object.
        value: Map<String, Value>,
    },
    /// Text with optional `name:value` pairs.
    Text {
        /// The text as written, byte for byte.
        raw: Spanned<String>,
        /// The same text, split into pairs and words.
        items: Vec<ArgumentItem>,
    },
}

impl StepArgs {
    /// Creates arguments from a JSON object.
    pub fn from_json(value: Map<String, Value>) -> Self {
        let raw = Value::Object(value.clone()).to_string();
        Self::Json {
            raw: Spanned::new(raw, crate::Span::default()),
            value,
        }
    }

    /// Creates arguments from named values, each quoted so that it parses to the same bytes.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let written: Vec<_> = pairs
            .into_iter()
            .map(|(name, value)| format!("{name}:{}", quote(value)))
            .collect();
        Self::from_raw(written.join(" "))
    }

    /// Creates one unnamed text argument, quoted so that it parses to the same bytes.
    pub fn from_text(text: &str) -> Self {
        Self::from_raw(quote(text))
    }

    fn from_raw(raw: String) -> Self {
        if raw.is_empty() {
            return Self::None;
        }
        let items = super::argument_items::split_items(&raw);
        let span = crate::Span::new(0, raw.len());
        Self::Text {
            raw: Spanned::new(raw, span),
            items,
        }
    }
}

/// A pair or word of raw argument text.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentItem {
    /// `name:value` or `name=value`.
    Pair {
        name: Spanned<String>,
        /// The value; a quoted one is stored without quotes and escapes, an unquoted one
        /// continues up to the next pair.
        value: Spanned<String>,
        quoted: bool,
    },
    /// An unquoted word or a quoted text, as written.
    Word(Spanned<String>),
}
