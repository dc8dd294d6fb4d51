//! `deliberate token`: creates tokens and stores none.

use std::{io::Write, process::ExitCode};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use deliberate_core::{Clock as _, SystemClock};
use deliberate_server::http::auth::NewToken;

const DAY_MICROS: i64 = 86_400_000_000;

#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Create a token and print it once, with the lines for the tokens file
    New(TokenNewArgs),
}

#[derive(Debug, Args)]
struct TokenNewArgs {
    /// Name of the token's owner
    name: String,
    /// Tools it allows, separated by commas, such as `reasoning_*,reasoning_get`; default: all
    #[arg(long, value_delimiter = ',')]
    tools: Vec<String>,
    /// Days for which it works; default: until it is removed from the tokens file
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: Option<u32>,
}

pub(crate) fn run(args: &TokenArgs, output: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let TokenCommand::New(TokenNewArgs { name, tools, days }) = &args.command;
    let token = NewToken::new()?;
    let now = SystemClock.now();
    let expires_at = days.map(|days| now.plus_micros(i64::from(days) * DAY_MICROS));
    let lines = token
        .to_toml(name, tools, expires_at)
        .context("the token cannot be created")?;
    writeln!(
        output,
        "The token of {name}, which is shown only once:\n\n{}\n\nAdd these lines to the tokens file:\n\n{lines}",
        token.expose()
    )?;
    Ok(ExitCode::SUCCESS)
}
