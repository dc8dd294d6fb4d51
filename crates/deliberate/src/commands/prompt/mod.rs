//! `deliberate prompt`: the prompt library from a shell.

mod check;
mod command_line;
mod list;
mod new;
mod output;
mod progress;
mod run;
mod show;

use std::{io::Write, process::ExitCode};

use anyhow::bail;
use clap::{Args, Subcommand};
use deliberate_prompts::{
    EngineOptions,
    library::{ProblemSeverity, PromptLibrary, check_workspace as read},
    model::Prompt,
};

use super::CommandContext;
use crate::wiring::prompts;

#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// Folder of your own prompts, instead of the one in the settings
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) workspace: Option<String>,
    #[command(subcommand)]
    command: Option<PromptCommand>,
}

#[derive(Debug, Subcommand)]
enum PromptCommand {
    /// List the prompts (default)
    List(list::PromptListArgs),
    /// Show one prompt: its arguments, text, steps and gates
    Show(show::PromptShowArgs),
    /// Use a prompt: print it, or let a model answer it step by step
    Run(run::PromptRunArgs),
    /// Check a workspace for errors
    Check(check::PromptCheckArgs),
    /// Create a prompt
    New(new::PromptNewArgs),
}

pub(crate) async fn run(
    args: &PromptArgs,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let options = prompts::options(&shell.loaded.settings.prompts)?;
    let is_new = matches!(args.command, Some(PromptCommand::New(_)));
    require_workspace(&options, args.workspace.is_some() && !is_new)?;
    let at = args
        .workspace
        .as_deref()
        .map(workspace_flag)
        .unwrap_or_default();
    match &args.command {
        None => list::run(&list::PromptListArgs::default(), &options, shell),
        Some(PromptCommand::List(args)) => list::run(args, &options, shell),
        Some(PromptCommand::Show(args)) => show::run(args, &options, shell),
        Some(PromptCommand::Run(args)) => run::run(args, &at, shell).await,
        Some(PromptCommand::Check(args)) => check::run(args, &options, shell),
        Some(PromptCommand::New(args)) => new::run(args, &options, &at, shell),
    }
}

/// A workspace that is named must exist; the usual one may be created later.
fn require_workspace(options: &EngineOptions, named: bool) -> anyhow::Result<()> {
    let workspace = &options.paths.workspace;
    if workspace.is_file() {
        bail!("{} is a file; a workspace is a folder", workspace.display());
    }
    if named && !workspace.exists() {
        bail!("there is no folder {}", workspace.display());
    }
    Ok(())
}

/// Returns the flag that names the workspace in the next command.
fn workspace_flag(workspace: &str) -> String {
    format!(" --workspace '{}'", workspace.replace('\'', r"'\''"))
}

/// Loads the library once. Reports that there are errors, but not which.
fn load_library(options: &EngineOptions) -> anyhow::Result<PromptLibrary> {
    let (library, _) = read(options, &|_| None);
    let wrong = library.problems.iter();
    let wrong = wrong
        .filter(|it| it.weight == ProblemSeverity::Error)
        .count();
    if wrong > 0 {
        writeln!(
            std::io::stderr(),
            "{} cannot be used; `deliberate prompt check` shows why.",
            pluralize(wrong, "item")
        )?;
    }
    Ok(library)
}

/// Returns the state of a workspace in one line, and whether all of it can be used.
pub(super) fn workspace_health(options: &EngineOptions) -> (String, bool) {
    let (library, findings) = check::check_library(options);
    let errors = check::count_by_severity(ProblemSeverity::Error, &findings);
    let prompts = library.prompts.values().filter(|it| !is_part(it)).count();
    let text = format!(
        "{}: {} ({} in the workspace)",
        options.paths.workspace.display(),
        pluralize(prompts, "prompt"),
        pluralize(check::count_own_resources(&library), "item")
    );
    if errors == 0 {
        return (text, true);
    }
    let errors = pluralize(errors, "error");
    let text = format!("{text}; {errors}, `deliberate prompt check` shows them");
    (text, false)
}

/// Returns whether a prompt is a step of another one, which is not counted among the prompts.
fn is_part(prompt: &Prompt) -> bool {
    prompt.id.contains('/')
}

/// Returns `1 prompt` or `2 prompts`.
fn pluralize(number: usize, what: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {what}{ending}")
}
