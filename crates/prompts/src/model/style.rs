//! A style: how an answer should be written.

use serde::{Deserialize, Serialize};

use super::{Activation, ItemOrigin};

/// A style.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResponseStyle {
    /// Its id.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What is said to the model.
    pub guidance: String,
    /// Which comes first, if several are active.
    pub priority: i64,
    /// Whether it can be used.
    pub enabled: bool,
    /// Where its guidance stands.
    pub enhancement_mode: StyleMode,
    /// When it is active by itself; unset means never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activation: Option<Activation>,
    /// The methodologies it goes with; any if empty.
    pub compatible_frameworks: Vec<String>,
    /// Where it came from.
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

/// Where the guidance of a style stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StyleMode {
    /// Before the system message.
    Prepend,
    /// After it.
    #[default]
    Append,
    /// In its place.
    Replace,
}
