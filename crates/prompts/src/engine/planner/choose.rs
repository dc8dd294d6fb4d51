//! What is put around a step: its modifier, methodology, style and gates, from all the places that
//! may ask for them.

use std::sync::Arc;

use deliberate_language::Modifier;
use deliberate_toolkit::ToolError;

use super::{Place, Planner};
use crate::{
    chain::Node,
    engine::{context::Marks, failure::failure},
    gate::{Asked, Inline, Sources, collect, is_active},
    library::Library,
    model::{ChainStep, Methodology, Prompt, Style},
};

/// What was chosen for a step.
pub(super) struct Chosen {
    pub(super) modifier: Option<Modifier>,
    pub(super) methodology: Option<Arc<Methodology>>,
    pub(super) style: Option<Arc<Style>>,
}

impl Planner<'_, '_> {
    pub(super) fn choose(&mut self, prompt: Option<&Arc<Prompt>>, place: &Place<'_>) -> Chosen {
        let modifier = place.marks.modifier.or(self.context.marks.modifier);
        // A prompt that runs scripts of its own wants nothing around it.
        let nothing_asked = place.marks.gates.is_empty()
            && self.context.marks.gates.is_empty()
            && self.context.asked_gates.is_empty();
        let scripted = nothing_asked && prompt.is_some_and(|it| !it.tools.is_empty());
        let modifier = modifier.or(scripted.then_some(Modifier::Clean));
        let methodology = self.methodology(place.marks, modifier);
        let style = self.style(place.marks, modifier, prompt, methodology.as_deref());
        Chosen {
            modifier,
            methodology,
            style,
        }
    }

    /// The methodology of a step: what stands at it, at the command, or is switched on.
    fn methodology(&self, marks: &Marks, modifier: Option<Modifier>) -> Option<Arc<Methodology>> {
        if matches!(modifier, Some(Modifier::Clean | Modifier::Lean)) {
            return None;
        }
        let asked = marks.methodology.as_ref();
        let asked = asked.or(self.context.marks.methodology.as_ref()).cloned();
        asked.or_else(|| {
            let active = self.context.settings.methodology()?;
            self.context.library.methodology(active).cloned()
        })
    }

    /// The style of a step: what stands at it or at the command, else the strongest that is active
    /// by itself.
    fn style(
        &mut self,
        marks: &Marks,
        modifier: Option<Modifier>,
        prompt: Option<&Arc<Prompt>>,
        methodology: Option<&Methodology>,
    ) -> Option<Arc<Style>> {
        if matches!(
            modifier,
            Some(Modifier::Clean | Modifier::Lean | Modifier::Framework)
        ) {
            return None;
        }
        let goes_with = |style: &Style| {
            let wanted = &style.compatible_frameworks;
            let named = |it: &Methodology| {
                let mut names = wanted.iter();
                names.any(|name| name.eq_ignore_ascii_case(&it.id))
            };
            wanted.is_empty() || methodology.is_none_or(named)
        };
        let asked = marks.style.as_ref().or(self.context.marks.style.as_ref());
        if let Some(style) = asked {
            if !goes_with(style) {
                self.notes.push(format!(
                    "Style {:?} is meant for other methodologies than the one in use.",
                    style.id
                ));
            }
            return Some(style.clone());
        }
        let category = prompt.map(|it| it.category.as_str());
        let is_active = |style: &Style| {
            let when = style.activation.as_ref();
            when.is_some_and(|when| {
                let known = when.framework_context.is_empty() || methodology.is_some();
                known && is_active(when, false, category, methodology)
            })
        };
        let styles = self.context.library.styles.values();
        styles
            .filter(|style| style.enabled && is_active(style) && goes_with(style))
            .max_by_key(|style| style.priority)
            .cloned()
    }

    pub(super) fn gates(
        &mut self,
        node: &mut Node,
        prompt: Option<&Arc<Prompt>>,
        step: &ChainStep,
        place: &Place<'_>,
        methodology: Option<&Methodology>,
    ) -> Result<(), ToolError> {
        let without = matches!(node.modifier.as_deref(), Some("clean" | "framework"));
        if without || prompt.is_none() {
            return Ok(());
        }
        let whole = &self.context.marks.gates;
        let inline: Vec<_> = place.marks.gates.iter().chain(whole).cloned().collect();
        if self.context.settings.gates_off {
            if !inline.is_empty() || !self.context.asked_gates.is_empty() {
                let note = "Gates are switched off, so nothing is checked; system_control \
                            {\"action\":\"gates\",\"operation\":\"enable\"} switches them on.";
                self.note_once(note.to_owned());
            }
            return Ok(());
        }
        self.check_commands(&inline)?;
        let (chosen, written) = by_client(&self.context.asked_gates, &self.context.library);
        let collected = collect(&Sources {
            library: &self.context.library,
            inline: &inline,
            client: if node.number == 1 { &chosen } else { &[] },
            parameter: &written,
            parameter_at: Some(1),
            prompt: prompt.map(|it| &it.gates),
            step_gates: &step.gates,
            chain: place.chain.map(|it| &it.gates),
            methodology,
            category: Some(&node.category),
            step: node.number,
        })
        .map_err(|error| failure("TooManyGates", error.to_string(), None))?;
        for unknown in &collected.unknown {
            if unknown.is_callers() {
                return Err(failure(
                    "UnknownName",
                    unknown.to_string(),
                    "Use a gate's id, or write the criterion as a sentence in quotes.",
                ));
            }
            self.note_once(format!("{}.", unknown.to_string().trim_end_matches('?')));
        }
        node.gates = collected.gates;
        Ok(())
    }

    /// A check that can't be made is told before the work, not after it.
    fn check_commands(&self, inline: &[Inline]) -> Result<(), ToolError> {
        for gate in inline {
            match gate {
                Inline::Verify(check) => {
                    let allowed = self.context.engine.runner.allowed(&check.command);
                    allowed.map_err(|error| failure("NotAllowed", error.to_string(), None))?;
                }
                Inline::Word(word) => self.check_word(word)?,
                Inline::Criterion(_) | Inline::Named { .. } => {}
            }
        }
        Ok(())
    }

    /// A word that names a gate whose files are broken means that gate, and not a criterion.
    fn check_word(&self, word: &str) -> Result<(), ToolError> {
        let library = &self.context.library;
        if library.gate(word).is_some() {
            return Ok(());
        }
        let problem = library.problem_of(crate::model::Kind::Gate, word);
        problem.map_or(Ok(()), |problem| {
            Err(failure(
                "BrokenResource",
                format!("gate {word:?} can't be used: {}", problem.in_short()),
                "Mend it; `deliberate prompt check` shows where.",
            ))
        })
    }

    fn note_once(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// The `gates` parameter: gates of the library that the client chose, and what it wrote itself.
fn by_client(asked: &[Asked], library: &Library) -> (Vec<String>, Vec<Asked>) {
    let mut chosen = Vec::new();
    let mut written = Vec::new();
    for gate in asked {
        match gate {
            Asked::Word(word) if library.gate(word).is_some() => chosen.push(word.clone()),
            other => written.push(other.clone()),
        }
    }
    (chosen, written)
}
