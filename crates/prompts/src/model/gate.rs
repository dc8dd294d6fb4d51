//! Gates: requirements for an answer, and the criteria that check them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ItemOrigin;

/// A gate: requirements for an answer with criteria, severity and guidance for the model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Gate {
    pub id: String,
    /// The display name.
    pub name: String,
    pub description: String,
    #[serde(rename = "type")]
    pub kind: GateKind,
    pub severity: GateSeverity,
    /// The consequence of a failure; if unset, the severity decides.
    #[serde(rename = "enforcementMode", skip_serializing_if = "Option::is_none")]
    pub enforcement: Option<Enforcement>,
    /// `framework`, `category` or `custom`.
    pub gate_type: String,
    /// The text given to the model before it answers.
    pub guidance: String,
    #[serde(rename = "pass_criteria")]
    pub criteria: Vec<Criterion>,
    #[serde(rename = "retry_config")]
    pub retry: RetryConfig,
    /// The conditions under which the gate is active without being requested; always if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activation: Option<Activation>,
    /// The judge of criteria that code cannot check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Evaluation>,
    pub origin: ItemOrigin,
}

/// Whether a gate checks the answer or only guides the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateKind {
    /// Checks the answer.
    #[default]
    Validation,
    /// Only adds guidance.
    Guidance,
}

/// The severity of a failed gate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateSeverity {
    Low,
    #[default]
    Medium,
    High,
    Critical,
}

/// The consequence of a failed gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Enforcement {
    /// The failure is recorded.
    Informational,
    /// The failure is reported, and the run continues.
    Advisory,
    /// The run does not advance.
    Blocking,
}

/// One requirement of a gate and the check for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    /// The requirement in plain words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(flatten)]
    pub kind: CriterionKind,
}

/// The check of a criterion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CriterionKind {
    /// Checks the length of the text and patterns in it.
    #[serde(alias = "inline_guidance")]
    ContentCheck {
        /// The minimum number of characters.
        #[serde(default)]
        min_length: Option<usize>,
        /// The maximum number of characters.
        #[serde(default)]
        max_length: Option<usize>,
        /// Regular expressions that must all match, ignoring case.
        #[serde(default)]
        required_patterns: Vec<String>,
        /// Regular expressions of which none may match.
        #[serde(default)]
        forbidden_patterns: Vec<String>,
    },
    /// Checks patterns and the number of occurrences of words.
    PatternCheck {
        /// Regular expressions that must all match.
        #[serde(default)]
        regex_patterns: Vec<String>,
        /// The minimum number of occurrences by word.
        #[serde(default)]
        keyword_count: BTreeMap<String, u32>,
    },
    /// Checks that the answer contains JSON that conforms to a schema.
    SchemaCheck { schema: Value },
    /// Checks that the answer cites its sources.
    CitationCheck {
        #[serde(default = "one")]
        min_citations: u32,
    },
    /// Asks a model for a judgment.
    LlmSelfCheck {
        /// The question for the judge.
        #[serde(default, alias = "criteria")]
        prompt_template: Option<String>,
        /// The lowest score that passes, 0 to 1.
        #[serde(default)]
        pass_threshold: Option<f64>,
    },
    /// Checks that the answer follows a methodology: by code where possible, else by judgment.
    MethodologyCompliance {
        /// The id of the methodology; the active one if unset.
        #[serde(default)]
        methodology: Option<String>,
        /// The lowest score that passes, 0 to 1.
        #[serde(default)]
        min_compliance_score: Option<f64>,
        /// Words and patterns that indicate a phase, by phase.
        #[serde(default)]
        quality_indicators: Value,
        /// `warn` or `fail`.
        #[serde(default)]
        severity: Option<String>,
    },
    /// Runs a command.
    ShellVerify(ShellCheck),
    /// Runs a script tool.
    ScriptTool {
        /// The id of the script tool.
        #[serde(alias = "id", alias = "script", alias = "script_tool_id")]
        tool: String,
    },
}

/// A command that checks an answer: exit code 0 means that it passes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ShellCheck {
    #[serde(rename = "shell_command")]
    pub command: String,
    #[serde(rename = "shell_timeout", skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The working directory, inside the workspace.
    #[serde(rename = "shell_working_dir", skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// Variables added to the environment of the process.
    #[serde(rename = "shell_env", skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    #[serde(rename = "shell_max_attempts", skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    #[serde(rename = "shell_preset", skip_serializing_if = "Option::is_none")]
    pub preset: Option<ShellCheckPreset>,
}

/// A named set of limits for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShellCheckPreset {
    /// One attempt, 30 s.
    Fast,
    /// Five attempts, 5 min.
    Full,
    /// Ten attempts, 10 min.
    Extended,
}

/// The policy for retries of a failed answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RetryConfig {
    pub max_attempts: u32,
    /// Whether the retry includes hints.
    pub improvement_hints: bool,
    /// Whether the retry includes the previous answer.
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

/// The conditions under which a gate or a style is active without being requested.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Activation {
    /// Active for prompts of these categories.
    pub prompt_categories: Vec<String>,
    /// Active with these methodologies.
    pub framework_context: Vec<String>,
    /// Active only when requested.
    pub explicit_request: bool,
}

/// The judge of criteria that code cannot check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evaluation {
    pub mode: EvaluationMode,
    /// The model of the judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether the verdict "cannot tell" counts as a failure.
    pub strict: bool,
}

/// The kind of judge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EvaluationMode {
    /// The model that gave the answer.
    #[serde(rename = "self")]
    #[default]
    SelfCheck,
    /// A model that sees only the answer and the criteria.
    Judge,
}

/// The gates of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GateConfiguration {
    /// Ids of gates that apply to the prompt.
    pub include: Vec<String>,
    /// Ids of gates that never apply, even if requested.
    pub exclude: Vec<String>,
    /// Whether the gates of the methodology are added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub framework_gates: Option<bool>,
    /// Gates that only this prompt has.
    pub inline_gate_definitions: Vec<InlineGate>,
}

/// A gate defined where it is used. Its guidance defaults to its criteria, then its description.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InlineGate {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<GateKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The text given to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
    /// Criteria for the judge, in plain words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<String>,
    /// Criteria with a check each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pass_criteria: Vec<Criterion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<GateSeverity>,
    /// The origin of the gate, in the caller's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Any data that the caller adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    /// The only step that the gate applies to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_step_number: Option<u32>,
    /// The steps that the gate applies to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub apply_to_steps: Vec<u32>,
}

const fn one() -> u32 {
    1
}
