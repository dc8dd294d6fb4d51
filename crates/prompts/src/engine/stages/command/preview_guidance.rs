//! `%judge`: shows the guidance that is available for the prompt, and the call that uses a choice.

use deliberate_command_language::CommandModifier;
use deliberate_toolkit::ToolError;
use futures::future::BoxFuture;

use crate::engine::{EngineContext, StageOutcome, stages::EngineStage};

/// The most entries of each kind.
const MAX_PER_KIND: usize = 40;

pub(crate) struct PreviewGuidance;

impl EngineStage for PreviewGuidance {
    fn name(&self) -> &'static str {
        "judge"
    }

    fn run<'a>(
        &'a self,
        context: &'a mut EngineContext<'_>,
    ) -> BoxFuture<'a, Result<StageOutcome, ToolError>> {
        Box::pin(async move {
            if context.annotations.modifier != Some(CommandModifier::Judge) {
                return Ok(StageOutcome::Next);
            }
            context.reply.said = render_choices(context);
            Ok(StageOutcome::Done)
        })
    }
}

fn render_choices(context: &EngineContext<'_>) -> String {
    let library = &context.library;
    let mut lines = vec![format!(
        "Choose what helps with this command, then send it again without %judge:\n\n    {}",
        context
            .source
            .trim()
            .trim_start_matches("%judge")
            .trim_start()
    )];
    let entry = |chosen: bool, sign: &str, id: &str, about: &str| {
        let mark = if chosen { "x" } else { " " };
        format!("- [{mark}] {sign}{id}: {}", first_line(about))
    };
    let methodology = context
        .annotations
        .methodology
        .as_ref()
        .map(|it| it.id.as_str());
    let methodology = methodology.or(context.settings.methodology());
    lines.push("\nMethodologies (`@id`):".to_owned());
    let all = library.methodologies.values().filter(|it| it.enabled);
    lines.extend(all.take(MAX_PER_KIND).map(|it| {
        let chosen = methodology.is_some_and(|id| id.eq_ignore_ascii_case(&it.id));
        entry(chosen, "@", &it.id, &it.description)
    }));
    let style = context.annotations.style.as_ref().map(|it| it.id.as_str());
    lines.push("\nStyles (`#id`):".to_owned());
    let all = library.styles.values().filter(|it| it.enabled);
    lines.extend(all.take(MAX_PER_KIND).map(|it| {
        let chosen = style == Some(it.id.as_str());
        entry(chosen, "#", &it.id, &it.description)
    }));
    let steps = context.stages.iter().flat_map(|stage| &stage.then);
    let included: Vec<&String> = steps.flat_map(|step| &step.prompt.gates.include).collect();
    lines.push("\nGates (`:: id`, or in `gates`):".to_owned());
    let all = library.gates.values();
    lines.extend(
        all.take(MAX_PER_KIND)
            .map(|it| entry(included.contains(&&it.id), "", &it.id, &it.description)),
    );
    lines.join("\n")
}

/// Returns the first line of a text, shortened.
fn first_line(text: &str) -> String {
    deliberate_core::truncate_chars(text.lines().next().unwrap_or_default(), 100)
}
