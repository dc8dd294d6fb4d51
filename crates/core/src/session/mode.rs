//! The ways of reasoning a session can be in.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A way of reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
// The name of the field says it; a schema has no room to say it again.
#[schemars(description = "")]
pub enum Mode {
    /// One thought after another.
    Linear,
    /// Several approaches side by side, each a branch.
    Tree,
    /// Perspectives that disagree, then a synthesis.
    Divergent,
    /// Looking back on a thought to improve it.
    Reflection,
    /// Returning to a checkpoint and taking another way.
    Backtracking,
    /// Choosing the mode by the problem.
    Auto,
    /// A graph of thoughts.
    Got,
}

impl Mode {
    /// Every mode, in the order the documents list them.
    pub const ALL: [Self; 7] = [
        Self::Linear,
        Self::Tree,
        Self::Divergent,
        Self::Reflection,
        Self::Backtracking,
        Self::Auto,
        Self::Got,
    ];

    /// The mode's name as stored and answered.
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

/// A name that is no mode.
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
