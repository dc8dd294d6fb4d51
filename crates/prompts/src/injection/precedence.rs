//! The seven levels and the sources of their rules. A rule of the step or prompt itself takes
//! precedence over a rule that the workspace has for it.

use deliberate_core::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{InjectionContext, LevelDecision, rule};
use crate::{
    library::{ChainInjection, InjectionConfig},
    model::{Injection, InjectionFrequency, InjectionFrequencyMode, InjectionRule, InjectionRules},
};

/// A level, strongest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum InjectionLevel {
    /// A modifier like `%clean`.
    Modifier,
    /// A run-time override.
    Override,
    /// The step.
    Step,
    /// The chain.
    Chain,
    /// The category.
    Category,
    /// The workspace.
    Global,
    /// The built-in default.
    Default,
}

impl InjectionLevel {
    /// All levels, strongest first.
    pub const ALL: [Self; 7] = [
        Self::Modifier,
        Self::Override,
        Self::Step,
        Self::Chain,
        Self::Category,
        Self::Global,
        Self::Default,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Modifier => "modifier",
            Self::Override => "override",
            Self::Step => "step",
            Self::Chain => "chain",
            Self::Category => "category",
            Self::Global => "global",
            Self::Default => "default",
        }
    }
}

/// A command modifier (`%word`) that decides which guidance is injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InjectionModifier {
    /// Injects nothing.
    Clean,
    /// Injects only gate guidance.
    Lean,
    /// Injects only the methodology.
    Framework,
    /// Always injects the methodology.
    Judge,
}

impl InjectionModifier {
    /// Returns the decision of the modifier for one kind of guidance.
    fn decide(self, kind: Injection) -> LevelDecision {
        match (self, kind) {
            (Self::Clean, _) => LevelDecision::no("%clean injects nothing"),
            (Self::Lean, Injection::SystemPrompt | Injection::StyleGuidance) => {
                LevelDecision::no("%lean injects only gates")
            }
            (Self::Framework, Injection::GateGuidance | Injection::StyleGuidance) => {
                LevelDecision::no("%framework injects only the methodology")
            }
            (Self::Judge, Injection::SystemPrompt) => {
                LevelDecision::yes("%judge injects the methodology")
            }
            _ => LevelDecision::undecided("the modifier does not decide this"),
        }
    }
}

/// A decision that was set at run time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InjectionOverride {
    pub kind: Injection,
    pub enabled: bool,
    pub scope: OverrideScope,
    /// The id of the session, chain, run or step; unset means any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_id: Option<String>,
    /// The end of the override; unset means that it never expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// The scope of an override.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OverrideScope {
    /// A session of a caller.
    Session,
    /// A chain, or one run of it.
    Chain,
    /// A step, by name or number.
    Step,
}

impl InjectionOverride {
    fn applies(&self, kind: Injection, at: &InjectionContext<'_>) -> bool {
        if self.kind != kind || self.expires_at.is_some_and(|end| end <= at.now) {
            return false;
        }
        let Some(id) = self.scope_id.as_deref().filter(|id| !id.is_empty()) else {
            return true;
        };
        match self.scope {
            OverrideScope::Session => id == at.session,
            OverrideScope::Chain => matches_pattern(id, at.chain) || id == at.run,
            OverrideScope::Step => id == at.step_name || id.parse() == Ok(at.step),
        }
    }
}

/// The sources of the rules of all levels.
#[derive(Debug, Clone, Copy, Default)]
pub struct InjectionSources<'a> {
    /// The modifier of the command or of the step.
    pub modifier: Option<InjectionModifier>,
    /// The run-time overrides; the last one that applies decides.
    pub overrides: &'a [InjectionOverride],
    /// The rules in the step's own definition.
    pub step: Option<&'a InjectionRules>,
    /// The rules of the chain, or of the prompt if there is no chain.
    pub chain: Option<&'a InjectionRules>,
    /// The id of the chain, or of the prompt.
    pub chain_id: &'a str,
    /// The rules in the category's own definition.
    pub category: Option<&'a InjectionRules>,
    pub category_id: &'a str,
    /// The injection settings of the workspace.
    pub config: Option<&'a InjectionConfig>,
}

