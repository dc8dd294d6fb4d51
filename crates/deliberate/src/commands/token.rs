//! `deliberate token`. It makes tokens and keeps none.

use std::{io::Write, process::ExitCode};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use deliberate_server::http::auth::NewToken;

#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Make a token and print it once, with the lines for the tokens file
    New(TokenNewArgs),
}

#[derive(Debug, Args)]
struct TokenNewArgs {
    /// Who is to hold it
    name: String,
    /// The tools it allows, with commas between them, as in `reasoning_*,reasoning_get`; every tool
    /// unless given
    #[arg(long, value_delimiter = ',')]
    tools: Vec<String>,
}

pub(crate) fn run(args: &TokenArgs, output: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let TokenCommand::New(TokenNewArgs { name, tools }) = &args.command;
    let token = NewToken::new()?;
    let lines = token
        .to_toml(name, tools)
        .context("the token can't be made")?;
    writeln!(
        output,
        "The token of {name}, shown this once:\n\n{}\n\nThe lines for the tokens file:\n\n{lines}",
        token.expose()
    )?;
    Ok(ExitCode::SUCCESS)
}
