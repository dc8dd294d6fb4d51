//! `deliberate prompt run`: prints a prompt, or lets the configured model answer it step by step.
//! Calls go through the registry, like those of a client.

use std::{
    io::{self, Write as _},
    pin::pin,
    process::ExitCode,
    sync::Arc,
};

use clap::Args;
use deliberate_core::{ChainState, Clock as _, SystemClock, Timestamp, truncate_chars};
use deliberate_store::{ChainRunFilter, Pagination};
use deliberate_toolkit::{CallOutcome, CallerContext, ToolError};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{command_line, output::PromptOutput, progress::ProgressDisplay};
use crate::{
    commands::{
        CommandContext,
        shell_hint::translate_hint,
        terminal::{at_terminal, stop_signal},
        think::print_model_help,
    },
    providers::SelectedProvider,
    wiring::{App, build_app},
};

/// The exit code that shells use for Ctrl-C.
const EXIT_INTERRUPTED: u8 = 130;

/// How much of its command a run stores.
const STORED_COMMAND_CHARS: usize = 2_000;

#[derive(Debug, Args)]
#[command(
    after_help = "Without a model the prompt is printed; for a chain, its first step. With a model, all \
                  steps are answered and the last answer is printed.\n\n\
                  Examples:\n  deliberate prompt run explain_code \"fn main() {}\"\n  \
                  git diff | deliberate prompt run code_review -\n  \
                  deliberate prompt run '>>paper_summary --> >>fact_check_claims' --arg text=\"…\""
)]
pub(super) struct PromptRunArgs {
    /// A prompt's id and its text (`-` reads standard input), or a whole command in quotes
    #[arg(required_unless_present = "resume")]
    command: Vec<String>,
    /// An argument by name (repeatable)
    #[arg(long = "arg", value_name = "NAME=VALUE", conflicts_with = "resume")]
    arguments: Vec<String>,
    /// Continue this run
    #[arg(long, value_name = "CHAIN_ID", conflicts_with = "command")]
    resume: Option<String>,
    /// Your answer to the waiting step; `-` reads standard input
    #[arg(long, value_name = "TEXT", requires = "resume")]
    answer: Option<String>,
    /// Your verdict, such as "PASS - it cites two sources"
    #[arg(long, value_name = "VERDICT", requires = "resume")]
    verdict: Option<String>,
    /// What to do with a step that failed its gates
    #[arg(long, value_name = "ACTION", requires = "resume", value_parser = ["retry", "skip", "abort"])]
    action: Option<String>,
    /// Only print the prompt, without asking a model
    #[arg(long)]
    render: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Do not ask before using a model
    #[arg(long, short)]
    yes: bool,
}

/// `at` is the flag that names the workspace in the next command.
pub(super) async fn run(
    args: &PromptRunArgs,
    at: &str,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let mut loaded = shell.loaded.clone();
    // A prompt that is run here also needs its tools.
    loaded.settings.tools.prompts = true;
    let request = build_request(args)?;
    let wired = build_app(&loaded)?;
    let provider = if args.render {
        None
    } else {
        wired.providers.own_provider().await
    };
    if let Some(provider) = &provider
        && !confirm(provider, args)?
    {
        writeln!(io::stderr(), "Nothing was done; `--render` uses no model.")?;
        return Ok(ExitCode::from(1));
    }
    let ended = call(request, provider.as_ref(), at, &wired).await;
    let shown = match ended {
        Ok(PromptCallEnd::Completed(output)) => {
            let prompt_output = PromptOutput {
                by_model: provider.is_some(),
                as_json: args.json,
                workspace_flag: at,
            };
            prompt_output.print(&output, shell.output)
        }
        Ok(PromptCallEnd::NeedsModel) => {
            writeln!(io::stderr(), "A step of this chain needs a model.")?;
            print_model_help(&mut io::stderr())?;
            Ok(ExitCode::from(1))
        }
        Ok(PromptCallEnd::Interrupted(run)) => {
            report_interrupted(run.or_else(|| args.resume.clone()), at)
        }
        Err(error) => Err(error),
    };
    wired.close().await;
    shown
}

/// Builds the arguments of the engine's tool.
fn build_request(args: &PromptRunArgs) -> anyhow::Result<Map<String, Value>> {
    let mut request = Map::new();
    let mut give = |name: &str, value: Value| request.insert(name.to_owned(), value);
    if let Some(run) = &args.resume {
        give("chain_id", json!(run));
    } else {
        give(
            "command",
            json!(command_line::build_command(&args.command)?),
        );
    }
    if let Some(answer) = &args.answer {
        give("user_response", json!(command_line::read_text(answer)?));
    }
    if let Some(verdict) = &args.verdict {
        give("gate_verdict", json!(verdict));
    }
    if let Some(action) = &args.action {
        give("gate_action", json!(action));
    }
    let options = command_line::parse_arguments(&args.arguments)?;
    if !options.is_empty() {
        give("options", Value::Object(options));
    }
    Ok(request)
}

