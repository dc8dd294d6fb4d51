//! The seven levels, and where the rules of each come from. A rule that stands with the step or
//! the prompt itself comes before one that the workspace has for it.

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
    /// `%clean` and its like.
    Modifier,
    /// What was said at run time.
    Override,
    /// The step.
    Step,
    /// The chain.
    Chain,
    /// The category.
    Category,
    /// The workspace.
    Global,
    /// The program.
    Default,
}

impl InjectionLevel {
    /// All seven, strongest first.
    pub const ALL: [Self; 7] = [
        Self::Modifier,
        Self::Override,
        Self::Step,
        Self::Chain,
        Self::Category,
        Self::Global,
        Self::Default,
    ];

    /// Its name.
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

/// A word after `%` that decides what is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InjectionModifier {
    /// Nothing is added.
    Clean,
    /// Only gates.
    Lean,
    /// Only the methodology.
    Framework,
    /// The methodology, in any case.
    Judge,
}

impl InjectionModifier {
    /// What it says.
    fn decide(self, kind: Injection) -> LevelDecision {
        match (self, kind) {
            (Self::Clean, _) => LevelDecision::no("%clean adds nothing"),
            (Self::Lean, Injection::SystemPrompt | Injection::StyleGuidance) => {
                LevelDecision::no("%lean adds only gates")
            }
            (Self::Framework, Injection::GateGuidance | Injection::StyleGuidance) => {
                LevelDecision::no("%framework adds only the methodology")
            }
            (Self::Judge, Injection::SystemPrompt) => {
                LevelDecision::yes("%judge asks for the methodology")
            }
            _ => LevelDecision::undecided("the modifier says nothing about this"),
        }
    }
}

/// Something said at run time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InjectionOverride {
    /// About what.
    pub kind: Injection,
    /// Whether it is added.
    pub enabled: bool,
    /// For what.
    pub scope: OverrideScope,
    /// Which session, chain, run or step; unset means any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_id: Option<String>,
    /// Until when; unset means for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// What an override is for.
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

/// Where the rules of the levels stand.
#[derive(Debug, Clone, Copy, Default)]
pub struct InjectionSources<'a> {
    /// The modifier of the command or the step.
    pub modifier: Option<InjectionModifier>,
    /// What was said at run time; the last that applies counts.
    pub overrides: &'a [InjectionOverride],
    /// The rules that stand with the step.
    pub step: Option<&'a InjectionRules>,
    /// The rules that stand with the chain, or with the prompt if there is none.
    pub chain: Option<&'a InjectionRules>,
    /// The id of the chain, or of the prompt.
    pub chain_id: &'a str,
    /// The rules that stand with the category.
    pub category: Option<&'a InjectionRules>,
    /// The id of the category.
    pub category_id: &'a str,
    /// What the workspace says.
    pub config: Option<&'a InjectionConfig>,
}

/// The rules of all levels, for one step.
#[derive(Debug, Clone, Copy, Default)]
pub struct InjectionLevels<'a> {
    sources: InjectionSources<'a>,
    chains: Option<&'a ChainInjection>,
}

impl<'a> InjectionLevels<'a> {
    /// The levels.
    pub fn new(sources: InjectionSources<'a>) -> Self {
        let chains = sources.config.and_then(|it| {
            it.chains
                .iter()
                .find(|it| matches_pattern(&it.chain, sources.chain_id))
        });
        Self { sources, chains }
    }

    /// What a level says.
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
                let said = self
                    .sources
                    .overrides
                    .iter()
                    .rev()
                    .find(|it| it.applies(kind, at));
                match said {
                    Some(it) if it.enabled => LevelDecision::yes("was switched on at run time"),
                    Some(_) => LevelDecision::no("was switched off at run time"),
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

    /// The rule of a level: the nearest one that speaks of this kind.
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

/// How often if nobody says.
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

/// Whether an id fits a pattern: itself, `x*`, `*x`, `*x*`, or `*` for any.
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
