//! `deliberate prompt show`: prints one prompt.

use std::{io::Write, process::ExitCode};

use anyhow::anyhow;
use clap::Args;
use deliberate_core::did_you_mean;
use deliberate_prompts::{
    EngineOptions,
    library::{ProblemSeverity, PromptLibrary},
    model::{ArgumentDefinition, ChainStep, LibraryItemKind, Prompt, StepKind},
};

use super::load_library;
use crate::commands::{
    CommandContext,
    table::{escape_control, one_line},
};

#[derive(Debug, Args)]
#[command(after_help = "Example: deliberate prompt show code_review")]
pub(super) struct PromptShowArgs {
    /// The prompt's id
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    args: &PromptShowArgs,
    options: &EngineOptions,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let library = load_library(options)?;
    let id = args.id.trim_start_matches(">>");
    let wrong = list_problems(id, &library);
    let Some(prompt) = library.prompt(id) else {
        return Err(if wrong.is_empty() {
            unknown_prompt_error(id, &library)
        } else {
            anyhow!("the prompt {id:?} cannot be used:\n{}", wrong.join("\n"))
        });
    };
    for problem in wrong {
        writeln!(std::io::stderr(), "{problem}")?;
    }
    if args.json {
        writeln!(shell.output, "{}", serde_json::to_string_pretty(&**prompt)?)?;
    } else {
        print_prompt(prompt, shell.output)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the errors of a prompt, one per line with its position.
fn list_problems(id: &str, library: &PromptLibrary) -> Vec<String> {
    let same = |other: &str| {
        other
            .replace('-', "_")
            .eq_ignore_ascii_case(&id.replace('-', "_"))
    };
    let own = library.problems.iter().filter(|it| {
        it.kind == LibraryItemKind::Prompt && it.weight == ProblemSeverity::Error && same(&it.id)
    });
    own.map(|it| {
        let line = it.line.map_or_else(String::new, |line| format!(":{line}"));
        let help = it.help.as_deref().unwrap_or_default();
        one_line(&format!("{}{line}: {} {help}", it.file, it.message), 500)
    })
    .collect()
}

fn unknown_prompt_error(id: &str, library: &PromptLibrary) -> anyhow::Error {
    let alike = did_you_mean(id, library.prompts.keys().map(String::as_str));
    let alike = alike.map_or_else(String::new, |alike| format!("did you mean `{alike}`? "));
    anyhow!("there is no prompt {id:?}; {alike}`deliberate prompt list` shows all")
}

fn print_prompt(prompt: &Prompt, output: &mut dyn Write) -> anyhow::Result<()> {
    let (name, id) = (one_line(&prompt.name, 200), &prompt.id);
    writeln!(output, "{name} ({id})")?;
    writeln!(output, "{}", escape_control(prompt.description.trim()))?;
    writeln!(
        output,
        "In {}, from {}.",
        one_line(&prompt.category, 100),
        one_line(&prompt.origin.file, 300)
    )?;
    if !prompt.arguments.is_empty() {
        writeln!(output, "\nTakes")?;
        for argument in &prompt.arguments {
            writeln!(output, "  {}", one_line(&describe_argument(argument), 300))?;
        }
    }
    if prompt.is_chain() {
        writeln!(output, "\nSteps")?;
        for (index, step) in prompt.steps.iter().enumerate() {
            writeln!(
                output,
                "  {}. {}",
                index + 1,
                one_line(&describe_step(step), 300)
            )?;
        }
    }
    if !prompt.gates.include.is_empty() {
        let gates = prompt.gates.include.join(", ");
        writeln!(output, "\nGates\n  {}", one_line(&gates, 1_000))?;
    }
    for (title, text) in [("System", &prompt.system), ("Says", &prompt.template)] {
        if let Some(text) = text {
            writeln!(
                output,
                "\n{title}\n\n{}",
                escape_control(text.body.trim_end())
            )?;
        }
    }
    Ok(())
}

fn describe_argument(argument: &ArgumentDefinition) -> String {
    let name = &argument.name;
    let need = match &argument.default_value {
        Some(value) => format!(" (default {value})"),
        None if argument.required => " (required)".to_owned(),
        None => String::new(),
    };
    match &argument.description {
        Some(description) => format!("{name}{need}: {description}"),
        None => format!("{name}{need}"),
    }
}

fn describe_step(step: &ChainStep) -> String {
    let what = match &step.kind {
        StepKind::Prompt { id } if *id == step.name => id.clone(),
        StepKind::Prompt { id } => format!("{} ({id})", step.name),
        StepKind::Tool { name, .. } => format!("{} (tool {name})", step.name),
        StepKind::Parallel(steps) => {
            let all: Vec<String> = steps.iter().map(describe_step).collect();
            format!("concurrently: {}", all.join(", "))
        }
    };
    match (&step.when, &step.otherwise) {
        (Some(when), Some(other)) => format!("{what}, if {when}; else {}", describe_step(other)),
        (Some(when), None) => format!("{what}, if {when}"),
        (None, _) => what,
    }
}