/// Asks the user first, since a model may cost money.
fn confirm(provider: &SelectedProvider, args: &PromptRunArgs) -> anyhow::Result<bool> {
    if args.yes || !at_terminal() {
        return Ok(true);
    }
    let mut stderr = io::stderr();
    write!(
        stderr,
        "This uses {}. Continue? [Y/n] ",
        provider.description
    )?;
    stderr.flush()?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    let line = line.trim().to_lowercase();
    Ok(matches!(line.as_str(), "" | "y" | "yes"))
}

/// How a call ended.
enum PromptCallEnd {
    Completed(Value),
    /// A step needs a model, and there is none.
    NeedsModel,
    /// Interrupted, with the run that can be continued, if there is one.
    Interrupted(Option<String>),
}

async fn call(
    mut request: Map<String, Value>,
    provider: Option<&SelectedProvider>,
    at: &str,
    wired: &App,
) -> anyhow::Result<PromptCallEnd> {
    let display = provider.map(|provider| ProgressDisplay::new(&provider.description));
    if provider.is_some() {
        request.insert("run".to_owned(), json!(true));
    }
    let command = request.get("command").and_then(Value::as_str);
    let mine = StartedRun {
        command: truncate_chars(command.unwrap_or_default(), STORED_COMMAND_CHARS),
        started_at: SystemClock.now(),
    };
    let cancelled = CancellationToken::new();
    let caller = CallerContext {
        cancellation: cancelled.clone(),
        progress: display.clone().map(|display| {
            Arc::new(move |progress| display.update(&progress)) as Arc<dyn Fn(_) + Send + Sync>
        }),
        ..CallerContext::default()
    };
    let mut stop = pin!(stop_signal()?);
    let mut answer = pin!(
        wired
            .registry
            .call("prompt_engine", Value::Object(request), caller)
    );
    let (answer, was_stopped) = tokio::select! {
        answer = &mut answer => (answer, false),
        () = &mut stop => {
            cancelled.cancel();
            (answer.await, true)
        }
    };
    if let Some(display) = display {
        display.finish();
    }
    match answer {
        Ok(CallOutcome::Done(output)) => Ok(PromptCallEnd::Completed(output)),
        Ok(CallOutcome::NeedsReply(_)) => Ok(PromptCallEnd::NeedsModel),
        Err(_) if was_stopped => Ok(PromptCallEnd::Interrupted(mine.find_open_run(wired).await)),
        Err(error) => Err(explain_error(&error, mine.find_open_run(wired).await, at)),
    }
}

/// Identifies the run of this call among others in the same database.
struct StartedRun {
    command: String,
    started_at: Timestamp,
}

impl StartedRun {
    /// Returns the open run that was started here.
    async fn find_open_run(&self, wired: &App) -> Option<String> {
        let open = ChainRunFilter {
            state: Some(ChainState::Open),
            owner: Some(None),
            ..ChainRunFilter::default()
        };
        let runs = wired
            .registry
            .store()
            .runs(&open, Pagination::limit(100))
            .await;
        let mut runs = runs.ok()?.into_iter();
        let run = runs.find(|it| it.created_at >= self.started_at && it.command == self.command)?;
        Some(run.id.to_string())
    }
}

fn report_interrupted(run: Option<String>, at: &str) -> anyhow::Result<ExitCode> {
    let mut stderr = io::stderr();
    match run {
        Some(run) => writeln!(
            stderr,
            "Stopped. Continue with:\n  {}",
            resume_command(&run, at)
        )?,
        None => writeln!(stderr, "Stopped before anything was stored.")?,
    }
    Ok(ExitCode::from(EXIT_INTERRUPTED))
}

/// Returns the command that continues a run. The id is quoted, because `#` starts a comment in some
/// shells.
pub(super) fn resume_command(run: &str, at: &str) -> String {
    format!("deliberate prompt run{at} --resume '{run}'")
}

fn explain_error(error: &ToolError, run: Option<String>, at: &str) -> anyhow::Error {
    let hint = error
        .hint()
        .map_or_else(String::new, |it| format!(". {}", translate_hint(&it)));
    let kept = run.map_or_else(String::new, |run| {
        format!(
            "\nThe finished steps are stored. Continue with:\n  {}",
            resume_command(&run, at)
        )
    });
    let error = error.to_string();
    // An error in a command is shown with its source, under its own prefix.
    let drawn = error
        .strip_prefix("error[")
        .and_then(|it| it.split_once("]: "));
    let error = drawn.map_or(error.as_str(), |(_, rest)| rest);
    anyhow::anyhow!("{error}{hint}{kept}")
}
