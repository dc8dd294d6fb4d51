//! Which gates apply to a step, and where each came from. Priority decides the order and the
//! label of a gate that several places ask for; a veto takes a gate away whoever brought it,
//! save what the user wrote into the command. Checks nothing itself.

pub(crate) mod collector;
pub(crate) mod source;

use serde::{Deserialize, Serialize};

use super::{GateParameter, GateSource, InlineGateSpec};
use crate::{
    library::{PromptLibrary, is_same_name},
    model::{Activation, Gate, GateConfiguration, Methodology},
};
use collector::GateCollector;

/// The most gates a step can have.
pub(super) const MAX_GATES: usize = 100;

/// The most criteria of one gate that come from a call.
pub(super) const MAX_CRITERIA: usize = 100;

/// The most criteria that one call can ask for, all its gates together.
pub(super) const MAX_REQUESTED_CRITERIA: usize = 200;

/// Everything that can bring a gate to a step.
#[derive(Debug, Clone, Copy)]
pub struct GateSources<'a> {
    /// Where gates are looked up.
    pub library: &'a PromptLibrary,
    /// What the command asks for with `::`, for this step.
    pub inline: &'a [InlineGateSpec],
    /// What the client chose from what it was offered.
    pub client: &'a [String],
    /// The `gates` parameter.
    pub parameter: &'a [GateParameter],
    /// The step on which the parameter came: an entry without a target is for that step alone.
    /// Unset means that it is for all.
    pub parameter_step: Option<u32>,
    /// The gates of the step's prompt.
    pub prompt: Option<&'a GateConfiguration>,
    /// The step's own gates.
    pub step_gates: &'a [String],
    /// The gates of the chain that the step belongs to.
    pub chain: Option<&'a GateConfiguration>,
    /// The methodology in use.
    pub methodology: Option<&'a Methodology>,
    /// The category of the step's prompt.
    pub category: Option<&'a str>,
    /// The number of the step, from 1.
    pub step: u32,
}

impl<'a> GateSources<'a> {
    /// A step that nobody asks anything of.
    pub const fn empty(library: &'a PromptLibrary) -> Self {
        Self {
            library,
            inline: &[],
            client: &[],
            parameter: &[],
            parameter_step: None,
            prompt: None,
            step_gates: &[],
            chain: None,
            methodology: None,
            category: None,
            step: 1,
        }
    }
}

/// A gate that applies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SelectedGate {
    /// The gate.
    pub gate: Gate,
    /// The place that has the last word on it.
    pub source: GateSource,
    /// The other places that ask for it, strongest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<GateSource>,
}

impl SelectedGate {
    /// Whether the user asked for it in this call.
    pub fn is_requested(&self) -> bool {
        self.source.is_requested() || self.also.iter().any(|source| source.is_requested())
    }
}

/// What was collected.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GateSelection {
    /// The gates that apply, strongest source first.
    pub gates: Vec<SelectedGate>,
    /// Names that no gate has.
    pub unknown: Vec<UnknownGate>,
    /// What a veto took away.
    pub vetoed: Vec<VetoedGate>,
}

/// A name that no gate has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no gate `{name}` (from: {}){}", .source_of.label(), did_you_mean(.nearest, *.source_of))]
pub struct UnknownGate {
    /// The name.
    pub name: String,
    /// Who used it.
    pub source_of: GateSource,
    /// The gates it is most like.
    pub nearest: Vec<String>,
}

impl UnknownGate {
    /// Whether the caller can mend it, so that the call is refused; what stands in files is only
    /// warned of.
    pub const fn is_caller_error(&self) -> bool {
        self.source_of.is_requested()
    }
}

/// A gate that a veto took away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VetoedGate {
    /// Its id.
    pub gate: String,
    /// Who brought it.
    pub source: GateSource,
    /// Who took it away.
    pub vetoed_by: GateSource,
}

/// More than a step can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GateLimitError {
    /// Too many gates, or too many criteria in one of them.
    #[error("a step can have {MAX_GATES} gates of {MAX_CRITERIA} criteria each; ask for fewer")]
    Gates,
    /// Too many criteria in all.
    #[error("one call can ask for {MAX_REQUESTED_CRITERIA} criteria in all; ask for fewer")]
    Criteria,
}

/// The gates of a step.
pub fn select_gates(from: &GateSources<'_>) -> Result<GateSelection, GateLimitError> {
    let mut pile = GateCollector::new(from.library);
    pile.add_inline(from.inline);
    for id in from.client {
        pile.add_by_id(id, GateSource::Client);
    }
    pile.add_parameter(from);
    if let Some(prompt) = from.prompt {
        pile.add_configuration(prompt, GateSource::Prompt, from.step);
    }
    pile.add_ids_and_sentences(from.step_gates, GateSource::Prompt, "step-criteria");
    if let Some(chain) = from.chain {
        pile.add_configuration(chain, GateSource::Chain, from.step);
    }
    pile.add_methodology(from);
    for gate in from.library.gates.values() {
        let is_framework = gate.gate_type == "framework";
        let active = gate
            .activation
            .as_ref()
            .is_none_or(|when| is_active(when, is_framework, from.category, from.methodology));
        if active {
            pile.add((**gate).clone(), GateSource::Registry);
        }
    }
    pile.finish()
}

/// Whether a gate or a style with these conditions is active by itself.
///
/// One about methodologies needs one, and fits only what it names; for others, what is unknown
/// does not stand in the way.
pub fn is_active(
    when: &Activation,
    gate_type_is_framework: bool,
    category: Option<&str>,
    methodology: Option<&Methodology>,
) -> bool {
    let strict = gate_type_is_framework;
    let fits = |wanted: &[String], there: &[&str]| {
        if there.is_empty() {
            !strict || wanted.is_empty()
        } else {
            wanted.is_empty()
                || wanted
                    .iter()
                    .any(|it| there.iter().any(|that| is_same_name(it, that)))
        }
    };
    let names: Vec<&str> = methodology
        .map(|it| vec![it.id.as_str(), it.name.as_str(), it.kind.as_str()])
        .unwrap_or_default();
    !when.explicit_request
        && (!strict || methodology.is_some())
        && fits(&when.prompt_categories, category.as_slice())
        && fits(&when.framework_context, &names)
}

fn did_you_mean(names: &[String], source: GateSource) -> String {
    if names.is_empty() {
        return "; resource_manager lists the gates there are".to_owned();
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let meant = names.join(", ");
    if source == GateSource::Inline {
        format!("; did you mean {meant}? If it is a criterion, put it in quotes")
    } else {
        format!("; did you mean {meant}?")
    }
}
