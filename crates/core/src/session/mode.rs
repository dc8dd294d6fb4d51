//! The reasoning modes.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A reasoning mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
// The field's name describes it. Repeating that in the schema would cost clients tokens.
#[schemars(description = "")]
pub enum Mode {
    /// One thought after another.
    Linear,
    /// Several approaches in parallel branches.
    Tree,
    /// Opposing perspectives, then a synthesis.
    Divergent,
    /// Reviewing a thought to improve it.
    Reflection,
    /// Continuing from a checkpoint another way.
    Backtracking,
    /// Choosing the mode by the problem.
    Auto,
    /// A graph of thoughts.
    Got,
}

impl Mode {
    /// Lists every mode in the order of the specification.
    pub const ALL: [Self; 7] = [
        Self::Linear,
        Self::Tree,
        Self::Divergent,
        Self::Reflection,
        Self::Backtracking,
        Self::Auto,
        Self::Got,
    ];

    /// Returns the mode's name as stored and answered.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Tree => "tree",
            Self::Divergent => "divergent",
            Self::Reflection => "reflection",
            Self::Backtracking => "backtracking",
            Self::Auto => "auto",
            Self::Got => "got",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that is not a mode's name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not a reasoning mode")]
pub struct UnknownMode(pub String);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(name: &str) -> Result<Self, UnknownMode> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.as_str() == name)
            .ok_or_else(|| UnknownMode(name.to_owned()))
    }
}
