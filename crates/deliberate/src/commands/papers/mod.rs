//! `deliberate papers`: the collection of papers from a shell. Each command calls a tool and prints
//! the text that a client would get.

mod args;
mod check_report;

use std::{
    io::{self, Write},
    process::ExitCode,
    sync::Arc,
};

use anyhow::bail;
use clap::{Args, Subcommand};
use deliberate_research::ToolListingMode;
use deliberate_toolkit::{CallOutcome, CallProgress, CallerContext, ToolError};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::{
    CommandContext, shell_hint::explain_error, table::escape_control, terminal::at_terminal,
};
use crate::wiring::{App, build_app};
use args::PapersCall;
use check_report::PapersCheckReport;

#[derive(Debug, Args)]
pub(crate) struct PapersArgs {
    #[command(subcommand)]
    command: PapersCommand,
    /// Print JSON: the whole answer of each call on one line
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum PapersCommand {
    /// Search all sources for papers
    Search(args::PapersSearchArgs),
    /// Add papers: PDF files, folders of them, DOIs, arXiv ids
    Add(args::PapersAddArgs),
    /// List the papers
    List(args::PapersListArgs),
    /// Show one paper: its metadata and its content
    Show(args::PapersShowArgs),
    /// Find passages by words and by meaning
    Find(args::PapersFindArgs),
    /// Ask the papers a question; every sentence of the answer is checked against them
    Ask(args::PapersAskArgs),
    /// Print citations in a style
    Cite(args::PapersCiteArgs),
    /// Write a bibliography to a file
    Export(args::PapersExportArgs),
    /// Check a bibliography: do its works exist, are they correct, were they retracted
    Check(args::PapersCheckArgs),
    /// Show the size of the collection and the state of the index
    Stats,
    /// Call a research tool by its name
    Call(args::PapersCallArgs),
}

pub(crate) async fn run(
    args: &PapersArgs,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let calls = args::plan_calls(&args.command)?;
    let mut loaded = shell.loaded.clone();
    // The tools of this command are always available, whatever is offered to clients.
    loaded
        .settings
        .tools
        .research
        .get_or_insert(ToolListingMode::Compact);
    // Files named on the command line may be read.
    let research = &mut loaded.settings.research;
    let usual = loaded.environment.readable.clone();
    let readable = research.readable.get_or_insert(usual);
    readable.extend(args::named_paths(&args.command));
    let wired = build_app(&loaded)?;
    let ended = call_all(args, calls, &wired, shell.output).await;
    wired.close().await;
    ended
}

async fn call_all(
    args: &PapersArgs,
    calls: Vec<PapersCall<'_>>,
    wired: &App,
    to: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let mut failed = false;
    let in_parts = matches!(args.command, PapersCommand::Check(_)) && !args.json;
    let mut report = in_parts.then(PapersCheckReport::default);
    for (tool, mut arguments) in calls {
        loop {
            match call(wired, tool, arguments.clone()).await {
                Ok(CallOutcome::Done(output)) => {
                    match &mut report {
                        Some(report) => report.add(&output)?,
                        None => print_output(&output, args, to)?,
                    }
                    failed |= args::has_failed(&args.command, &output);
                    match args::plan_next_calls(&args.command, &arguments, &output) {
                        Some(rest) => arguments = rest,
                        None => break,
                    }
                }
                Ok(CallOutcome::NeedsReply(_)) => {
                    failed = true;
                    print_model_needed(&mut io::stderr())?;
                    break;
                }
                Err(error) => {
                    failed = true;
                    writeln!(io::stderr(), "{:#}", explain_error(error.into()))?;
                    break;
                }
            }
        }
    }
    // A part that failed does not discard the results of the others.
    if let Some(text) = report.and_then(PapersCheckReport::into_text) {
        writeln!(to, "{}", escape_control(text.trim_end()))?;
    }
    Ok(ExitCode::from(u8::from(failed)))
}

async fn call(wired: &App, tool: &str, arguments: Value) -> Result<CallOutcome, ToolError> {
    let spinner = spinner(tool);
    let told = spinner.clone();
    let caller = CallerContext {
        progress: Some(Arc::new(move |it: CallProgress| {
            told.set_message(escape_control(&it.message));
        })),
        ..CallerContext::default()
    };
    let answer = wired.registry.call(tool, arguments, caller).await;
    spinner.finish_and_clear();
    answer
}

fn print_model_needed(to: &mut dyn Write) -> io::Result<()> {
    super::think::print_model_options(to)?;
    writeln!(
        to,
        "  or search yourself: deliberate papers find \"…\"\nIn an MCP client the client's own model answers."
    )
}

fn print_output(output: &Value, args: &PapersArgs, to: &mut dyn Write) -> anyhow::Result<()> {
    let said = output.get("said").and_then(Value::as_str);
    let Some(text) = said.filter(|_| !args.json) else {
        writeln!(to, "{output}")?;
        return Ok(());
    };
    let text = escape_control(text);
    let text = match args.command {
        PapersCommand::Cite(_) => strip_escapes(&text).replace(CITE_MORE_HINT.0, CITE_MORE_HINT.1),
        PapersCommand::Add(_) => text.replace(READ_AGAIN_HINT.0, READ_AGAIN_HINT.1),
        _ => text,
    };
    writeln!(to, "{text}")?;
    Ok(())
}

/// Hints of tools and the form they have on the command line.
const CITE_MORE_HINT: (&str, &str) = (
    "raise max_results to include them.",
    "name those you want, or write all to a file with `deliberate papers export`.",
);
const READ_AGAIN_HINT: (&str, &str) = ("skip_existing false", "--again");

/// Removes Markdown's escaping backslashes: a citation is copied from a shell as it is.
fn strip_escapes(text: &str) -> String {
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

/// Parses arguments given as JSON.
fn parse_object(text: &str) -> anyhow::Result<Value> {
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => bail!(
            "the arguments must be a JSON object, such as {}",
            json!({ "limit": 5 })
        ),
        Err(error) => bail!("the arguments are not JSON: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::commands::{CliArgs, CliCommand};

    fn parse_papers_args(line: &[&str]) -> PapersArgs {
        let line = [&["deliberate", "papers"][..], line].concat();
        match CliArgs::try_parse_from(line).unwrap().command {
            Some(CliCommand::Papers(args)) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_tools_advise_is_told_as_it_is_done_here() {
        let shown = |line: &[&str], text: &str| {
            let mut to = Vec::new();
            print_output(&json!({ "said": text }), &parse_papers_args(line), &mut to).unwrap();
            String::from_utf8(to).unwrap()
        };
        let told = shown(&["cite"], "7 more; raise max_results to include them.");
        assert!(told.contains("papers export") && !told.contains("max_results"));
        let told = shown(&["add", "a.pdf"], "with skip_existing false this file's is");
        assert_eq!(told, "with --again this file's is\n");
    }

    #[test]
    fn a_question_without_an_answer_has_failed() {
        let args = parse_papers_args(&["ask", "why?"]);
        for (failed, output) in [
            (false, json!({ "status": "answered", "support": 1.0 })),
            (false, json!({ "status": "partial", "support": 0.7 })),
            (true, json!({ "status": "partial", "support": null })),
            (true, json!({ "status": "withheld", "support": 0.2 })),
            (true, json!({ "status": "nothing_found", "support": null })),
        ] {
            assert_eq!(args::has_failed(&args.command, &output), failed, "{output}");
        }
    }

    #[test]
    fn escapes_go_and_what_they_keep_stays() {
        let text = r"- \[1\] A. Müller, *On C:\temp \& \\LaTeX*";
        assert_eq!(
            strip_escapes(text),
            r"- [1] A. Müller, *On C:\temp & \LaTeX*"
        );
    }
}
