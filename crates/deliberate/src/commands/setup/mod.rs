//! `deliberate setup CLIENT`: puts this server into an MCP client's settings. The change is shown
//! first, a person says yes, and a backup stays beside the file. Whatever cannot be changed safely
//! is explained instead, with the block to paste.

mod clients;
mod diff;
mod entry;
mod json;
#[cfg(test)]
mod tests;
mod toml;
pub(crate) mod write;

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::builder::PossibleValuesParser;
use secrecy::SecretString;

pub(crate) use clients::{Dirs, found_clients, json_file_of};

use clients::{CLIENTS, Client, Format};
use entry::{Edit, ServerEntry};
use write::Target;

/// Someone was asked and said no.
const EXIT_DECLINED: u8 = 1;

/// The file has to be changed by hand.
const EXIT_BY_HAND: u8 = 3;

/// Put this server into an MCP client's settings
///
/// Exits with 0 if the file is as it should be, 1 if the change was declined or failed, 3 if the
/// file has to be changed by hand.
#[derive(Debug, clap::Args)]
pub(crate) struct SetupArgs {
    /// The client to set up
    #[arg(value_parser = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name)))]
    client: String,
    /// Only print the block to paste
    #[arg(long)]
    print: bool,
    /// Write without asking
    #[arg(long, short)]
    yes: bool,
    /// Name of the server in the client
    #[arg(long, default_value = "deliberate", value_parser = server_name)]
    name: String,
    /// Environment variable for the server (repeatable)
    #[arg(long = "env", value_name = "KEY=VALUE", value_parser = variable)]
    env: Vec<(String, SecretString)>,
    /// File to change, such as a project's own, in place of the user's
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
}

/// Where questions are answered and everything is written.
pub(crate) struct Io<'a> {
    /// The person's answers.
    pub(crate) input: &'a mut dyn BufRead,
    /// What the person reads.
    pub(crate) output: &'a mut dyn Write,
}

/// Runs the command.
pub(crate) fn run(args: &SetupArgs, io: &mut Io<'_>, dirs: &Dirs) -> anyhow::Result<ExitCode> {
    Ok(match set_up(args, io, dirs)? {
        Outcome::Printed | Outcome::Same | Outcome::Written => ExitCode::SUCCESS,
        Outcome::Declined => ExitCode::from(EXIT_DECLINED),
        Outcome::ByHand => ExitCode::from(EXIT_BY_HAND),
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Printed,
    Same,
    Written,
    Declined,
    ByHand,
}

fn set_up(args: &SetupArgs, io: &mut Io<'_>, dirs: &Dirs) -> anyhow::Result<Outcome> {
    let client = clients::find(&args.client).context("unknown client")?;
    let entry = ServerEntry {
        name: args.name.clone(),
        command: dirs
            .program
            .to_str()
            .context("the path of this program is not valid UTF-8")?
            .to_owned(),
        args: vec!["serve".to_owned()],
        env: args.env.iter().cloned().collect(),
    };
    if args.print {
        io.output.write_all(client.block(&entry)?.as_bytes())?;
        return Ok(Outcome::Printed);
    }
    let path = args.file.clone().unwrap_or_else(|| (client.file)(dirs));
    let target = Target::read(&path)?;
    let shown = target.path().display();
    match edit(client, &target, &entry)? {
        Edit::Same => {
            writeln!(io.output, "{shown} already has this server; nothing to do.")?;
            Ok(Outcome::Same)
        }
        Edit::ByHand(reason) => {
            let block = client.block(&entry)?;
            writeln!(
                io.output,
                "{shown} is left as it is: {reason}.\nAdd this to it yourself:\n\n{block}"
            )?;
            Ok(Outcome::ByHand)
        }
        Edit::Changed(text) => {
            let old = target.text().unwrap_or_default();
            write!(
                io.output,
                "--- {shown}\n+++ {shown}\n{}",
                diff::unified(old, &text)
            )?;
            if !args.yes && !agreed(io)? {
                writeln!(io.output, "Nothing was written.")?;
                return Ok(Outcome::Declined);
            }
            match target.write(&text)? {
                Some(backup) => {
                    writeln!(io.output, "Written. The old file is {}.", backup.display())?;
                }
                None => writeln!(io.output, "Written.")?,
            }
            writeln!(io.output, "{}", client.then)?;
            Ok(Outcome::Written)
        }
    }
}

fn edit(client: &Client, target: &Target, entry: &ServerEntry) -> anyhow::Result<Edit> {
    let Some(text) = target.text() else {
        return Ok(Edit::ByHand("it is not valid UTF-8".to_owned()));
    };
    match client.format {
        Format::Json { key, typed } => json::edit(text, key, typed, entry),
        Format::Toml { table } => Ok(toml::edit(text, table, entry)),
    }
}

/// Asks. No answer at all, as in a script, is a no.
fn agreed(io: &mut Io<'_>) -> anyhow::Result<bool> {
    write!(io.output, "Write this? [y/N] ")?;
    io.output.flush()?;
    let mut answer = String::new();
    if io.input.read_line(&mut answer)? == 0 {
        writeln!(io.output, "\nNo answer (--yes writes without asking).")?;
    }
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Clients make tool names of it, and those allow no more.
fn server_name(text: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if text.is_empty() || !text.chars().all(allowed) {
        return Err("a name has letters, digits, `-` and `_` only".to_owned());
    }
    Ok(text.to_owned())
}

/// One `--env KEY=VALUE`.
pub(crate) fn variable(text: &str) -> Result<(String, SecretString), String> {
    let (name, value) = text
        .split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or("expected KEY=VALUE, such as LOG_LEVEL=debug")?;
    Ok((name.to_owned(), SecretString::from(value)))
}
