//! When guidance is added to a step. The three kinds are decided separately.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What can be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Injection {
    /// The guidance of a methodology.
    SystemPrompt,
    /// What the gates ask for.
    GateGuidance,
    /// How the answer should be written.
    StyleGuidance,
}

impl Injection {
    /// All three.
    pub const ALL: [Self; 3] = [Self::SystemPrompt, Self::GateGuidance, Self::StyleGuidance];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SystemPrompt => "system-prompt",
            Self::GateGuidance => "gate-guidance",
            Self::StyleGuidance => "style-guidance",
        }
    }
}

/// The rules of one level, each for one kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct InjectionRules {
    /// For the guidance of a methodology.
    #[serde(alias = "systemPrompt", skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<InjectionRule>,
    /// For what the gates ask for.
    #[serde(alias = "gateGuidance", skip_serializing_if = "Option::is_none")]
    pub gate_guidance: Option<InjectionRule>,
    /// For how the answer should be written.
    #[serde(alias = "styleGuidance", skip_serializing_if = "Option::is_none")]
    pub style_guidance: Option<InjectionRule>,
}

impl InjectionRules {
    /// The rule for one kind.
    pub const fn rule_for(&self, kind: Injection) -> Option<&InjectionRule> {
        match kind {
            Injection::SystemPrompt => self.system_prompt.as_ref(),
            Injection::GateGuidance => self.gate_guidance.as_ref(),
            Injection::StyleGuidance => self.style_guidance.as_ref(),
        }
    }
}

/// When something is added.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InjectionRule {
    /// Whether at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// How often.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency: Option<InjectionFrequency>,
    /// To what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<InjectionTarget>,
    /// Exceptions; the first that applies decides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<InjectionCondition>,
}

/// How often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InjectionFrequency {
    /// In which way.
    pub mode: InjectionFrequencyMode,
    /// Every how many steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<u32>,
}

/// In which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InjectionFrequencyMode {
    /// On step 1, and on every so manieth after it.
    Every,
    /// On step 1.
    FirstOnly,
    /// Never.
    Never,
}

/// To what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InjectionTarget {
    /// To steps.
    Steps,
    /// To reviews.
    Gates,
    /// To both.
    #[default]
    Both,
}

/// An exception.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InjectionCondition {
    /// Its name.
    #[serde(default)]
    pub id: String,
    /// When it applies.
    pub when: InjectionConditionKind,
    /// What happens then.
    pub then: InjectionEffect,
}

/// When an exception applies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum InjectionConditionKind {
    /// Always.
    Always,
    /// A review of the last answer is open (`pending`), or it came out like this (`pass`, `fail`).
    GateStatus {
        /// Which.
        status: String,
    },
    /// The step does this: `prompt`, `tool`, `review`.
    StepType {
        /// Which.
        #[serde(alias = "step_type", alias = "stepType")]
        value: String,
    },
    /// The number of the step: a number, or `first`, `last`, `odd`, `even`.
    StepNumber {
        /// `eq`, `gt`, `lt`, `gte`, `lte`.
        #[serde(default)]
        operator: Option<String>,
        /// The number or the word.
        value: Value,
    },
    /// What the step before came to: `success`, `failure`, `none`.
    PreviousStepResult {
        /// Which.
        #[serde(alias = "status")]
        value: String,
    },
    /// Where in the chain: `first`, `middle`, `last`.
    ChainPosition {
        /// Where.
        #[serde(alias = "position")]
        value: String,
    },
}

/// What an exception does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InjectionEffect {
    /// It is added.
    Inject,
    /// It is not.
    Skip,
    /// The next level decides.
    Inherit,
}
