//! A script tool: a program that a prompt or a gate may run, if the operator allows it.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ItemOrigin;

/// A script tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScriptTool {
    /// Its id; one that belongs to a prompt is known by `prompt:id`.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The prompt it belongs to, if it belongs to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Its file, in its folder.
    pub script: String,
    /// What runs it.
    pub runtime: ScriptRuntime,
    /// The schema of its input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// How long it may take, in milliseconds.
    #[serde(rename = "timeout", skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// What joins its environment.
    pub env: BTreeMap<String, String>,
    /// Where it is run, within its folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// Whether it can be used.
    pub enabled: bool,
    /// When it is run.
    pub execution: ScriptExecution,
    /// Its folder.
    pub folder: PathBuf,
    /// Where it came from.
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

/// What runs a script.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScriptRuntime {
    /// Python.
    Python,
    /// Node.
    Node,
    /// The shell.
    Shell,
    /// What the file's ending says.
    #[default]
    Auto,
}

/// When a script is run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScriptExecution {
    /// What sets it off.
    pub trigger: ScriptTrigger,
    /// Whether a person must agree first.
    pub confirm: bool,
    /// Whether all required inputs must be there.
    pub strict: bool,
    /// What the person is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm_message: Option<String>,
    /// Whether what it found valid is done without asking.
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

/// What sets a script off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptTrigger {
    /// Its inputs are among the arguments.
    #[default]
    SchemaMatch,
    /// The command asks for it.
    Explicit,
    /// Every call.
    Always,
    /// Nothing; only templates and gates.
    Never,
}