/// The rules of all levels for one step.
#[derive(Debug, Clone, Copy, Default)]
pub struct InjectionLevels<'a> {
    sources: InjectionSources<'a>,
    chains: Option<&'a ChainInjection>,
}

impl<'a> InjectionLevels<'a> {
    /// Finds the workspace rules for the chain.
    pub fn new(sources: InjectionSources<'a>) -> Self {
        let chains = sources.config.and_then(|it| {
            it.chains
                .iter()
                .find(|it| matches_pattern(&it.chain, sources.chain_id))
        });
        Self { sources, chains }
    }

    /// Returns the decision of one level.
    pub(super) fn decide_level(
        &self,
        level: InjectionLevel,
        kind: Injection,
        at: &InjectionContext<'_>,
    ) -> LevelDecision {
        match level {
            InjectionLevel::Modifier => match self.sources.modifier {
                Some(modifier) => modifier.decide(kind),
                None => LevelDecision::undecided("no modifier"),
            },
            InjectionLevel::Override => {
                let injection_override = self
                    .sources
                    .overrides
                    .iter()
                    .rev()
                    .find(|it| it.applies(kind, at));
                match injection_override {
                    Some(it) if it.enabled => LevelDecision::yes("enabled at run time"),
                    Some(_) => LevelDecision::no("disabled at run time"),
                    None => LevelDecision::undecided("no override"),
                }
            }
            InjectionLevel::Default => rule::evaluate_frequency(default_frequency(kind), at),
            level => match self.rule(level, kind, at) {
                Some(rule) => rule::evaluate_rule(rule, at),
                None => LevelDecision::undecided("no rule"),
            },
        }
    }

    /// Returns the rule of a level: the nearest one for this kind of guidance.
    fn rule(
        &self,
        level: InjectionLevel,
        kind: Injection,
        at: &InjectionContext<'_>,
    ) -> Option<&'a InjectionRule> {
        let from = &self.sources;
        let of = |rules: Option<&'a InjectionRules>| rules.and_then(|it| it.rule_for(kind));
        match level {
            InjectionLevel::Step => of(from.step).or_else(|| {
                let steps = self
                    .chains
                    .map(|it| it.steps.as_slice())
                    .unwrap_or_default();
                steps
                    .iter()
                    .filter(|it| rule::selects_step(&it.step, at))
                    .find_map(|it| it.rules.rule_for(kind))
            }),
            InjectionLevel::Chain => of(from.chain).or_else(|| of(self.chains.map(|it| &it.rules))),
            InjectionLevel::Category => of(from.category).or_else(|| {
                let config = from.config?;
                of(config.categories.get(from.category_id))
            }),
            InjectionLevel::Global => of(from.config.map(|it| &it.global)),
            InjectionLevel::Modifier | InjectionLevel::Override | InjectionLevel::Default => None,
        }
    }
}

/// Returns the frequency that applies when no level has a rule.
const fn default_frequency(kind: Injection) -> InjectionFrequency {
    match kind {
        Injection::SystemPrompt => InjectionFrequency {
            mode: InjectionFrequencyMode::Every,
            interval: Some(2),
        },
        Injection::GateGuidance => InjectionFrequency {
            mode: InjectionFrequencyMode::Every,
            interval: Some(1),
        },
        Injection::StyleGuidance => InjectionFrequency {
            mode: InjectionFrequencyMode::FirstOnly,
            interval: None,
        },
    }
}

/// Returns whether an id matches a pattern: the id itself, `x*`, `*x`, `*x*`, or `*` for any.
pub fn matches_pattern(pattern: &str, id: &str) -> bool {
    let pattern = pattern.trim();
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        _ if pattern == "*" => true,
        (Some(inner), Some(_)) => id.contains(inner.strip_suffix('*').unwrap_or(inner)),
        (Some(end), None) => id.ends_with(end),
        (None, Some(start)) => id.starts_with(start),
        (None, None) => !pattern.is_empty() && pattern == id,
    }
}
