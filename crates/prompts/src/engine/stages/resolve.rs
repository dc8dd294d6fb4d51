//! Finds what the command names: prompts, methodologies, styles. Every name that there is not is
//! told at its place, with the nearest that there is.

use std::sync::Arc;

use deliberate_language::{
    Code, Diagnostic, GateMark, Marks as WrittenMarks, Spanned, Stage as WrittenStage, StageKind,
    Step, unknown_name,
};
use deliberate_toolkit::ToolError;
use futures::future::BoxFuture;
use serde_json::Map;

use super::Stage;
use crate::{
    engine::{
        Context, Flow,
        context::{Bound, Marks, Staged},
        failure::in_command,
    },
    gate::Inline,
    library::Library,
    model::{Kind, Preset, ShellCheck},
};

pub(super) struct Resolve;

impl Stage for Resolve {
    fn name(&self) -> &'static str {
        "resolve"
    }

    fn run<'a>(&'a self, context: &'a mut Context<'_>) -> BoxFuture<'a, Result<Flow, ToolError>> {
        Box::pin(async move {
            let Some(command) = context.command.take() else {
                return Ok(Flow::Next);
            };
            let library = context.library.clone();
            let mut names = Names {
                library: &library,
                unknown: Vec::new(),
            };
            context.marks = names.marks(command.whole);
            let staged = command.stages.into_iter().map(|stage| names.stage(stage));
            context.stages = staged.collect();
            if names.unknown.is_empty() {
                return Ok(Flow::Next);
            }
            Err(in_command("UnknownName", &context.source, &names.unknown))
        })
    }
}

struct Names<'a> {
    library: &'a Library,
    unknown: Vec<Diagnostic>,
}

impl Names<'_> {
    fn stage(&mut self, stage: WrittenStage) -> Staged {
        let delegated = stage.arrow == deliberate_language::Arrow::Delegate;
        let (condition, then, otherwise) = match stage.kind {
            StageKind::Group(steps) => (None, steps, Vec::new()),
            StageKind::Conditional {
                condition,
                then,
                otherwise,
            } => (Some(condition.value), then, otherwise),
        };
        Staged {
            delegated,
            condition,
            then: self.steps(then),
            otherwise: self.steps(otherwise),
        }
    }

    fn steps(&mut self, steps: Vec<Step>) -> Vec<Bound> {
        steps
            .into_iter()
            .filter_map(|step| self.step(step))
            .collect()
    }

    fn step(&mut self, mut step: Step) -> Option<Bound> {
        let marks = self.marks(std::mem::take(&mut step.marks));
        let Some(prompt) = self.library.prompt(&step.id.value) else {
            self.unknown.push(self.unknown_prompt(&step.id));
            return None;
        };
        Some(Bound {
            prompt: prompt.clone(),
            marks,
            arguments: Map::new(),
            takes_previous: None,
            written: step,
        })
    }

    /// A prompt that there is not; or that there is, but can't be used.
    fn unknown_prompt(&self, id: &Spanned<String>) -> Diagnostic {
        if let Some(problem) = self.library.problem_of(Kind::Prompt, &id.value) {
            let message = format!("prompt `{}` can't be used", id.value);
            let broken = Diagnostic::new(Code::UnknownName, id.span, message, "is broken");
            return broken.helping(problem.in_short());
        }
        let known = self.library.prompts.keys().map(String::as_str);
        unknown_name("prompt", &id.value, id.span, known)
    }

    fn marks(&mut self, written: WrittenMarks) -> Marks {
        Marks {
            modifier: written.modifier.map(|it| it.value),
            methodology: written.framework.and_then(|name| {
                let library = self.library;
                let ids = library.methodologies.iter();
                let enabled = ids.filter(|(_, it)| it.enabled).map(|(id, _)| id.as_str());
                self.named(
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
                self.named("style", &name, library.style(&name.value), enabled)
            }),
            gates: written.gates.into_iter().flat_map(inline).collect(),
        }
    }

    fn named<'n, T>(
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

/// What a gate in the command asks for.
fn inline(mark: Spanned<GateMark>) -> Vec<Inline> {
    match mark.value {
        GateMark::Criteria(texts) => texts
            .into_iter()
            .map(|text| Inline::Criterion(text.value))
            .collect(),
        GateMark::Word(word) => vec![Inline::Word(word)],
        GateMark::Named { name, text } => vec![Inline::Named { id: name, text }],
        GateMark::Verify(verify) => vec![Inline::Verify(ShellCheck {
            command: verify.command,
            timeout_ms: verify.timeout.map(|seconds| u64::from(seconds) * 1_000),
            max_attempts: verify.max,
            preset: verify.preset.map(|preset| match preset {
                deliberate_language::Preset::Fast => Preset::Fast,
                deliberate_language::Preset::Full => Preset::Full,
                deliberate_language::Preset::Extended => Preset::Extended,
            }),
            ..ShellCheck::default()
        })],
    }
}
