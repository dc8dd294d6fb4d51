//! The command language, as its callers use it.

mod arguments;
mod data;
mod diagnostics;
mod hostile;
mod properties;
mod structure;

use deliberate_command_language::{
    CommandLimits, CommandStep, CommandTree, ParsedCommand, StageKind, StepArgs, parse,
};

/// Reads a command that must be sound.
fn parse_valid(text: &str) -> CommandTree {
    let parsed = parse_text(text);
    assert_eq!(parsed.diagnostics, [], "{text}");
    let printed = parsed.command.to_string();
    let again = parse_text(&printed);
    assert_eq!(again.diagnostics, [], "{text} was printed as {printed}");
    assert_eq!(again.command, parsed.command, "{text} printed as {printed}");
    parsed.command
}

fn parse_text(text: &str) -> ParsedCommand {
    parse(text, &CommandLimits::default())
}

/// The first step of a command, which must be the only one.
fn parse_single_step(text: &str) -> CommandStep {
    let command = parse_valid(text);
    assert_eq!(command.steps().count(), 1, "{text}: {command:?}");
    let first = command.steps().next().cloned();
    first.unwrap_or_else(|| unreachable!())
}

/// The raw arguments of a step.
fn raw_args(step: &CommandStep) -> &str {
    match &step.args {
        StepArgs::None => "",
        StepArgs::Json { raw, .. } | StepArgs::Text { raw, .. } => &raw.value,
    }
}

/// The ids of a command, stage by stage.
fn step_ids(command: &CommandTree) -> Vec<Vec<&str>> {
    command
        .stages
        .iter()
        .map(|stage| {
            let steps: Vec<&CommandStep> = match &stage.kind {
                StageKind::Group(steps) => steps.iter().collect(),
                StageKind::Conditional {
                    then, otherwise, ..
                } => then.iter().chain(otherwise).collect(),
            };
            steps.iter().map(|step| step.id.value.as_str()).collect()
        })
        .collect()
}
