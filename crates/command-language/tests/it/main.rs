//! Tests of the command language through its public interface.

mod arguments;
mod data;
mod diagnostics;
mod hostile;
mod properties;
mod structure;

use deliberate_command_language::{
    CommandLimits, CommandStep, CommandTree, ParsedCommand, StageKind, StepArgs, parse,
};

/// Parses a command that must be valid.
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

/// Parses a command and returns its only step.
fn parse_single_step(text: &str) -> CommandStep {
    let command = parse_valid(text);
    assert_eq!(command.steps().count(), 1, "{text}: {command:?}");
    let first = command.steps().next().cloned();
    first.unwrap_or_else(|| unreachable!())
}

fn raw_args(step: &CommandStep) -> &str {
    match &step.args {
        StepArgs::None => "",
        StepArgs::Json { raw, .. } | StepArgs::Text { raw, .. } => &raw.value,
    }
}

/// Returns the prompt ids of a command, stage by stage.
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
