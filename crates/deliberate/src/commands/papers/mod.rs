//! `deliberate papers`: the collection of papers from a shell. Each command is a call of a tool, and
//! shows what a client would be told.

mod wanted;

use std::{
    io::{self, Write},
    process::ExitCode,
    sync::Arc,
};

use anyhow::bail;
use clap::{Args, Subcommand};
use deliberate_research::Face;
use deliberate_toolkit::{Answer, Caller, Progress};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::{Shell, table::harmless, terminal::at_terminal, think::explained};
use crate::wiring::wire;

#[derive(Debug, Args)]
pub(crate) struct PapersArgs {
    #[command(subcommand)]
    command: PapersCommand,
    /// As JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum PapersCommand {
    /// Look for papers in all sources at once
    Search(wanted::SearchArgs),
    /// Add papers: PDF files, folders of them, DOIs, arXiv ids
    Add(wanted::AddArgs),
    /// The papers there are
    List(wanted::ListArgs),
    /// One paper: what is known of it and what is in it
    Show(wanted::ShowArgs),
    /// Find passages by words and by meaning
    Find(wanted::FindArgs),
    /// Ask the papers a question; every sentence of the answer is checked against them
    Ask(wanted::AskArgs),
    /// Print citations in a style
    Cite(wanted::CiteArgs),
    /// Write a bibliography to a file
    Export(wanted::ExportArgs),
    /// Check a bibliography: do its works exist, are they right, were they retracted
    Check(wanted::CheckArgs),
    /// How much there is, and how the index is
    Stats,
    /// Call any tool of research by its name
    Call(wanted::CallArgs),
}

pub(crate) async fn run(args: &PapersArgs, shell: &mut Shell<'_>) -> anyhow::Result<ExitCode> {
    let calls = wanted::calls(&args.command)?;
    let mut loaded = shell.loaded.clone();
    // What is asked for here is there, whatever clients are shown.
    loaded.settings.tools.research.get_or_insert(Face::Compact);
    // Who names a file here may have it read.
    let research = &mut loaded.settings.research;
    let usual = loaded.environment.readable.clone();
    let readable = research.readable.get_or_insert(usual);
    readable.extend(wanted::folders(&args.command));
    let wired = wire(&loaded)?;
    let mut failed = false;
    for (tool, arguments) in calls {
        let spinner = spinner(tool);
        let told = spinner.clone();
        let caller = Caller {
            progress: Some(Arc::new(move |it: Progress| told.set_message(it.message))),
            ..Caller::default()
        };
        let answer = wired.registry.call(tool, arguments, caller).await;
        spinner.finish_and_clear();
        match answer {
            Ok(Answer::Done(output)) => show(&output, args.json, shell.output)?,
            Ok(Answer::NeedsReply(_)) => {
                failed = true;
                let stderr = &mut io::stderr();
                super::think::tell_how_to_get_one(stderr)?;
                writeln!(
                    stderr,
                    "In an MCP client the client's own model answers; here, look for yourself with `deliberate papers find`."
                )?;
            }
            Err(error) => {
                failed = true;
                writeln!(io::stderr(), "{:#}", explained(error.into()))?;
            }
        }
    }
    wired.close().await;
    Ok(ExitCode::from(u8::from(failed)))
}

fn show(output: &Value, json: bool, to: &mut dyn Write) -> anyhow::Result<()> {
    if json {
        writeln!(to, "{}", serde_json::to_string_pretty(output)?)?;
        return Ok(());
    }
    match output.get("said").and_then(Value::as_str) {
        Some(said) => writeln!(to, "{}", harmless(said))?,
        None => writeln!(to, "{}", serde_json::to_string_pretty(output)?)?,
    }
    Ok(())
}

fn spinner(message: &str) -> ProgressBar {
    if !at_terminal() {
        return ProgressBar::hidden();
    }
    let spinner = ProgressBar::new_spinner().with_message(message.to_owned());
    spinner.enable_steady_tick(std::time::Duration::from_millis(100));
    spinner
}

/// Arguments that are given as JSON.
fn object(text: &str) -> anyhow::Result<Value> {
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => bail!(
            "the arguments must be a JSON object, such as {}",
            json!({ "limit": 5 })
        ),
        Err(error) => bail!("the arguments are no JSON: {error}"),
    }
}
