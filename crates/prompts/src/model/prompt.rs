//! Prompts, and the steps of a prompt that is a chain.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ArgumentDefinition, GateConfiguration, InjectionRules, ItemOrigin, LibraryItemKind};

/// A prompt or a chain.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// The full id; a nested prompt has `parent/child`.
    pub id: String,
    /// The display name.
    pub name: String,
    pub description: String,
    pub category: String,
    /// The template of the user message.
    pub template: Option<TemplateSource>,
    /// The template of the system message.
    pub system: Option<TemplateSource>,
    pub arguments: Vec<ArgumentDefinition>,
    /// The steps, if the prompt is a chain.
    pub steps: Vec<ChainStep>,
    pub gates: GateConfiguration,
    pub injection: InjectionRules,
    /// Whether MCP clients list the prompt; if unset, its category decides.
    pub registered: Option<bool>,
    /// The ids of its own script tools.
    pub tools: Vec<String>,
    pub delegation: Delegation,
    /// The kind of item that the prompt creates once all its parts are given.
    pub creates: Option<LibraryItemKind>,
    pub origin: ItemOrigin,
}

/// The text of a template and its location.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateSource {
    pub body: String,
    /// The displayed path of its file.
    pub file: String,
    /// The line of the file on which the template begins, from 1.
    pub line: u32,
}

/// A step of a chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainStep {
    pub name: String,
    pub kind: StepKind,
    /// The condition: an expression over the run's variables, or a question in plain words.
    pub when: Option<String>,
    /// The step to run if the condition does not hold.
    pub otherwise: Option<Box<Self>>,
    /// The source of each input value, by its new name.
    pub input: BTreeMap<String, String>,
    /// The part of the step's output to store, by variable name; `output` or empty is all of it.
    pub output: BTreeMap<String, String>,
    /// The number of times a gate may ask for another attempt.
    pub retries: Option<u32>,
    /// Gates of this step, by id or criterion text.
    pub gates: Vec<String>,
    pub injection: InjectionRules,
    /// Whether a sub-agent should run the step, and which one.
    pub delegation: Delegation,
}

/// The action of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepKind {
    /// Renders a prompt for the model that answers.
    Prompt { id: String },
    /// Runs a tool of the registry.
    Tool {
        name: String,
        /// The arguments; every string in them is a template.
        arguments: Value,
    },
    /// Runs several steps in parallel.
    Parallel(Vec<ChainStep>),
}

/// The sub-agent that should run a prompt or step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Delegation {
    /// The size of its model: `heavy`, `standard`, `fast`.
    #[serde(rename = "subagentModel", skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The type of agent.
    #[serde(rename = "agentType", skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// A category of prompts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PromptCategory {
    /// The id, which is the name of its folder.
    pub id: String,
    /// The display name.
    pub name: String,
    pub description: String,
    /// Whether MCP clients list its prompts.
    pub register_with_mcp: Option<bool>,
    pub injection: InjectionRules,
}

impl ChainStep {
    /// Creates a step that renders a prompt, without further options.
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
    /// Returns the id and the argument names, with `?` after optional arguments.
    pub fn call_signature(&self) -> String {
        let names = self.arguments.iter().map(|it| {
            let may_be_left_out = if it.required { "" } else { "?" };
            format!("{}{may_be_left_out}", it.name)
        });
        let names: Vec<String> = names.collect();
        let chain = if self.is_chain() { " (chain)" } else { "" };
        format!("{}({}){chain}", self.id, names.join(", "))
    }

    pub fn is_chain(&self) -> bool {
        !self.steps.is_empty()
    }
}
