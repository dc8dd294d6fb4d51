//! `deliberate token`. It makes tokens and keeps none.

use std::{io::Write, process::ExitCode};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use deliberate_server::http::auth::FreshToken;

#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Make a token and print it once, with the lines for the tokens file
    New(NewArgs),
}

#[derive(Debug, Args)]
struct NewArgs {
    /// Who is to hold it
    name: String,
    /// The tools it allows, with commas between them, as in `reasoning_*,reasoning_get`; every tool
    /// unless given
    #[arg(long, value_delimiter = ',')]
    tools: Vec<String>,
}

pub(crate) fn run(args: &TokenArgs, output: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let TokenCommand::New(NewArgs { name, tools }) = &args.command;
    let token = FreshToken::new()?;
    let lines = token
        .table(name, tools)
        .context("the token can't be made")?;
    writeln!(
        output,
        "The token of {name}, shown this once:\n\n{}\n\nThe lines for the tokens file:\n\n{lines}",
        token.expose()
    )?;
    Ok(ExitCode::SUCCESS)
}
