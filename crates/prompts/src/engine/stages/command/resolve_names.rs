//! Resolves the prompts, methodologies and styles that the command names. Every unknown name is
//! reported at its position, with the most similar known name.

use std::sync::Arc;

use deliberate_command_language::{
    CommandAnnotations as WrittenMarks, CommandStage as WrittenStage, CommandStep, Diagnostic,
    DiagnosticCode, GateAnnotation, Spanned, StageKind, unknown_name,
};
use deliberate_toolkit::{ErrorCode, ToolError};
use futures::future::BoxFuture;
use serde_json::Map;

use crate::{
    engine::{
        EngineContext, StageOutcome,
        context::{ResolvedAnnotations, ResolvedStage, ResolvedStep},
        errors::command_error,
        stages::EngineStage,
    },
    gate::InlineGateSpec,
    library::PromptLibrary,
    model::{LibraryItemKind, ShellCheck, ShellCheckPreset},
};

pub(crate) struct ResolveNames;

impl EngineStage for ResolveNames {
    fn name(&self) -> &'static str {
        "resolve"
    }

    fn run<'a>(
        &'a self,
        context: &'a mut EngineContext<'_>,
    ) -> BoxFuture<'a, Result<StageOutcome, ToolError>> {
        Box::pin(async move {
            let Some(command) = context.command.take() else {
                return Ok(StageOutcome::Next);
            };
            let library = context.library.clone();
            let mut names = NameResolver {
                library: &library,
                unknown: Vec::new(),
            };
            context.annotations = names.resolve_annotations(command.whole);
            let staged = command
                .stages
                .into_iter()
                .map(|stage| names.resolve_stage(stage));
            context.stages = staged.collect();
            if names.unknown.is_empty() {
                return Ok(StageOutcome::Next);
            }
            Err(command_error(
                ErrorCode::UnknownName,
                &context.source,
                &names.unknown,
            ))
        })
    }
}

struct NameResolver<'a> {
    library: &'a PromptLibrary,
    unknown: Vec<Diagnostic>,
}

impl NameResolver<'_> {
    fn resolve_stage(&mut self, stage: WrittenStage) -> ResolvedStage {
        let delegated = stage.arrow == deliberate_command_language::Arrow::Delegate;
        let (condition, then, otherwise) = match stage.kind {
            StageKind::Group(steps) => (None, steps, Vec::new()),
            StageKind::Conditional {
                condition,
                then,
                otherwise,
            } => (Some(condition.value), then, otherwise),
        };
        ResolvedStage {
            delegated,
            condition,
            then: self.resolve_steps(then),
            otherwise: self.resolve_steps(otherwise),
        }
    }

    fn resolve_steps(&mut self, steps: Vec<CommandStep>) -> Vec<ResolvedStep> {
        steps
            .into_iter()
            .filter_map(|step| self.resolve_step(step))
            .collect()
    }

    fn resolve_step(&mut self, mut step: CommandStep) -> Option<ResolvedStep> {
        let resolved_annotations = self.resolve_annotations(std::mem::take(&mut step.marks));
        let Some(prompt) = self.library.prompt(&step.id.value) else {
            self.unknown.push(self.unknown_prompt(&step.id));
            return None;
        };
        Some(ResolvedStep {
            prompt: prompt.clone(),
            annotations: resolved_annotations,
            arguments: Map::new(),
            previous_result_argument: None,
            command_step: step,
        })
    }

    /// Returns the diagnostic of a prompt that does not exist or is broken.
    fn unknown_prompt(&self, id: &Spanned<String>) -> Diagnostic {
        if let Some(problem) = self
            .library
            .blocking_problem(LibraryItemKind::Prompt, &id.value)
        {
            let message = format!("prompt `{}` can't be used", id.value);
            let broken =
                Diagnostic::new(DiagnosticCode::UnknownName, id.span, message, "is broken");
            return broken.with_help(problem.summary());
        }
        let known = self.library.prompts.keys().map(String::as_str);
        unknown_name("prompt", &id.value, id.span, known)
    }

    fn resolve_annotations(&mut self, written: WrittenMarks) -> ResolvedAnnotations {
        ResolvedAnnotations {
            modifier: written.modifier.map(|it| it.value),
            methodology: written.framework.and_then(|name| {
                let library = self.library;
                let ids = library.methodologies.iter();
                let enabled = ids.filter(|(_, it)| it.enabled).map(|(id, _)| id.as_str());
                self.resolve_name(
                    "methodology",
                    &name,
                    library.methodology(&name.value),
                    enabled,
                )
            }),
            style: written.style.and_then(|name| {
                let library = self.library;
                let ids = library.styles.iter();
                let enabled = ids.filter(|(_, it)| it.enabled).map(|(id, _)| id.as_str());
                self.resolve_name("style", &name, library.style(&name.value), enabled)
            }),
            gates: written.gates.into_iter().flat_map(inline_gates).collect(),
        }
    }

    fn resolve_name<'n, T>(
        &mut self,
        kind: &str,
        name: &Spanned<String>,
        found: Option<&Arc<T>>,
        known: impl Iterator<Item = &'n str>,
    ) -> Option<Arc<T>> {
        if found.is_none() {
            let unknown = unknown_name(kind, &name.value, name.span, known);
            self.unknown.push(unknown);
        }
        found.cloned()
    }
}

/// Converts a gate annotation of the command.
fn inline_gates(spanned: Spanned<GateAnnotation>) -> Vec<InlineGateSpec> {
    match spanned.value {
        GateAnnotation::Criteria(texts) => texts
            .into_iter()
            .map(|text| InlineGateSpec::Criterion(text.value))
            .collect(),
        GateAnnotation::Word(word) => vec![InlineGateSpec::Word(word)],
        GateAnnotation::Named { name, text } => vec![InlineGateSpec::Named { id: name, text }],
        GateAnnotation::Verify(verify) => vec![InlineGateSpec::Verify(ShellCheck {
            command: verify.command,
            timeout_ms: verify.timeout.map(|seconds| u64::from(seconds) * 1_000),
            max_attempts: verify.max,
            preset: verify.preset.map(|preset| match preset {
                deliberate_command_language::ShellVerifyPreset::Fast => ShellCheckPreset::Fast,
                deliberate_command_language::ShellVerifyPreset::Full => ShellCheckPreset::Full,
                deliberate_command_language::ShellVerifyPreset::Extended => {
                    ShellCheckPreset::Extended
                }
            }),
            ..ShellCheck::default()
        })],
    }
}
