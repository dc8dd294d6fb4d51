//! The plan of a chain run, made when the run begins. It is stored with the run together with the
//! prompts it uses, so later edits and deletions do not change a run that has begun.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    gate::SelectedGate,
    model::{Delegation, InjectionRules, Methodology, Prompt, ResponseStyle},
};

/// The steps, conditions and resources of a chain run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChainPlan {
    pub title: String,
    /// The name that run ids are derived from: the first prompt or chain of the command.
    #[serde(default)]
    pub base: String,
    /// The arguments of the whole command.
    pub arguments: Map<String, Value>,
    pub nodes: Vec<PlannedStep>,
    /// The conditions that must be decided during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<BranchCondition>,
    /// The prompts that the steps use, and the prompts that those refer to.
    pub prompts: BTreeMap<String, Arc<Prompt>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub methodologies: BTreeMap<String, Arc<Methodology>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub styles: BTreeMap<String, Arc<ResponseStyle>>,
}

/// A condition that decides whether steps are done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchCondition {
    /// An expression, or a question in plain words.
    pub text: String,
}

/// The position of a step in a chain. Each chain counts its own steps, also when it is nested in
/// another chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainPosition {
    /// The number of the chain in the plan; 0 is the command.
    pub chain: u32,
    /// The number of the step in the chain, from 1.
    pub step: u32,
    /// The name of the step in the chain.
    pub name: String,
}

/// An argument that receives the previous result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousResultArgument {
    pub name: String,
    /// The stage whose previous result is used.
    pub before: u32,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedStep {
    /// The number of the step, from 1.
    pub number: u32,
    /// Steps of the same stage run side by side; stages follow each other.
    pub stage: u32,
    pub name: String,
    pub does: StepAction,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delegated: bool,
    /// The way a sub-agent should do the step, if the step is delegated.
    #[serde(default, skip_serializing_if = "is_default")]
    pub delegation: Delegation,
    /// The step is done only if each of these conditions was decided as given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_if: Vec<(usize, bool)>,
    /// Maps a new name to the path of its value; the mappings of outer chains come first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input: Vec<BTreeMap<String, String>>,
    /// Whether the last mapping in `input` is the step's own; the others belong to the chains
    /// around it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub maps_own_input: bool,
    /// The arguments that the surrounding chains declare. Those that were not given are null.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declared: Vec<String>,
    /// Maps a name to a part of the step's output.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub output: BTreeMap<String, String>,
    /// The arguments that the command gives to this step.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
    /// The argument that receives the previous result because nothing else fills it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes: Option<PreviousResultArgument>,
    /// The positions of the step in the command and in each chain around it, outermost first.
    pub path: Vec<ChainPosition>,
    /// The number of times a gate may send the step back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// The gates of the step, from all sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<SelectedGate>,
    /// `clean`, `lean`, `framework` or `judge`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modifier: Option<String>,
    /// The id of the methodology that the step follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub methodology: Option<String>,
    /// The id of the response style.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<String>,
    /// The injection rules of the step itself.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rules: InjectionRules,
    /// The injection rules of its chain.
    #[serde(default, skip_serializing_if = "is_default")]
    pub chain_rules: InjectionRules,
    /// The id of the chain that the step belongs to; injection rules are looked up by it.
    pub chain: String,
    /// The category of the step's prompt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub category: String,
    /// The text that the chain shows before its first step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preface: Option<String>,
}

/// The action of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepAction {
    /// Shows a prompt to the client or model that answers.
    Prompt(String),
    /// Runs a tool.
    Tool {
        name: String,
        /// The arguments of the tool; every text in them is a template.
        arguments: Value,
    },
}

impl ChainPlan {
    /// Returns the step with that number.
    pub fn step(&self, number: u32) -> Option<&PlannedStep> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.nodes.get(index)
    }

    /// Returns the names of the steps of a chain, in order.
    pub fn step_names(&self, chain: u32) -> Vec<&str> {
        let mut names: BTreeMap<u32, &str> = BTreeMap::new();
        for within in self.nodes.iter().flat_map(|node| &node.path) {
            if within.chain == chain {
                names.entry(within.step).or_insert(&within.name);
            }
        }
        names.into_values().collect()
    }

    /// Returns the number of steps.
    pub fn len(&self) -> u32 {
        u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

impl PlannedStep {
    /// Returns the position of the step in the innermost chain.
    pub fn chain_position(&self) -> Option<&ChainPosition> {
        self.path.last()
    }

    /// Returns the id of the prompt that the step shows.
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
