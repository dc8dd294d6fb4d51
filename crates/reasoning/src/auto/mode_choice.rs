//! The ways to think that can be recommended.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

/// A way to think, as it is recommended.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum ModeChoice {
    Linear,
    Tree,
    Divergent,
    Reflection,
    Got,
    Backtracking,
    Direct,
}

impl ModeChoice {
    pub(super) const ALL: [Self; 7] = [
        Self::Linear,
        Self::Tree,
        Self::Divergent,
        Self::Reflection,
        Self::Got,
        Self::Backtracking,
        Self::Direct,
    ];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Tree => "tree",
            Self::Divergent => "divergent",
            Self::Reflection => "reflection",
            Self::Got => "got",
            Self::Backtracking => "backtracking",
            Self::Direct => "direct",
        }
    }

    /// The tool to call next.
    pub(super) const fn tool(self) -> Option<&'static str> {
        match self {
            Self::Linear => Some("reasoning_linear"),
            Self::Tree => Some("reasoning_tree"),
            Self::Divergent => Some("reasoning_divergent"),
            Self::Reflection => Some("reasoning_reflection"),
            Self::Got => Some("reasoning_got_init"),
            Self::Backtracking => Some("reasoning_backtrack"),
            Self::Direct => None,
        }
    }
}

/// A choice in a session that has nowhere to return to.
#[derive(Debug, Clone, Copy)]
pub(super) struct ForwardChoice(ModeChoice);

impl From<ForwardChoice> for ModeChoice {
    fn from(forward: ForwardChoice) -> Self {
        forward.0
    }
}

impl<'de> Deserialize<'de> for ForwardChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match ModeChoice::deserialize(deserializer)? {
            ModeChoice::Backtracking => Err(de::Error::custom(
                "backtracking is not among the ways to choose from",
            )),
            choice => Ok(Self(choice)),
        }
    }
}

impl JsonSchema for ForwardChoice {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Forward".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let words: Vec<&str> = ModeChoice::ALL
            .into_iter()
            .filter(|choice| *choice != ModeChoice::Backtracking)
            .map(ModeChoice::as_str)
            .collect();
        schemars::json_schema!({ "type": "string", "enum": words })
    }
}
