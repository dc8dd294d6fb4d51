//! What a run will do, as it was planned when it began. Kept with the run, with the prompts it
//! uses: what is edited or deleted meanwhile does not change a run that has begun.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    gate::SelectedGate,
    model::{Delegation, InjectionRules, Methodology, Prompt, ResponseStyle},
};

/// What a run will do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChainPlan {
    /// What it is called.
    pub title: String,
    /// What its runs are named after: the first prompt or chain of the command.
    #[serde(default)]
    pub base: String,
    /// What the whole command was given.
    pub arguments: Map<String, Value>,
    /// Its steps, in order.
    pub nodes: Vec<PlannedStep>,
    /// What must be decided on the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<BranchCondition>,
    /// The prompts it uses, and those they refer to.
    pub prompts: BTreeMap<String, Arc<Prompt>>,
    /// The methodologies it uses.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub methodologies: BTreeMap<String, Arc<Methodology>>,
    /// The styles it uses.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub styles: BTreeMap<String, Arc<ResponseStyle>>,
}

/// Something that must be decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchCondition {
    /// An expression, or a question in plain words.
    pub text: String,
}

/// Which step of a chain something is part of. The steps of a chain are counted for themselves,
/// wherever the chain stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainPosition {
    /// The chain, by its number in the plan; 0 is the command.
    pub chain: u32,
    /// The number of the step in it, from 1.
    pub step: u32,
    /// The name of the step in it.
    pub name: String,
}

/// An argument that gets what came before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousResultArgument {
    /// Its name.
    pub name: String,
    /// Before which stage.
    pub before: u32,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedStep {
    /// Its number, from 1.
    pub number: u32,
    /// Steps of one stage are done side by side; stages follow each other.
    pub stage: u32,
    /// Its name.
    pub name: String,
    /// What it does.
    pub does: StepAction,
    /// Whether a sub-agent should do it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delegated: bool,
    /// How that should be done.
    #[serde(default, skip_serializing_if = "is_default")]
    pub delegation: Delegation,
    /// It is done only if these questions were decided so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_if: Vec<(usize, bool)>,
    /// New name → where its value comes from; outer chains first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input: Vec<BTreeMap<String, String>>,
    /// Whether the last of those is the step's own; the others are those of chains around it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub maps_own_input: bool,
    /// What the chains around it declare: absent, if it was not given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declared: Vec<String>,
    /// Name → which part of its output.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub output: BTreeMap<String, String>,
    /// What it was given in the command.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
    /// The argument that gets what came before, because nothing else fills it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes: Option<PreviousResultArgument>,
    /// Where it stands in the command and in each chain that it lies in, outermost first.
    pub path: Vec<ChainPosition>,
    /// How often a gate may send it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// Its gates, wherever they come from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<SelectedGate>,
    /// `clean`, `lean`, `framework` or `judge`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modifier: Option<String>,
    /// The methodology it follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub methodology: Option<String>,
    /// How its answer should be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<String>,
    /// What the step itself says about guidance.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rules: InjectionRules,
    /// What its chain says about guidance.
    #[serde(default, skip_serializing_if = "is_default")]
    pub chain_rules: InjectionRules,
    /// The chain it belongs to, by which rules are found.
    pub chain: String,
    /// The category of its prompt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub category: String,
    /// What its chain says before its first step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preface: Option<String>,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepAction {
    /// Shows a prompt to whoever answers.
    Prompt(String),
    /// Runs a tool.
    Tool {
        /// Its name.
        name: String,
        /// Its arguments; every text in them is a template.
        arguments: Value,
    },
}

impl ChainPlan {
    /// The step of that number.
    pub fn step(&self, number: u32) -> Option<&PlannedStep> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.nodes.get(index)
    }

    /// The names of the steps of a chain, in order.
    pub fn step_names(&self, chain: u32) -> Vec<&str> {
        let mut names: BTreeMap<u32, &str> = BTreeMap::new();
        for within in self.nodes.iter().flat_map(|node| &node.path) {
            if within.chain == chain {
                names.entry(within.step).or_insert(&within.name);
            }
        }
        names.into_values().collect()
    }

    /// How many steps it has.
    pub fn len(&self) -> u32 {
        u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

impl PlannedStep {
    /// Where it stands in the innermost chain.
    pub fn chain_position(&self) -> Option<&ChainPosition> {
        self.path.last()
    }

    /// The prompt it shows.
    pub fn prompt(&self) -> Option<&str> {
        match &self.does {
            StepAction::Prompt(id) => Some(id),
            StepAction::Tool { .. } => None,
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
