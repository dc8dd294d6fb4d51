//! `deliberate completions`: prints shell completions.

use std::{io::Write, process::ExitCode};

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::CliArgs;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs, output: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut CliArgs::command(),
        "deliberate",
        &mut script,
    );
    output.write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
