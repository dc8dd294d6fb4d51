//! The modes that `reasoning_auto` can recommend, derived from the table of modes.

use std::{borrow::Cow, cmp::Ordering, fmt, sync::LazyLock};

use deliberate_core::Mode;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::direct::{DIRECT_MODE, DIRECT_ROUTING};
use crate::modes::{MODES, ModeDefinition, ModeRouting};

/// A mode that can be recommended.
#[derive(Clone, Copy)]
pub(super) struct ModeChoice {
    definition: &'static ModeDefinition,
    pub(super) routing: &'static ModeRouting,
}

/// The choices in the order in which the router sees them: those that are always possible, those
/// that need a checkpoint, and last the answer without a tool.
static CHOICES: LazyLock<Vec<ModeChoice>> = LazyLock::new(|| {
    let choice = |definition: &'static ModeDefinition| {
        let routing = definition.routing?;
        Some(ModeChoice {
            definition,
            routing,
        })
    };
    let mut choices: Vec<ModeChoice> = MODES.iter().copied().filter_map(choice).collect();
    choices.sort_by_key(|it| (it.tool().is_none(), it.routing.requires_checkpoint));
    choices
});

static NAMES: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| CHOICES.iter().map(|choice| choice.as_str()).collect());

impl ModeChoice {
    pub(super) fn direct() -> Self {
        Self {
            definition: &DIRECT_MODE,
            routing: &DIRECT_ROUTING,
        }
    }

    /// The default: the mode for any problem that has one right answer.
    pub(super) fn linear() -> Self {
        Self::find(Mode::Linear.as_str()).unwrap_or_else(Self::direct)
    }

    /// The modes that can be chosen, in a session with or without a checkpoint.
    pub(super) fn possible(has_checkpoint: bool) -> impl Iterator<Item = Self> {
        Self::all().filter(move |it| has_checkpoint || !it.routing.requires_checkpoint)
    }

    pub(super) fn all() -> impl Iterator<Item = Self> {
        CHOICES.iter().copied()
    }

    pub(super) fn find(name: &str) -> Option<Self> {
        Self::all().find(|choice| choice.as_str() == name)
    }

    pub(super) const fn as_str(self) -> &'static str {
        self.definition.name
    }

    /// The tool to call next.
    pub(super) const fn tool(self) -> Option<&'static str> {
        self.definition.tool
    }
}

impl fmt::Debug for ModeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// The names are unique, so they stand for the choices.
impl PartialEq for ModeChoice {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for ModeChoice {}

impl PartialOrd for ModeChoice {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ModeChoice {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Serialize for ModeChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ModeChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<str>::deserialize(deserializer)?;
        Self::find(&name).ok_or_else(|| de::Error::unknown_variant(&name, &NAMES))
    }
}

impl JsonSchema for ModeChoice {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ModeChoice".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": *NAMES })
    }
}

/// A choice in a session without a checkpoint.
#[derive(Debug, Clone, Copy)]
pub(super) struct ForwardChoice(ModeChoice);

impl From<ForwardChoice> for ModeChoice {
    fn from(forward: ForwardChoice) -> Self {
        forward.0
    }
}

impl<'de> Deserialize<'de> for ForwardChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let choice = ModeChoice::deserialize(deserializer)?;
        if choice.routing.requires_checkpoint {
            let name = choice.as_str();
            let problem = format!("{name} is not among the ways to choose from");
            return Err(de::Error::custom(problem));
        }
        Ok(Self(choice))
    }
}

impl JsonSchema for ForwardChoice {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Forward".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = ModeChoice::possible(false)
            .map(ModeChoice::as_str)
            .collect();
        json_schema!({ "type": "string", "enum": names })
    }
}
