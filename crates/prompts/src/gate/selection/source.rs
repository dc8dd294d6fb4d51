//! The source of a gate and its priority.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The source of a gate. Later ones in this list take precedence.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GateSource {
    /// Active automatically.
    Registry,
    /// The active methodology.
    Methodology,
    /// The chain.
    Chain,
    /// The prompt or the step.
    Prompt,
    /// The `gates` parameter of the call.
    Parameter,
    /// Chosen by the client.
    Client,
    /// `::` in the command.
    Inline,
}

impl GateSource {
    /// Returns the priority; higher wins.
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

    /// Returns the label that users see.
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

    /// Returns whether the user requested the gate in this call.
    pub const fn is_requested(self) -> bool {
        matches!(self, Self::Inline | Self::Client | Self::Parameter)
    }
}
