//! Gates being collected, source by source, strongest first. Finds ids in the library and keeps
//! what it does not find; takes away what a veto names when all is there.

use deliberate_core::nearest;

use super::{
    Asked, Chosen, Collected, Inline, Removed, Source, Sources, TooMany, Unknown, asked,
    collect::{MOST_ASKED, MOST_CRITERIA, MOST_GATES},
};
use crate::{
    library::{Library, same},
    model::{Gate, GateConfiguration, InlineGate},
};

/// Whether a text is meant as the id of a gate and not as a sentence.
fn looks_like_id(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|it| it.is_alphanumeric() || matches!(it, '-' | '_' | '.' | '/'))
}

/// What is being collected.
pub(super) struct Pile<'a> {
    library: &'a Library,
    gates: Vec<Chosen>,
    vetoes: Vec<(String, Source)>,
    unknown: Vec<Unknown>,
    overflowed: bool,
    /// The criteria that this call asks for, for whichever step.
    asked: usize,
}

impl<'a> Pile<'a> {
    pub(super) const fn new(library: &'a Library) -> Self {
        Self {
            library,
            gates: Vec::new(),
            vetoes: Vec::new(),
            unknown: Vec::new(),
            overflowed: false,
            asked: 0,
        }
    }

    pub(super) fn inline(&mut self, all: &[Inline]) {
        let mut words = Vec::new();
        let mut commands = 0_usize;
        for one in all {
            match one {
                Inline::Word(word) => match self.library.gate(word) {
                    Some(gate) => self.add((**gate).clone(), Source::Inline),
                    // A slip of a gate's name is no criterion.
                    None if self.is_like_a_gate(word) => self.not_found(word, Source::Inline),
                    None => words.push(word.clone()),
                },
                Inline::Criterion(text) => words.push(text.clone()),
                Inline::Named { id, text } => {
                    let gate = asked::of_words(id, id, std::slice::from_ref(text));
                    self.add(gate, Source::Inline);
                }
                Inline::Verify(check) => {
                    commands += 1;
                    let id = if commands == 1 {
                        "verify".to_owned()
                    } else {
                        format!("verify-{commands}")
                    };
                    self.add(asked::of_command(check, id), Source::Inline);
                }
            }
        }
        self.criteria("inline-criteria", "Inline criteria", &words, Source::Inline);
    }

    fn is_like_a_gate(&self, word: &str) -> bool {
        looks_like_id(word)
            && nearest(word, self.library.gates.keys().map(String::as_str)).is_some()
    }

    pub(super) fn parameter(&mut self, from: &Sources<'_>) {
        let here = from.parameter_at.is_none_or(|at| at == from.step);
        let mut words = Vec::new();
        for (at, entry) in from.parameter.iter().enumerate() {
            match entry {
                Asked::Word(word) => {
                    let word = word.trim();
                    let vetoed = word.strip_prefix(['-', '!']).filter(|it| looks_like_id(it));
                    // A veto is for the whole run: nobody wants half of a gate.
                    if let Some(vetoed) = vetoed {
                        self.vetoes.push((vetoed.to_owned(), Source::Parameter));
                    } else if here {
                        words.push(word.to_owned());
                    }
                }
                Asked::Gate(gate) => {
                    if targets(gate, from.step).unwrap_or(here) {
                        let fallback = format!("gate-{}", at + 1);
                        self.add(asked::of_definition(gate, &fallback), Source::Parameter);
                    } else {
                        self.asked += gate.criteria.len() + gate.pass_criteria.len();
                    }
                }
            }
        }
        self.words(&words, Source::Parameter, "given-criteria");
    }

    pub(super) fn configuration(&mut self, it: &GateConfiguration, source: Source, step: u32) {
        self.words(&it.include, source, &format!("{}-criteria", source.label()));
        for (at, gate) in it.inline_gate_definitions.iter().enumerate() {
            if targets(gate, step).unwrap_or(true) {
                let fallback = format!("{}-gate-{}", source.label(), at + 1);
                self.add(asked::of_definition(gate, &fallback), source);
            }
        }
        for id in &it.exclude {
            self.vetoes.push((id.clone(), source));
        }
    }

