//! Chooses the modifier, methodology, style and gates of a step from all their sources.

use std::sync::Arc;

use deliberate_command_language::CommandModifier;
use deliberate_toolkit::{ErrorCode, ToolError};

use super::{Planner, StepScope};
use crate::{
    chain::PlannedStep,
    engine::{context::ResolvedAnnotations, errors::engine_error},
    gate::{GateParameter, GateSources, InlineGateSpec, is_active, select_gates},
    library::PromptLibrary,
    model::{ChainStep, Methodology, Prompt, ResponseStyle},
};

/// The modifier, methodology and style of a step.
pub(super) struct StepGuidance {
    pub(super) modifier: Option<CommandModifier>,
    pub(super) methodology: Option<Arc<Methodology>>,
    pub(super) style: Option<Arc<ResponseStyle>>,
}

impl Planner<'_, '_> {
    pub(super) fn choose_guidance(
        &mut self,
        prompt: Option<&Arc<Prompt>>,
        scope: &StepScope<'_>,
    ) -> StepGuidance {
        let modifier = scope
            .annotations
            .modifier
            .or(self.context.annotations.modifier);
        // A prompt that runs its own scripts gets no guidance.
        let nothing_asked = scope.annotations.gates.is_empty()
            && self.context.annotations.gates.is_empty()
            && self.context.gate_parameters.is_empty();
        let scripted = nothing_asked && prompt.is_some_and(|it| !it.tools.is_empty());
        let modifier = modifier.or(scripted.then_some(CommandModifier::Clean));
        let methodology = self.choose_methodology(scope.annotations, modifier);
        let style = self.choose_style(scope.annotations, modifier, prompt, methodology.as_deref());
        StepGuidance {
            modifier,
            methodology,
            style,
        }
    }

    /// Returns the methodology of a step: the step's own, the command's, or the active one.
    fn choose_methodology(
        &self,
        annotations: &ResolvedAnnotations,
        modifier: Option<CommandModifier>,
    ) -> Option<Arc<Methodology>> {
        if matches!(
            modifier,
            Some(CommandModifier::Clean | CommandModifier::Lean)
        ) {
            return None;
        }
        let methodology = annotations.methodology.as_ref();
        let methodology = methodology
            .or(self.context.annotations.methodology.as_ref())
            .cloned();
        methodology.or_else(|| {
            let active = self.context.settings.methodology()?;
            self.context.library.methodology(active).cloned()
        })
    }

    /// Returns the style of a step: the step's own, the command's, or the automatically active one
    /// with the highest priority.
    fn choose_style(
        &mut self,
        annotations: &ResolvedAnnotations,
        modifier: Option<CommandModifier>,
        prompt: Option<&Arc<Prompt>>,
        methodology: Option<&Methodology>,
    ) -> Option<Arc<ResponseStyle>> {
        if matches!(
            modifier,
            Some(CommandModifier::Clean | CommandModifier::Lean | CommandModifier::Framework)
        ) {
            return None;
        }
        let goes_with = |style: &ResponseStyle| {
            let wanted = &style.compatible_frameworks;
            let named = |it: &Methodology| {
                let mut names = wanted.iter();
                names.any(|name| name.eq_ignore_ascii_case(&it.id))
            };
            wanted.is_empty() || methodology.is_none_or(named)
        };
        let response_style = annotations
            .style
            .as_ref()
            .or(self.context.annotations.style.as_ref());
        if let Some(style) = response_style {
            if !goes_with(style) {
                self.notes.push(format!(
                    "Style {:?} is meant for other methodologies than the active one.",
                    style.id
                ));
            }
            return Some(style.clone());
        }
        let category = prompt.map(|it| it.category.as_str());
        let is_active = |style: &ResponseStyle| {
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

    pub(super) fn choose_gates(
        &mut self,
        node: &mut PlannedStep,
        prompt: Option<&Arc<Prompt>>,
        step: &ChainStep,
        scope: &StepScope<'_>,
        methodology: Option<&Methodology>,
    ) -> Result<(), ToolError> {
        let without = matches!(node.modifier.as_deref(), Some("clean" | "framework"));
        if without || prompt.is_none() {
            return Ok(());
        }
        let specs = &self.context.annotations.gates;
        let inline: Vec<_> = scope
            .annotations
            .gates
            .iter()
            .chain(specs)
            .cloned()
            .collect();
        if self.context.settings.gates_off {
            if !inline.is_empty() || !self.context.gate_parameters.is_empty() {
                let note = "Gates are disabled, so nothing is checked; system_control \
                            {\"action\":\"gates\",\"operation\":\"enable\"} enables them.";
                self.note_once(note.to_owned());
            }
            return Ok(());
        }
        self.check_commands(&inline)?;
        let (chosen, parameters) =
            split_client_gates(&self.context.gate_parameters, &self.context.library);
        let collected = select_gates(&GateSources {
            library: &self.context.library,
            inline: &inline,
            client: if node.number == 1 { &chosen } else { &[] },
            parameter: &parameters,
            parameter_step: Some(1),
            prompt: prompt.map(|it| &it.gates),
            step_gates: &step.gates,
            chain: scope.chain.map(|it| &it.gates),
            methodology,
            category: Some(&node.category),
            step: node.number,
        })
        .map_err(|error| engine_error(ErrorCode::TooManyGates, error.to_string(), None))?;
        for unknown in &collected.unknown {
            if unknown.is_caller_error() {
                return Err(engine_error(
                    ErrorCode::UnknownName,
                    unknown.to_string(),
                    "Use a gate's id, or write the criterion as a sentence in quotes.",
                ));
            }
            self.note_once(format!("{}.", unknown.to_string().trim_end_matches('?')));
        }
        node.gates = collected.gates;
        Ok(())
    }

    /// Rejects a check that cannot be made before the work, not after it.
    fn check_commands(&self, inline: &[InlineGateSpec]) -> Result<(), ToolError> {
        for gate in inline {
            match gate {
                InlineGateSpec::Verify(check) => {
                    let allowed = self.context.engine.runner.check_command(&check.command);
                    allowed.map_err(|error| {
                        engine_error(ErrorCode::NotAllowed, error.to_string(), None)
                    })?;
                }
                InlineGateSpec::Word(word) => self.check_gate_word(word)?,
                InlineGateSpec::Criterion(_) | InlineGateSpec::Named { .. } => {}
            }
        }
        Ok(())
    }

    /// Rejects a word that names a gate with broken files; it must not become a criterion.
    fn check_gate_word(&self, word: &str) -> Result<(), ToolError> {
        let library = &self.context.library;
        if library.gate(word).is_some() {
            return Ok(());
        }
        let problem = library.blocking_problem(crate::model::LibraryItemKind::Gate, word);
        problem.map_or(Ok(()), |problem| {
            Err(engine_error(
                ErrorCode::BrokenResource,
                format!("gate {word:?} can't be used: {}", problem.summary()),
                "Correct it; `deliberate prompt check` shows where.",
            ))
        })
    }

    fn note_once(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// Splits the `gates` parameter into the library gates that the client chose and the gates it wrote
/// itself.
fn split_client_gates(
    parameters: &[GateParameter],
    library: &PromptLibrary,
) -> (Vec<String>, Vec<GateParameter>) {
    let mut chosen = Vec::new();
    let mut gate_parameters = Vec::new();
    for gate in parameters {
        match gate {
            GateParameter::Word(word) if library.gate(word).is_some() => chosen.push(word.clone()),
            other => gate_parameters.push(other.clone()),
        }
    }
    (chosen, gate_parameters)
}
