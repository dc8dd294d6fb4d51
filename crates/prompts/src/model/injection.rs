//! Rules for adding guidance to a step. Each of the three kinds is decided separately.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A kind of guidance that can be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Injection {
    /// The guidance of a methodology.
    SystemPrompt,
    /// The requirements of the gates.
    GateGuidance,
    /// The style of the answer.
    StyleGuidance,
}

impl Injection {
    /// All three kinds.
    pub const ALL: [Self; 3] = [Self::SystemPrompt, Self::GateGuidance, Self::StyleGuidance];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SystemPrompt => "system-prompt",
            Self::GateGuidance => "gate-guidance",
            Self::StyleGuidance => "style-guidance",
        }
    }
}

/// The rules of one level, one for each kind of guidance.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct InjectionRules {
    #[serde(alias = "systemPrompt", skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<InjectionRule>,
    #[serde(alias = "gateGuidance", skip_serializing_if = "Option::is_none")]
    pub gate_guidance: Option<InjectionRule>,
    #[serde(alias = "styleGuidance", skip_serializing_if = "Option::is_none")]
    pub style_guidance: Option<InjectionRule>,
}

impl InjectionRules {
    /// Returns the rule for one kind of guidance.
    pub const fn rule_for(&self, kind: Injection) -> Option<&InjectionRule> {
        match kind {
            Injection::SystemPrompt => self.system_prompt.as_ref(),
            Injection::GateGuidance => self.gate_guidance.as_ref(),
            Injection::StyleGuidance => self.style_guidance.as_ref(),
        }
    }
}

/// A rule that decides whether one kind of guidance is added.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InjectionRule {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency: Option<InjectionFrequency>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<InjectionTarget>,
    /// Exceptions; the first that applies decides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<InjectionCondition>,
}

/// The steps of a chain that guidance is added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InjectionFrequency {
    pub mode: InjectionFrequencyMode,
    /// The number of steps from one injection to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<u32>,
}

/// How often guidance is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InjectionFrequencyMode {
    /// On step 1, and again after every `interval` steps.
    Every,
    /// Only on step 1.
    FirstOnly,
    Never,
}

/// The requests that guidance is added to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InjectionTarget {
    Steps,
    /// Gate reviews.
    Gates,
    #[default]
    Both,
}

/// An exception to a rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InjectionCondition {
    #[serde(default)]
    pub id: String,
    /// The condition under which the exception applies.
    pub when: InjectionConditionKind,
    pub then: InjectionEffect,
}

/// The condition under which an exception applies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum InjectionConditionKind {
    Always,
    /// The review of the last answer is open (`pending`) or has this result (`pass`, `fail`).
    GateStatus {
        status: String,
    },
    /// The step is of this type: `prompt`, `tool`, `review`.
    StepType {
        #[serde(alias = "step_type", alias = "stepType")]
        value: String,
    },
    /// The step number compares to a number, or is `first`, `last`, `odd` or `even`.
    StepNumber {
        /// `eq`, `gt`, `lt`, `gte`, `lte`.
        #[serde(default)]
        operator: Option<String>,
        value: Value,
    },
    /// The previous step had this result: `success`, `failure`, `none`.
    PreviousStepResult {
        #[serde(alias = "status")]
        value: String,
    },
    /// The step has this position in the chain: `first`, `middle`, `last`.
    ChainPosition {
        #[serde(alias = "position")]
        value: String,
    },
}

/// The effect of an exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InjectionEffect {
    /// The guidance is added.
    Inject,
    /// The guidance is not added.
    Skip,
    /// The next level decides.
    Inherit,
}
