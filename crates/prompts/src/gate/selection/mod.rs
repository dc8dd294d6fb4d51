//! Selects the gates of a step and records their sources. Priority decides the order, and the label
//! of a gate with several sources. A veto removes a gate whatever its source, except a gate that
//! the user wrote into the command. This module checks no answer.

pub(crate) mod collector;
pub(crate) mod source;

use serde::{Deserialize, Serialize};

use super::{GateParameter, GateSource, InlineGateSpec};
use crate::{
    library::{PromptLibrary, is_same_name},
    model::{Activation, Gate, GateConfiguration, Methodology},
};
use collector::GateCollector;

/// The most gates of a step.
pub(super) const MAX_GATES: usize = 100;

/// The most criteria of one gate that comes from a call.
pub(super) const MAX_CRITERIA: usize = 100;

/// The most criteria that one call can request in all its gates.
pub(super) const MAX_REQUESTED_CRITERIA: usize = 200;

/// All sources of gates for a step.
#[derive(Debug, Clone, Copy)]
pub struct GateSources<'a> {
    /// The library in which gates are looked up.
    pub library: &'a PromptLibrary,
    /// The gates that the command requests with `::` for this step.
    pub inline: &'a [InlineGateSpec],
    /// The gates that the client chose from those it was offered.
    pub client: &'a [String],
    /// The `gates` parameter.
    pub parameter: &'a [GateParameter],
    /// The step on which the parameter was sent: an entry without a target applies to that step
    /// alone. Unset means that it applies to all steps.
    pub parameter_step: Option<u32>,
    /// The gates of the step's prompt.
    pub prompt: Option<&'a GateConfiguration>,
    /// The gates of the step's own definition.
    pub step_gates: &'a [String],
    /// The gates of the chain that the step belongs to.
    pub chain: Option<&'a GateConfiguration>,
    pub methodology: Option<&'a Methodology>,
    /// The category of the step's prompt.
    pub category: Option<&'a str>,
    /// The number of the step, from 1.
    pub step: u32,
}

impl<'a> GateSources<'a> {
    /// Returns the sources of a step without gates.
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

/// A gate that applies to a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SelectedGate {
    pub gate: Gate,
    /// The strongest source of the gate.
    pub source: GateSource,
    /// The other sources, strongest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<GateSource>,
}

impl SelectedGate {
    /// Returns whether the user requested the gate in this call.
    pub fn is_requested(&self) -> bool {
        self.source.is_requested() || self.also.iter().any(|source| source.is_requested())
    }
}

/// The result of selecting gates.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GateSelection {
    /// The gates that apply, strongest source first.
    pub gates: Vec<SelectedGate>,
    /// Names that match no gate.
    pub unknown: Vec<UnknownGate>,
    /// Gates that a veto removed.
    pub vetoed: Vec<VetoedGate>,
}

/// A name that matches no gate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no gate `{name}` (from: {}){}", .source_of.label(), did_you_mean(.nearest, *.source_of))]
pub struct UnknownGate {
    pub name: String,
    /// The source that used the name.
    pub source_of: GateSource,
    /// The most similar gate ids.
    pub nearest: Vec<String>,
}

impl UnknownGate {
    /// Returns whether the caller can correct the name, so that the call fails; an unknown name in
    /// a file only causes a warning.
    pub const fn is_caller_error(&self) -> bool {
        self.source_of.is_requested()
    }
}

/// A gate that a veto removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VetoedGate {
    pub gate: String,
    /// The source of the gate.
    pub source: GateSource,
    /// The source of the veto.
    pub vetoed_by: GateSource,
}

/// The error of a step with too many gates or criteria.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GateLimitError {
    /// Too many gates, or too many criteria in one gate.
    #[error("a step can have {MAX_GATES} gates of {MAX_CRITERIA} criteria each; use fewer")]
    Gates,
    /// Too many criteria in one call.
    #[error("one call can request {MAX_REQUESTED_CRITERIA} criteria in all; use fewer")]
    Criteria,
}

/// Selects the gates of a step.
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

/// Returns whether a gate or style with these activation rules is active automatically.
///
/// A framework gate needs an active methodology, and applies only to the categories and
/// methodologies that it names. For other gates and for styles, an unknown category or methodology
/// does not prevent activation.
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
        return "; resource_manager lists the existing gates".to_owned();
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let meant = names.join(", ");
    if source == GateSource::Inline {
        format!("; did you mean {meant}? If it is a criterion, put it in quotes")
    } else {
        format!("; did you mean {meant}?")
    }
}
