//! `deliberate setup CLIENT`: adds this server to an MCP client's settings. It shows the change
//! first, asks for confirmation, and keeps a backup beside the file. If the file cannot be changed
//! safely, it explains why and prints the block to paste.

pub(crate) mod client_config_file;
mod clients;
mod diff;
mod json_edit;
mod server_entry;
#[cfg(test)]
mod tests;
mod toml_edit;

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::builder::PossibleValuesParser;
use secrecy::SecretString;

pub(crate) use clients::{Dirs, detect_clients, json_config_path};

use client_config_file::ClientConfigFile;
use clients::{CLIENTS, ClientApp, ClientConfigFormat};
use server_entry::{ClientConfigEdit, ServerEntry};

/// Exit code if the user declined.
const EXIT_DECLINED: u8 = 1;

/// Exit code if the file must be edited by hand.
const EXIT_MANUAL_EDIT: u8 = 3;

/// Add this server to an MCP client's settings
///
/// Exits with 0 if the file is correct, 1 if the change was declined or failed, 3 if the file must
/// be edited by hand.
#[derive(Debug, clap::Args)]
pub(crate) struct SetupArgs {
    /// The client to configure
    #[arg(value_parser = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name)))]
    client: String,
    /// Only print the block to paste
    #[arg(long)]
    print: bool,
    /// Write without asking
    #[arg(long, short)]
    yes: bool,
    /// Name of the server in the client
    #[arg(long, default_value = "deliberate", value_parser = parse_server_name)]
    name: String,
    /// Environment variable for the server (repeatable)
    #[arg(long = "env", value_name = "KEY=VALUE", value_parser = parse_variable)]
    env: Vec<(String, SecretString)>,
    /// File to change, such as a project's own, instead of the user's
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
}

/// Input and output of the command.
pub(crate) struct SetupIo<'a> {
    /// The user's answers.
    pub(crate) input: &'a mut dyn BufRead,
    pub(crate) output: &'a mut dyn Write,
}

pub(crate) fn run(args: &SetupArgs, io: &mut SetupIo<'_>, dirs: &Dirs) -> anyhow::Result<ExitCode> {
    Ok(match set_up(args, io, dirs)? {
        SetupOutcome::Printed | SetupOutcome::Unchanged | SetupOutcome::Written => {
            ExitCode::SUCCESS
        }
        SetupOutcome::Declined => ExitCode::from(EXIT_DECLINED),
        SetupOutcome::ManualEditNeeded => ExitCode::from(EXIT_MANUAL_EDIT),
    })
}

#[derive(Debug, PartialEq, Eq)]
enum SetupOutcome {
    Printed,
    Unchanged,
    Written,
    Declined,
    ManualEditNeeded,
}

fn set_up(args: &SetupArgs, io: &mut SetupIo<'_>, dirs: &Dirs) -> anyhow::Result<SetupOutcome> {
    let client = clients::find_client(&args.client).context("unknown client")?;
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
        io.output
            .write_all(client.render_block(&entry).as_bytes())?;
        return Ok(SetupOutcome::Printed);
    }
    let path = args.file.clone().unwrap_or_else(|| (client.file)(dirs));
    let target = ClientConfigFile::read(&path)?;
    let shown = target.path().display();
    match edit(client, &target, &entry) {
        ClientConfigEdit::Unchanged => {
            writeln!(
                io.output,
                "{shown} already has this server; nothing was changed."
            )?;
            Ok(SetupOutcome::Unchanged)
        }
        ClientConfigEdit::ManualEditNeeded(reason) => {
            let block = client.render_block(&entry);
            writeln!(
                io.output,
                "{shown} was not changed: {reason}.\nAdd this to it yourself:\n\n{block}"
            )?;
            Ok(SetupOutcome::ManualEditNeeded)
        }
        ClientConfigEdit::Changed(text) => {
            let old = target.text().unwrap_or_default();
            write!(
                io.output,
                "--- {shown}\n+++ {shown}\n{}",
                diff::unified_diff(old, &text)
            )?;
            if !args.yes && !confirm(io)? {
                writeln!(io.output, "Nothing was written.")?;
                return Ok(SetupOutcome::Declined);
            }
            match target.write(&text)? {
                Some(backup) => {
                    writeln!(
                        io.output,
                        "Written. The backup of the old file is {}.",
                        backup.display()
                    )?;
                }
                None => writeln!(io.output, "Written.")?,
            }
            writeln!(io.output, "{}", client.next_step)?;
            Ok(SetupOutcome::Written)
        }
    }
}

fn edit(client: &ClientApp, target: &ClientConfigFile, entry: &ServerEntry) -> ClientConfigEdit {
    let Some(text) = target.text() else {
        return ClientConfigEdit::ManualEditNeeded("it is not valid UTF-8".to_owned());
    };
    match client.format {
        ClientConfigFormat::Json { key, typed } => json_edit::edit(text, key, typed, entry),
        ClientConfigFormat::Toml { table } => toml_edit::edit(text, table, entry),
    }
}

/// Asks for confirmation. No answer at all, as in a script, is a no.
fn confirm(io: &mut SetupIo<'_>) -> anyhow::Result<bool> {
    write!(io.output, "Write this? [y/N] ")?;
    io.output.flush()?;
    let mut answer = String::new();
    if io.input.read_line(&mut answer)? == 0 {
        writeln!(io.output, "\nNo answer (--yes writes without asking).")?;
    }
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Clients derive tool names from it, and those allow no other characters.
fn parse_server_name(text: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if text.is_empty() || !text.chars().all(allowed) {
        return Err("a name may contain only letters, digits, `-` and `_`".to_owned());
    }
    Ok(text.to_owned())
}

/// Parses one `--env KEY=VALUE`.
pub(crate) fn parse_variable(text: &str) -> Result<(String, SecretString), String> {
    let (name, value) = text
        .split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or("expected KEY=VALUE, such as LOG_LEVEL=debug")?;
    Ok((name.to_owned(), SecretString::from(value)))
}
