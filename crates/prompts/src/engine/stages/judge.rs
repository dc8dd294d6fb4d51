//! `%judge`: shows what could be put around the prompt, and how to call with a choice.

use deliberate_language::Modifier;
use deliberate_toolkit::ToolError;
use futures::future::BoxFuture;

use super::Stage;
use crate::engine::{Context, Flow};

/// How many of each kind are shown.
const MOST: usize = 40;

pub(super) struct Judge;

impl Stage for Judge {
    fn name(&self) -> &'static str {
        "judge"
    }

    fn run<'a>(&'a self, context: &'a mut Context<'_>) -> BoxFuture<'a, Result<Flow, ToolError>> {
        Box::pin(async move {
            if context.marks.modifier != Some(Modifier::Judge) {
                return Ok(Flow::Next);
            }
            context.reply.said = menu(context);
            Ok(Flow::Answered)
        })
    }
}

fn menu(context: &Context<'_>) -> String {
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
        format!("- [{mark}] {sign}{id}: {}", line(about))
    };
    let methodology = context.marks.methodology.as_ref().map(|it| it.id.as_str());
    let methodology = methodology.or(context.settings.methodology());
    lines.push("\nMethodologies (`@id`):".to_owned());
    let all = library.methodologies.values().filter(|it| it.enabled);
    lines.extend(all.take(MOST).map(|it| {
        let chosen = methodology.is_some_and(|id| id.eq_ignore_ascii_case(&it.id));
        entry(chosen, "@", &it.id, &it.description)
    }));
    let style = context.marks.style.as_ref().map(|it| it.id.as_str());
    lines.push("\nStyles (`#id`):".to_owned());
    let all = library.styles.values().filter(|it| it.enabled);
    lines.extend(all.take(MOST).map(|it| {
        let chosen = style == Some(it.id.as_str());
        entry(chosen, "#", &it.id, &it.description)
    }));
    let steps = context.stages.iter().flat_map(|stage| &stage.then);
    let included: Vec<&String> = steps.flat_map(|step| &step.prompt.gates.include).collect();
    lines.push("\nGates (`:: id`, or in `gates`):".to_owned());
    let all = library.gates.values();
    lines.extend(
        all.take(MOST)
            .map(|it| entry(included.contains(&&it.id), "", &it.id, &it.description)),
    );
    lines.join("\n")
}

/// The first line of a text, shortened.
fn line(text: &str) -> String {
    deliberate_core::cut_to_chars(text.lines().next().unwrap_or_default(), 100)
}
