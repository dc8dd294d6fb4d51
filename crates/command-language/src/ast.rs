//! What a command is once read: stages of steps, each with its marks and arguments.
//!
//! Knows nothing of how it is read or written.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{quote::quote, span::Spanned};

/// A whole command.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CommandTree {
    /// What holds for every step of it.
    pub whole: CommandAnnotations,
    /// Its stages, in order.
    pub stages: Vec<CommandStage>,
}

/// One link of the chain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommandStage {
    /// How it follows the one before.
    pub arrow: Arrow,
    /// What it does.
    pub kind: StageKind,
}

/// How a stage follows the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrow {
    /// It is the first.
    First,
    /// `-->`: next.
    Chain,
    /// `==>`: next, and handed to a sub-agent.
    Delegate,
}

/// What a stage does.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StageKind {
    /// Steps side by side; most often one.
    Group(Vec<CommandStep>),
    /// One branch or the other.
    Conditional {
        /// What decides.
        condition: Spanned<String>,
        /// Steps side by side if it holds.
        then: Vec<CommandStep>,
        /// Steps side by side if not; may be none.
        otherwise: Vec<CommandStep>,
    },
}

/// One call of one prompt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommandStep {
    /// The prompt.
    pub id: Spanned<String>,
    /// What holds for this step alone.
    pub marks: CommandAnnotations,
    /// How many times it runs, if said.
    pub repeat: Option<Spanned<u32>>,
    /// What it is given.
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
    /// Each `::`.
    pub gates: Vec<Spanned<GateAnnotation>>,
}

impl CommandAnnotations {
    /// Whether nothing is marked.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How much is put around a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandModifier {
    /// Nothing but the prompt.
    Clean,
    /// The gates alone.
    Lean,
    /// The framework alone.
    Framework,
    /// A choice of guidance first.
    Judge,
}

impl CommandModifier {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Clean, Self::Lean, Self::Framework, Self::Judge];

    /// As written after `%`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Lean => "lean",
            Self::Framework => "framework",
            Self::Judge => "judge",
        }
    }

    /// The one of that name, exactly as written.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }
}

/// What stands after `::`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateAnnotation {
    /// Quoted texts, each one criterion whatever it holds.
    Criteria(Vec<Spanned<String>>),
    /// A word: a gate's id, or a criterion if there is no such gate.
    Word(String),
    /// A gate of its own name, for this command.
    Named {
        /// The name.
        name: String,
        /// Its criterion.
        text: String,
    },
    /// A command of the shell to check with.
    Verify(ShellVerify),
}

/// `:: verify:"…"` with its options.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ShellVerify {
    /// What to run.
    pub command: String,
    /// How thorough.
    pub preset: Option<ShellVerifyPreset>,
    /// `max:N`: how many tries.
    pub max: Option<u32>,
    /// `timeout:N`: seconds for one run.
    pub timeout: Option<u32>,
    /// `loop:…`: whether to go on until it passes.
    #[serde(rename = "loop")]
    pub again: Option<bool>,
}

/// A named set of limits for a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellVerifyPreset {
    /// `:fast`.
    Fast,
    /// `:full`.
    Full,
    /// `:extended`.
    Extended,
}

impl ShellVerifyPreset {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Fast, Self::Full, Self::Extended];

    /// As written after `:`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Full => "full",
            Self::Extended => "extended",
        }
    }
}

/// What a step is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepArgs {
    /// Nothing.
    #[default]
    None,
    /// One JSON object.
    Json {
        /// As written.
        raw: Spanned<String>,
        /// As read.
        value: Map<String, Value>,
    },
    /// Anything else.
    Text {
        /// As written, byte for byte.
        raw: Spanned<String>,
        /// The same, cut into pairs and words.
        items: Vec<ArgumentItem>,
    },
}

impl StepArgs {
    /// A JSON object as arguments.
    pub fn from_json(value: Map<String, Value>) -> Self {
        let raw = Value::Object(value.clone()).to_string();
        Self::Json {
            raw: Spanned::new(raw, crate::Span::default()),
            value,
        }
    }

    /// Named values as arguments, each quoted so that it reads back to the same bytes.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let written: Vec<_> = pairs
            .into_iter()
            .map(|(name, value)| format!("{name}:{}", quote(value)))
            .collect();
        Self::from_raw(written.join(" "))
    }

    /// One text as the only argument, quoted so that it reads back to the same bytes.
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

/// A piece of raw arguments.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentItem {
    /// `name:value` or `name=value`.
    Pair {
        /// The name.
        name: Spanned<String>,
        /// The value, without quotes and escapes if it was quoted. A bare one goes on up to the
        /// next pair.
        value: Spanned<String>,
        /// Whether it was quoted.
        quoted: bool,
    },
    /// A bare word, or a quoted text, as written.
    Word(Spanned<String>),
}
