//! The command language, as its callers use it.

mod arguments;
mod data;
mod faults;
mod hostile;
mod laws;
mod structure;

use deliberate_language::{Args, Command, Limits, Parsed, StageKind, Step, parse};

/// Reads a command that must be sound.
fn sound(text: &str) -> Command {
    let parsed = read(text);
    assert_eq!(parsed.diagnostics, [], "{text}");
    let printed = parsed.command.to_string();
    let again = read(&printed);
    assert_eq!(again.diagnostics, [], "{text} was printed as {printed}");
    assert_eq!(again.command, parsed.command, "{text} printed as {printed}");
    parsed.command
}

fn read(text: &str) -> Parsed {
    parse(text, &Limits::default())
}

/// The first step of a command, which must be the only one.
fn only(text: &str) -> Step {
    let command = sound(text);
    assert_eq!(command.steps().count(), 1, "{text}: {command:?}");
    let first = command.steps().next().cloned();
    first.unwrap_or_else(|| unreachable!())
}

/// The raw arguments of a step.
fn raw(step: &Step) -> &str {
    match &step.args {
        Args::None => "",
        Args::Json { raw, .. } | Args::Text { raw, .. } => &raw.value,
    }
}

/// The ids of a command, stage by stage.
fn ids(command: &Command) -> Vec<Vec<&str>> {
    command
        .stages
        .iter()
        .map(|stage| {
            let steps: Vec<&Step> = match &stage.kind {
                StageKind::Group(steps) => steps.iter().collect(),
                StageKind::Conditional {
                    then, otherwise, ..
                } => then.iter().chain(otherwise).collect(),
            };
            steps.iter().map(|step| step.id.value.as_str()).collect()
        })
        .collect()
}
