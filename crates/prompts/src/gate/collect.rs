//! Which gates apply to a step, and where each came from. Priority decides the order and the
//! label of a gate that several places ask for; a veto takes a gate away whoever brought it,
//! save what the user wrote into the command. Checks nothing itself.

use serde::{Deserialize, Serialize};

use super::{Asked, Inline, Source, pile::Pile};
use crate::{
    library::{Library, same},
    model::{Activation, Gate, GateConfiguration, Methodology},
};

/// The most gates a step can have.
pub(super) const MOST_GATES: usize = 100;

/// The most criteria of one gate that come from a call.
pub(super) const MOST_CRITERIA: usize = 100;

/// The most criteria that one call can ask for, all its gates together.
pub(super) const MOST_ASKED: usize = 200;

/// Everything that can bring a gate to a step.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// Where gates are looked up.
    pub library: &'a Library,
    /// What the command asks for with `::`, for this step.
    pub inline: &'a [Inline],
    /// What the client chose from what it was offered.
    pub client: &'a [String],
    /// The `gates` parameter.
    pub parameter: &'a [Asked],
    /// The step on which the parameter came: an entry without a target is for that step alone.
    /// Unset means that it is for all.
    pub parameter_at: Option<u32>,
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

impl<'a> Sources<'a> {
    /// A step that nobody asks anything of.
    pub const fn none(library: &'a Library) -> Self {
        Self {
            library,
            inline: &[],
            client: &[],
            parameter: &[],
            parameter_at: None,
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
pub struct Chosen {
    /// The gate.
    pub gate: Gate,
    /// The place that has the last word on it.
    pub source: Source,
    /// The other places that ask for it, strongest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Source>,
}

impl Chosen {
    /// Whether the user asked for it in this call.
    pub fn was_asked(&self) -> bool {
        self.source.was_asked() || self.also.iter().any(|source| source.was_asked())
    }
}

/// What was collected.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Collected {
    /// The gates that apply, strongest source first.
    pub gates: Vec<Chosen>,
    /// Names that no gate has.
    pub unknown: Vec<Unknown>,
    /// What a veto took away.
    pub removed: Vec<Removed>,
}

/// A name that no gate has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no gate `{name}` (from: {}){}", .source_of.label(), did_you_mean(.nearest, *.source_of))]
pub struct Unknown {
    /// The name.
    pub name: String,
    /// Who used it.
    pub source_of: Source,
    /// The gates it is most like.
    pub nearest: Vec<String>,
}

impl Unknown {
    /// Whether the caller can mend it, so that the call is refused; what stands in files is only
    /// warned of.
    pub const fn is_callers(&self) -> bool {
        self.source_of.was_asked()
    }
}

/// A gate that a veto took away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Its id.
    pub gate: String,
    /// Who brought it.
    pub source: Source,
    /// Who took it away.
    pub by: Source,
}

/// More than a step can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooMany {
    /// Too many gates, or too many criteria in one of them.
    #[error("a step can have {MOST_GATES} gates of {MOST_CRITERIA} criteria each; ask for fewer")]
    Gates,
    /// Too many criteria in all.
    #[error("one call can ask for {MOST_ASKED} criteria in all; ask for fewer")]
    Criteria,
}

/// The gates of a step.
pub fn collect(from: &Sources<'_>) -> Result<Collected, TooMany> {
    let mut pile = Pile::new(from.library);
    pile.inline(from.inline);
    for id in from.client {
        pile.named(id, Source::Client);
    }
    pile.parameter(from);
    if let Some(prompt) = from.prompt {
        pile.configuration(prompt, Source::Prompt, from.step);
    }
    pile.words(from.step_gates, Source::Prompt, "step-criteria");
    if let Some(chain) = from.chain {
        pile.configuration(chain, Source::Chain, from.step);
    }
    pile.methodology(from);
    for gate in from.library.gates.values() {
        let is_framework = gate.gate_type == "framework";
        let active = gate
            .activation
            .as_ref()
            .is_none_or(|when| is_active(when, is_framework, from.category, from.methodology));
        if active {
            pile.add((**gate).clone(), Source::Registry);
        }
    }
    pile.end()
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
                    .any(|it| there.iter().any(|that| same(it, that)))
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

fn did_you_mean(names: &[String], source: Source) -> String {
    if names.is_empty() {
        return "; resource_manager lists the gates there are".to_owned();
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let meant = names.join(", ");
    if source == Source::Inline {
        format!("; did you mean {meant}? If it is a criterion, put it in quotes")
    } else {
        format!("; did you mean {meant}?")
    }
}
