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
use deliberate_toolkit::{Answer, Caller, Progress, ToolError};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::{Shell, table::harmless, terminal::at_terminal, think::explained};
use crate::wiring::{Wired, wire};
use wanted::Wanted;

#[derive(Debug, Args)]
pub(crate) struct PapersArgs {
    #[command(subcommand)]
    command: PapersCommand,
    /// As JSON: the whole answer of each call, on a line of its own
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
    let ended = call_all(args, calls, &wired, shell.output).await;
    wired.close().await;
    ended
}

async fn call_all(
    args: &PapersArgs,
    calls: Vec<Wanted<'_>>,
    wired: &Wired,
    to: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let mut failed = false;
    for (tool, mut arguments) in calls {
        loop {
            match call(wired, tool, arguments.clone()).await {
                Ok(Answer::Done(output)) => {
                    show(&output, args, to)?;
                    failed |= wanted::has_failed(&output);
                    match wanted::the_rest(&args.command, &arguments, &output) {
                        Some(rest) => arguments = rest,
                        None => break,
                    }
                }
                Ok(Answer::NeedsReply(_)) => {
                    failed = true;
                    tell_that_it_has_to_think(&mut io::stderr())?;
                    break;
                }
                Err(error) => {
                    failed = true;
                    writeln!(io::stderr(), "{:#}", explained(error.into()))?;
                    break;
                }
            }
        }
    }
    Ok(ExitCode::from(u8::from(failed)))
}

async fn call(wired: &Wired, tool: &str, arguments: Value) -> Result<Answer, ToolError> {
    let spinner = spinner(tool);
    let told = spinner.clone();
    let caller = Caller {
        progress: Some(Arc::new(move |it: Progress| {
            told.set_message(harmless(&it.message));
        })),
        ..Caller::default()
    };
    let answer = wired.registry.call(tool, arguments, caller).await;
    spinner.finish_and_clear();
    answer
}

fn tell_that_it_has_to_think(to: &mut dyn Write) -> io::Result<()> {
    super::think::tell_of_models(to)?;
    writeln!(
        to,
        "  or look for yourself: deliberate papers find \"…\"\nIn an MCP client the client's own model answers."
    )
}

fn show(output: &Value, args: &PapersArgs, to: &mut dyn Write) -> anyhow::Result<()> {
    let said = output.get("said").and_then(Value::as_str);
    match said.filter(|_| !args.json) {
        Some(said) if matches!(args.command, PapersCommand::Cite(_)) => {
            writeln!(to, "{}", without_escapes(&harmless(said)))?;
        }
        Some(said) => writeln!(to, "{}", harmless(said))?,
        None => writeln!(to, "{output}")?,
    }
    Ok(())
}

/// Markdown's text without the backslashes that keep signs from being taken for marks: a citation
/// is copied from a shell as it is.
fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let escapes = letter == '\\' && letters.peek().is_some_and(char::is_ascii_punctuation);
        out.push(if escapes {
            letters.next().unwrap_or(letter)
        } else {
            letter
        });
    }
    out
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_go_and_what_they_keep_stays() {
        let text = r"- \[1\] A. Müller, *On C:\temp \& \\LaTeX*";
        assert_eq!(
            without_escapes(text),
            r"- [1] A. Müller, *On C:\temp & \LaTeX*"
        );
    }
}