    pub(super) fn methodology(&mut self, from: &Sources<'_>) {
        let Some(it) = from.methodology else { return };
        for id in &it.gates.exclude {
            self.vetoes.push((id.clone(), Source::Methodology));
        }
        let unwanted = [from.prompt, from.chain]
            .into_iter()
            .flatten()
            .any(|gates| gates.framework_gates == Some(false));
        if unwanted {
            return;
        }
        for gate in &it.methodology_gates {
            self.add(asked::of_methodology(gate), Source::Methodology);
        }
        self.words(
            &it.gates.include,
            Source::Methodology,
            "methodology-criteria",
        );
    }

    /// Ids and sentences, mixed: the sentences become one gate.
    pub(super) fn words(&mut self, all: &[String], source: Source, id: &str) {
        let mut sentences = Vec::new();
        for text in all {
            let text = text.trim();
            if self.library.gate(text).is_some() || looks_like_id(text) {
                self.named(text, source);
            } else if !text.is_empty() {
                sentences.push(text.to_owned());
            }
        }
        let name = match source {
            Source::Parameter => "Given criteria".to_owned(),
            source => format!("Criteria of the {}", source.label()),
        };
        self.criteria(id, &name, &sentences, source);
    }

    fn criteria(&mut self, id: &str, name: &str, words: &[String], source: Source) {
        if !words.is_empty() {
            self.add(asked::of_words(id, name, words), source);
        }
    }

    pub(super) fn named(&mut self, id: &str, source: Source) {
        match self.library.gate(id) {
            Some(gate) => self.add((**gate).clone(), source),
            None => self.not_found(id, source),
        }
    }

    fn not_found(&mut self, name: &str, source: Source) {
        let mut left: Vec<&str> = self.library.gates.keys().map(String::as_str).collect();
        let mut found = Vec::new();
        while found.len() < 3
            && let Some(like) = nearest(name, left.iter().copied())
        {
            left.retain(|it| *it != like);
            found.push(like);
        }
        self.unknown.push(Unknown {
            name: name.chars().take(100).collect(),
            source_of: source,
            nearest: found,
        });
    }

    /// Adds a gate. Sources come strongest first, so one that is there already keeps its place.
    pub(super) fn add(&mut self, gate: Gate, source: Source) {
        if source.was_asked() {
            self.asked += gate.criteria.len();
        }
        if let Some(there) = self.gates.iter_mut().find(|it| same(&it.gate.id, &gate.id)) {
            if there.source != source && !there.also.contains(&source) {
                there.also.push(source);
            }
            return;
        }
        if self.gates.len() >= MOST_GATES || gate.criteria.len() > MOST_CRITERIA {
            self.overflowed = true;
            return;
        }
        self.gates.push(Chosen {
            gate,
            source,
            also: Vec::new(),
        });
    }

    pub(super) fn end(mut self) -> Result<Collected, TooMany> {
        if self.overflowed {
            return Err(TooMany::Gates);
        }
        if self.asked > MOST_ASKED {
            return Err(TooMany::Criteria);
        }
        let unknown: Vec<String> = self
            .vetoes
            .iter()
            .filter(|(_, source)| *source == Source::Parameter)
            .filter(|(id, _)| self.library.gate(id).is_none())
            .filter(|(id, _)| !self.gates.iter().any(|it| same(&it.gate.id, id)))
            .map(|(id, _)| id.clone())
            .collect();
        for id in unknown {
            self.not_found(&id, Source::Parameter);
        }
        let mut collected = Collected {
            unknown: self.unknown,
            ..Collected::default()
        };
        for chosen in self.gates {
            let veto = self.vetoes.iter().find(|(id, _)| same(id, &chosen.gate.id));
            match veto {
                Some((_, by)) if chosen.source != Source::Inline => {
                    collected.removed.push(Removed {
                        gate: chosen.gate.id,
                        source: chosen.source,
                        by: *by,
                    });
                }
                _ => collected.gates.push(chosen),
            }
        }
        Ok(collected)
    }
}

/// Whether a gate that names its steps is for this one; none if it names none.
fn targets(gate: &InlineGate, step: u32) -> Option<bool> {
    let named = gate.target_step_number.is_some() || !gate.apply_to_steps.is_empty();
    named.then(|| gate.target_step_number == Some(step) || gate.apply_to_steps.contains(&step))
}
