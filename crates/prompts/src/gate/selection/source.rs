//! Where a gate came from, and which place has the last word on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a gate came from. The later ones in this list have the last word.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GateSource {
    /// It is active by itself.
    Registry,
    /// The methodology in use brings it.
    Methodology,
    /// The chain asks for it.
    Chain,
    /// The prompt or the step asks for it.
    Prompt,
    /// The `gates` parameter of the call asks for it.
    Parameter,
    /// The client chose it from what it was offered.
    Client,
    /// The command asks for it with `::`.
    Inline,
}

impl GateSource {
    /// Its weight.
    pub const fn priority(self) -> u32 {
        match self {
            Self::Inline => 100,
            Self::Client => 90,
            Self::Parameter => 80,
            Self::Prompt => 60,
            Self::Chain => 50,
            Self::Methodology => 40,
            Self::Registry => 20,
        }
    }

    /// What people call it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Inline => "inline",
            Self::Client => "client selection",
            Self::Parameter => "gates parameter",
            Self::Prompt => "prompt",
            Self::Chain => "chain",
            Self::Methodology => "methodology",
            Self::Registry => "always on",
        }
    }

    /// Whether the user asked for it in this call.
    pub const fn is_requested(self) -> bool {
        matches!(self, Self::Inline | Self::Client | Self::Parameter)
    }
}
