//! Collects the gates of a step source by source, strongest first. It looks up ids in the library,
//! records unknown ids, and applies the vetoes at the end.

use deliberate_core::did_you_mean;

use super::{MAX_CRITERIA, MAX_GATES, MAX_REQUESTED_CRITERIA};
use crate::{
    gate::{
        GateLimitError, GateParameter, GateSelection, GateSource, GateSources, InlineGateSpec,
        SelectedGate, UnknownGate, VetoedGate, inline_gate,
    },
    library::{PromptLibrary, is_same_name},
    model::{Gate, GateConfiguration, InlineGate},
};

/// Returns whether a text looks like a gate id and not like a sentence.
fn looks_like_id(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|it| it.is_alphanumeric() || matches!(it, '-' | '_' | '.' | '/'))
}

/// The gates collected so far.
pub(crate) struct GateCollector<'a> {
    library: &'a PromptLibrary,
    gates: Vec<SelectedGate>,
    vetoes: Vec<(String, GateSource)>,
    unknown: Vec<UnknownGate>,
    overflowed: bool,
    /// The criteria that this call requests, for all steps.
    requested_criteria: usize,
}

impl<'a> GateCollector<'a> {
    pub(crate) const fn new(library: &'a PromptLibrary) -> Self {
        Self {
            library,
            gates: Vec::new(),
            vetoes: Vec::new(),
            unknown: Vec::new(),
            overflowed: false,
            requested_criteria: 0,
        }
    }

    pub(crate) fn add_inline(&mut self, all: &[InlineGateSpec]) {
        let mut words = Vec::new();
        let mut commands = 0_usize;
        for one in all {
            match one {
                InlineGateSpec::Word(word) => match self.library.gate(word) {
                    Some(gate) => self.add((**gate).clone(), GateSource::Inline),
                    // A misspelled gate name is not a criterion.
                    None if self.resembles_gate_id(word) => {
                        self.add_unknown(word, GateSource::Inline);
                    }
                    None => words.push(word.clone()),
                },
                InlineGateSpec::Criterion(text) => words.push(text.clone()),
                InlineGateSpec::Named { id, text } => {
                    let gate = inline_gate::gate_from_sentences(id, id, std::slice::from_ref(text));
                    self.add(gate, GateSource::Inline);
                }
                InlineGateSpec::Verify(check) => {
                    commands += 1;
                    let id = if commands == 1 {
                        "verify".to_owned()
                    } else {
                        format!("verify-{commands}")
                    };
                    self.add(
                        inline_gate::gate_from_command(check, id),
                        GateSource::Inline,
                    );
                }
            }
        }
        self.add_criteria(
            "inline-criteria",
            "Inline criteria",
            &words,
            GateSource::Inline,
        );
    }

    fn resembles_gate_id(&self, word: &str) -> bool {
        looks_like_id(word)
            && did_you_mean(word, self.library.gates.keys().map(String::as_str)).is_some()
    }

    pub(crate) fn add_parameter(&mut self, from: &GateSources<'_>) {
        let here = from.parameter_step.is_none_or(|at| at == from.step);
        let mut words = Vec::new();
        for (at, entry) in from.parameter.iter().enumerate() {
            match entry {
                GateParameter::Word(word) => {
                    let word = word.trim();
                    let vetoed = word.strip_prefix(['-', '!']).filter(|it| looks_like_id(it));
                    // A veto applies to the whole run, so that no gate applies to only part of it.
                    if let Some(vetoed) = vetoed {
                        self.vetoes.push((vetoed.to_owned(), GateSource::Parameter));
                    } else if here {
                        words.push(word.to_owned());
                    }
                }
                GateParameter::Gate(gate) => {
                    if targets_step(gate, from.step).unwrap_or(here) {
                        let fallback = format!("gate-{}", at + 1);
                        self.add(
                            inline_gate::gate_from_definition(gate, &fallback),
                            GateSource::Parameter,
                        );
                    } else {
                        self.requested_criteria += gate.criteria.len() + gate.pass_criteria.len();
                    }
                }
            }
        }
        self.add_ids_and_sentences(&words, GateSource::Parameter, "given-criteria");
    }

    pub(crate) fn add_configuration(
        &mut self,
        it: &GateConfiguration,
        source: GateSource,
        step: u32,
    ) {
        self.add_ids_and_sentences(&it.include, source, &format!("{}-criteria", source.label()));
        for (at, gate) in it.inline_gate_definitions.iter().enumerate() {
            if targets_step(gate, step).unwrap_or(true) {
                let fallback = format!("{}-gate-{}", source.label(), at + 1);
                self.add(inline_gate::gate_from_definition(gate, &fallback), source);
            }
        }
        for id in &it.exclude {
            self.vetoes.push((id.clone(), source));
        }
    }

