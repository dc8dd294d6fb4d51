//! A gate: what an answer must be like, and what can be checked of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ItemOrigin;

/// A gate.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Gate {
    /// Its id.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What it asks for.
    pub description: String,
    /// Whether it decides or only guides.
    #[serde(rename = "type")]
    pub kind: GateKind,
    /// How bad it is if it fails.
    pub severity: GateSeverity,
    /// What happens if it fails; unset means that the severity decides.
    #[serde(rename = "enforcementMode", skip_serializing_if = "Option::is_none")]
    pub enforcement: Option<Enforcement>,
    /// `framework`, `category` or `custom`.
    pub gate_type: String,
    /// What is said to the model before it answers.
    pub guidance: String,
    /// What is looked at.
    #[serde(rename = "pass_criteria")]
    pub criteria: Vec<Criterion>,
    /// How often an answer may be sent back.
    #[serde(rename = "retry_config")]
    pub retry: RetryConfig,
    /// When it is active by itself; unset means always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activation: Option<Activation>,
    /// Who judges what can't be computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Evaluation>,
    /// Where it came from.
    pub origin: ItemOrigin,
}

/// Whether a gate decides or only guides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateKind {
    /// It decides.
    #[default]
    Validation,
    /// It guides.
    Guidance,
}

/// How bad it is if a gate fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateSeverity {
    /// Hardly.
    Low,
    /// Somewhat.
    #[default]
    Medium,
    /// Quite.
    High,
    /// It must not.
    Critical,
}

/// What happens if a gate fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Enforcement {
    /// It is noted.
    Informational,
    /// It is said, and the work goes on.
    Advisory,
    /// The work stays where it is.
    Blocking,
}

/// One thing that is looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    /// What it asks for, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How it is looked at.
    #[serde(flatten)]
    pub kind: CriterionKind,
}

/// How something is looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CriterionKind {
    /// Length and patterns of the text.
    #[serde(alias = "inline_guidance")]
    ContentCheck {
        /// The fewest characters.
        #[serde(default)]
        min_length: Option<usize>,
        /// The most characters.
        #[serde(default)]
        max_length: Option<usize>,
        /// Regular expressions that must all match; case does not matter.
        #[serde(default)]
        required_patterns: Vec<String>,
        /// Regular expressions of which none may match.
        #[serde(default)]
        forbidden_patterns: Vec<String>,
    },
    /// Patterns and how often words occur.
    PatternCheck {
        /// Regular expressions that must all match.
        #[serde(default)]
        regex_patterns: Vec<String>,
        /// Word → how often at least.
        #[serde(default)]
        keyword_count: BTreeMap<String, u32>,
    },
    /// The answer holds JSON that fits a schema.
    SchemaCheck {
        /// The schema.
        schema: Value,
    },
    /// The answer names its sources.
    CitationCheck {
        /// How many at least.
        #[serde(default = "one")]
        min_citations: u32,
    },
    /// A judgement.
    LlmSelfCheck {
        /// What is to be judged.
        #[serde(default, alias = "criteria")]
        prompt_template: Option<String>,
        /// How good is good enough, 0 to 1.
        #[serde(default)]
        pass_threshold: Option<f64>,
    },
    /// The answer follows a methodology: what can be computed is, the rest is a judgement.
    MethodologyCompliance {
        /// Which one; unset means the one in use.
        #[serde(default)]
        methodology: Option<String>,
        /// How much of it, 0 to 1.
        #[serde(default)]
        min_compliance_score: Option<f64>,
        /// Phase → words and patterns that show it.
        #[serde(default)]
        quality_indicators: Value,
        /// `warn` or `fail`.
        #[serde(default)]
        severity: Option<String>,
    },
    /// A command says so.
    ShellVerify(ShellCheck),
    /// A script tool says so.
    ScriptTool {
        /// Its id.
        #[serde(alias = "id", alias = "script", alias = "script_tool_id")]
        tool: String,
    },
}

/// A command that checks an answer: exit code 0 means yes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ShellCheck {
    /// The command.
    #[serde(rename = "shell_command")]
    pub command: String,
    /// How long it may take, in milliseconds.
    #[serde(rename = "shell_timeout", skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Where it is run, within the workspace.
    #[serde(rename = "shell_working_dir", skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// What joins its environment.
    #[serde(rename = "shell_env", skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// How often it may be tried.
    #[serde(rename = "shell_max_attempts", skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// A usual set of limits.
    #[serde(rename = "shell_preset", skip_serializing_if = "Option::is_none")]
    pub preset: Option<ShellCheckPreset>,
}

/// A usual set of limits for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShellCheckPreset {
    /// One try, 30 s.
    Fast,
    /// Five tries, 5 min.
    Full,
    /// Ten tries, 10 min.
    Extended,
}

/// How often an answer may be sent back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RetryConfig {
    /// How often.
    pub max_attempts: u32,
    /// Whether hints are given.
    pub improvement_hints: bool,
    /// Whether the earlier answer is shown.
    pub preserve_context: bool,
}

impl Default for RetryConfig {
    fn default() -> Self {
        Self {
            max_attempts: 2,
            improvement_hints: true,
            preserve_context: true,
        }
    }
}

/// When a gate or a style is active by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Activation {
    /// For prompts of these categories.
    pub prompt_categories: Vec<String>,
    /// With these methodologies.
    pub framework_context: Vec<String>,
    /// Only when asked for.
    pub explicit_request: bool,
}

/// Who judges.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evaluation {
    /// Who.
    pub mode: EvaluationMode,
    /// With which model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether "can't tell" counts as a failure.
    pub strict: bool,
}

/// Who judges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EvaluationMode {
    /// Whoever answered.
    #[serde(rename = "self")]
    #[default]
    Own,
    /// A model that sees the answer and the criteria and nothing else.
    Judge,
}

/// The gates of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GateConfiguration {
    /// Those it has.
    pub include: Vec<String>,
    /// Those it must not have, whoever asks.
    pub exclude: Vec<String>,
    /// Whether the gates of the methodology are added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub framework_gates: Option<bool>,
    /// Those that are its own.
    pub inline_gate_definitions: Vec<InlineGate>,
}

/// A gate that is defined where it is used. Guidance falls back to criteria, then description.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InlineGate {
    /// Its id, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it decides or only guides.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<GateKind>,
    /// How far it reaches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// What is said to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
    /// What is to be judged, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<String>,
    /// What is looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pass_criteria: Vec<Criterion>,
    /// How bad it is if it fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<GateSeverity>,
    /// Where it came from, in the caller's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Anything the caller adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    /// The one step it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_step_number: Option<u32>,
    /// The steps it is for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub apply_to_steps: Vec<u32>,
}

const fn one() -> u32 {
    1
}
