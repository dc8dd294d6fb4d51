//! Script tools: programs that a prompt or a gate may run if the operator allows them.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ItemOrigin;

/// A script tool: its program, input schema and trigger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScriptTool {
    /// The id; a tool that belongs to a prompt is referred to as `prompt:id`.
    pub id: String,
    /// The display name.
    pub name: String,
    pub description: String,
    /// The prompt that the tool belongs to, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The file name, inside its folder.
    pub script: String,
    pub runtime: ScriptRuntime,
    /// The JSON schema of its input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    #[serde(rename = "timeout", skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Variables added to the environment of the process.
    pub env: BTreeMap<String, String>,
    /// The working directory, inside its folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    pub enabled: bool,
    pub execution: ScriptExecution,
    pub folder: PathBuf,
    pub origin: ItemOrigin,
}

impl Default for ScriptTool {
    fn default() -> Self {
        Self {
            id: String::new(),
            name: String::new(),
            description: String::new(),
            owner: None,
            script: String::new(),
            runtime: ScriptRuntime::default(),
            schema: None,
            timeout_ms: None,
            env: BTreeMap::new(),
            working_dir: None,
            enabled: true,
            execution: ScriptExecution::default(),
            folder: PathBuf::new(),
            origin: ItemOrigin::default(),
        }
    }
}

/// The interpreter of a script.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScriptRuntime {
    Python,
    Node,
    Shell,
    /// Chosen by the file extension.
    #[default]
    Auto,
}

/// The trigger of a script and the approval it needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScriptExecution {
    pub trigger: ScriptTrigger,
    /// Whether a person must approve the run first.
    pub confirm: bool,
    /// Whether all required inputs must be present.
    pub strict: bool,
    /// The question to the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm_message: Option<String>,
    /// Whether a result that the script reports as valid is applied without approval.
    #[serde(alias = "auto_approve_on_valid")]
    pub auto_approve_on_valid: bool,
}

impl Default for ScriptExecution {
    fn default() -> Self {
        Self {
            trigger: ScriptTrigger::default(),
            confirm: true,
            strict: false,
            confirm_message: None,
            auto_approve_on_valid: false,
        }
    }
}

/// The event that runs a script.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptTrigger {
    /// The arguments contain its inputs.
    #[default]
    SchemaMatch,
    /// The command requests it.
    Explicit,
    /// Every call.
    Always,
    /// No event; only templates and gates run it.
    Never,
}
