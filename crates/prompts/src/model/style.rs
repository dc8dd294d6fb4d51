//! Response styles: guidance for the way an answer is written.

use serde::{Deserialize, Serialize};

use super::{Activation, ItemOrigin};

/// A response style.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResponseStyle {
    pub id: String,
    /// The display name.
    pub name: String,
    pub description: String,
    /// The text given to the model.
    pub guidance: String,
    /// The rank if several styles are active.
    pub priority: i64,
    pub enabled: bool,
    pub enhancement_mode: StyleMode,
    /// The conditions under which the style is active without being requested; never if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activation: Option<Activation>,
    /// The methodologies it is compatible with; any if empty.
    pub compatible_frameworks: Vec<String>,
    pub origin: ItemOrigin,
}

impl Default for ResponseStyle {
    fn default() -> Self {
        Self {
            id: String::new(),
            name: String::new(),
            description: String::new(),
            guidance: String::new(),
            priority: 0,
            enabled: true,
            enhancement_mode: StyleMode::default(),
            activation: None,
            compatible_frameworks: Vec::new(),
            origin: ItemOrigin::default(),
        }
    }
}

/// The position of a style's guidance relative to the system message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StyleMode {
    Prepend,
    #[default]
    Append,
    Replace,
}
