//! A prompt, and the steps of one that is a chain.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ArgumentDefinition, GateConfiguration, InjectionRules, ItemOrigin, LibraryItemKind};

/// A prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// Its whole id; a nested one is `parent/child`.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The category it stands in.
    pub category: String,
    /// What the person says, as a template.
    pub template: Option<TemplateSource>,
    /// What stands before it, as a template.
    pub system: Option<TemplateSource>,
    /// What it can be given.
    pub arguments: Vec<ArgumentDefinition>,
    /// Its steps, if it is a chain.
    pub steps: Vec<ChainStep>,
    /// Its gates.
    pub gates: GateConfiguration,
    /// When guidance is added to it.
    pub injection: InjectionRules,
    /// Whether clients see it in their menu; unset means that its category decides.
    pub registered: Option<bool>,
    /// The script tools it owns.
    pub tools: Vec<String>,
    /// How a sub-agent should run it.
    pub delegation: Delegation,
    /// What it creates once all its parts are given, if it is one that creates.
    pub creates: Option<LibraryItemKind>,
    /// Where it came from.
    pub origin: ItemOrigin,
}

/// A template and where it stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateSource {
    /// The template.
    pub body: String,
    /// The file it stands in, as people name it.
    pub file: String,
    /// The line of that file on which it begins, from 1.
    pub line: u32,
}

/// One step of a chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainStep {
    /// Its name.
    pub name: String,
    /// What is done.
    pub kind: StepKind,
    /// Only if this holds: an expression over the run's variables, or a question in plain words.
    pub when: Option<String>,
    /// What is done if it does not hold.
    pub otherwise: Option<Box<Self>>,
    /// New name → where the value comes from.
    pub input: BTreeMap<String, String>,
    /// Name → which part of the step's output; `output` or empty is all of it.
    pub output: BTreeMap<String, String>,
    /// How often a gate may send it back.
    pub retries: Option<u32>,
    /// Gates of this step, by id or criterion text.
    pub gates: Vec<String>,
    /// When guidance is added to it.
    pub injection: InjectionRules,
    /// Whether a sub-agent should do it, and how.
    pub delegation: Delegation,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepKind {
    /// Renders a prompt for whoever answers.
    Prompt {
        /// Its id.
        id: String,
    },
    /// Runs a tool of the registry.
    Tool {
        /// Its name.
        name: String,
        /// Its arguments; every text in them is a template.
        arguments: Value,
    },
    /// Does several at once.
    Parallel(Vec<ChainStep>),
}

/// How a sub-agent should run something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Delegation {
    /// Which size of model: `heavy`, `standard`, `fast`.
    #[serde(rename = "subagentModel", skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Which kind of agent.
    #[serde(rename = "agentType", skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// A category.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PromptCategory {
    /// Its id: the name of its folder.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What is in it.
    pub description: String,
    /// Whether clients see its prompts in their menu.
    pub register_with_mcp: Option<bool>,
    /// When guidance is added to its prompts.
    pub injection: InjectionRules,
}

impl ChainStep {
    /// A step that shows a prompt and says nothing more.
    pub fn for_prompt(id: &str) -> Self {
        Self {
            name: id.to_owned(),
            kind: StepKind::Prompt { id: id.to_owned() },
            when: None,
            otherwise: None,
            input: BTreeMap::new(),
            output: BTreeMap::new(),
            retries: None,
            gates: Vec::new(),
            injection: InjectionRules::default(),
            delegation: Delegation::default(),
        }
    }
}

impl Prompt {
    /// How it is called, in short: its id and its arguments, `?` after those that may be left out.
    pub fn call_signature(&self) -> String {
        let names = self.arguments.iter().map(|it| {
            let may_be_left_out = if it.required { "" } else { "?" };
            format!("{}{may_be_left_out}", it.name)
        });
        let names: Vec<String> = names.collect();
        let chain = if self.is_chain() { " (chain)" } else { "" };
        format!("{}({}){chain}", self.id, names.join(", "))
    }

    /// Whether it is a chain.
    pub fn is_chain(&self) -> bool {
        !self.steps.is_empty()
    }
}