    pub(crate) fn add_methodology(&mut self, from: &GateSources<'_>) {
        let Some(it) = from.methodology else { return };
        for id in &it.gates.exclude {
            self.vetoes.push((id.clone(), GateSource::Methodology));
        }
        let unwanted = [from.prompt, from.chain]
            .into_iter()
            .flatten()
            .any(|gates| gates.framework_gates == Some(false));
        if unwanted {
            return;
        }
        for gate in &it.methodology_gates {
            self.add(
                inline_gate::gate_from_methodology(gate),
                GateSource::Methodology,
            );
        }
        self.add_ids_and_sentences(
            &it.gates.include,
            GateSource::Methodology,
            "methodology-criteria",
        );
    }

    /// Adds ids and sentences; the sentences become one gate.
    pub(crate) fn add_ids_and_sentences(&mut self, all: &[String], source: GateSource, id: &str) {
        let mut sentences = Vec::new();
        for text in all {
            let text = text.trim();
            if self.library.gate(text).is_some() || looks_like_id(text) {
                self.add_by_id(text, source);
            } else if !text.is_empty() {
                sentences.push(text.to_owned());
            }
        }
        let name = match source {
            GateSource::Parameter => "Given criteria".to_owned(),
            source => format!("Criteria of the {}", source.label()),
        };
        self.add_criteria(id, &name, &sentences, source);
    }

    fn add_criteria(&mut self, id: &str, name: &str, words: &[String], source: GateSource) {
        if !words.is_empty() {
            self.add(inline_gate::gate_from_sentences(id, name, words), source);
        }
    }

    pub(crate) fn add_by_id(&mut self, id: &str, source: GateSource) {
        match self.library.gate(id) {
            Some(gate) => self.add((**gate).clone(), source),
            None => self.add_unknown(id, source),
        }
    }

    fn add_unknown(&mut self, name: &str, source: GateSource) {
        let mut left: Vec<&str> = self.library.gates.keys().map(String::as_str).collect();
        let mut found = Vec::new();
        while found.len() < 3
            && let Some(like) = did_you_mean(name, left.iter().copied())
        {
            left.retain(|it| *it != like);
            found.push(like);
        }
        self.unknown.push(UnknownGate {
            name: name.chars().take(100).collect(),
            source_of: source,
            nearest: found,
        });
    }

    /// Adds a gate. Sources come strongest first, so a gate that is already present keeps its
    /// source.
    pub(crate) fn add(&mut self, gate: Gate, source: GateSource) {
        if source.is_requested() {
            self.requested_criteria += gate.criteria.len();
        }
        if let Some(there) = self
            .gates
            .iter_mut()
            .find(|it| is_same_name(&it.gate.id, &gate.id))
        {
            if there.source != source && !there.also.contains(&source) {
                there.also.push(source);
            }
            return;
        }
        if self.gates.len() >= MAX_GATES || gate.criteria.len() > MAX_CRITERIA {
            self.overflowed = true;
            return;
        }
        self.gates.push(SelectedGate {
            gate,
            source,
            also: Vec::new(),
        });
    }

    pub(crate) fn finish(mut self) -> Result<GateSelection, GateLimitError> {
        if self.overflowed {
            return Err(GateLimitError::Gates);
        }
        if self.requested_criteria > MAX_REQUESTED_CRITERIA {
            return Err(GateLimitError::Criteria);
        }
        let unknown: Vec<String> = self
            .vetoes
            .iter()
            .filter(|(_, source)| *source == GateSource::Parameter)
            .filter(|(id, _)| self.library.gate(id).is_none())
            .filter(|(id, _)| !self.gates.iter().any(|it| is_same_name(&it.gate.id, id)))
            .map(|(id, _)| id.clone())
            .collect();
        for id in unknown {
            self.add_unknown(&id, GateSource::Parameter);
        }
        let mut collected = GateSelection {
            unknown: self.unknown,
            ..GateSelection::default()
        };
        for chosen in self.gates {
            let veto = self
                .vetoes
                .iter()
                .find(|(id, _)| is_same_name(id, &chosen.gate.id));
            match veto {
                Some((_, by)) if chosen.source != GateSource::Inline => {
                    collected.vetoed.push(VetoedGate {
                        gate: chosen.gate.id,
                        source: chosen.source,
                        vetoed_by: *by,
                    });
                }
                _ => collected.gates.push(chosen),
            }
        }
        Ok(collected)
    }
}

/// Returns whether the gate targets this step; `None` if it names no steps.
fn targets_step(gate: &InlineGate, step: u32) -> Option<bool> {
    let named = gate.target_step_number.is_some() || !gate.apply_to_steps.is_empty();
    named.then(|| gate.target_step_number == Some(step) || gate.apply_to_steps.contains(&step))
}
