//! `deliberate prompt run`: prints a prompt, or lets the model that is set up answer it, step by
//! step. What is asked goes through the registry, as a client's call does.

use std::{
    io::{self, Write as _},
    pin::pin,
    process::ExitCode,
    sync::Arc,
};

use clap::Args;
use deliberate_core::{Clock as _, RunState, SystemClock, Timestamp, cut_to_chars};
use deliberate_store::{Page, RunFilter};
use deliberate_toolkit::{Answer, Caller, ToolError};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{answered::Answered, progress::Shown, written};
use crate::{
    commands::{
        Shell,
        terminal::{at_terminal, stopped},
        think::tell_how_to_get_one,
    },
    minds::Mind,
    wiring::{Wired, wire},
};

/// What a shell knows as ended by Ctrl-C.
const INTERRUPTED: u8 = 130;

/// What a run keeps of its command.
const KEPT_CHARS: usize = 2_000;

#[derive(Debug, Args)]
#[command(
    after_help = "Without a model the prompt is printed; a chain shows its first step. With one, it \
                  is answered, and the last answer is printed.\n\n\
                  Examples:\n  deliberate prompt run explain_code \"fn main() {}\"\n  \
                  git diff | deliberate prompt run code_review -\n  \
                  deliberate prompt run '>>paper_summary --> >>fact_check_claims' --arg text=\"…\""
)]
pub(super) struct RunArgs {
    /// A prompt's id and a text for it (`-` is standard input), or a whole command in quotes
    #[arg(required_unless_present = "resume")]
    command: Vec<String>,
    /// An argument by its name (repeatable)
    #[arg(long = "arg", value_name = "NAME=VALUE", conflicts_with = "resume")]
    arguments: Vec<String>,
    /// Go on with this run
    #[arg(long, value_name = "CHAIN_ID", conflicts_with = "command")]
    resume: Option<String>,
    /// Your answer to the step it waits at; `-` is standard input
    #[arg(long, value_name = "TEXT", requires = "resume")]
    answer: Option<String>,
    /// Your verdict on what it asks, such as "PASS - it cites two sources"
    #[arg(long, value_name = "VERDICT", requires = "resume")]
    verdict: Option<String>,
    /// What to do with a step that is held
    #[arg(long, value_name = "ACTION", requires = "resume", value_parser = ["retry", "skip", "abort"])]
    action: Option<String>,
    /// Only print; ask no model
    #[arg(long)]
    render: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Don't ask before a model is asked
    #[arg(long, short)]
    yes: bool,
}

/// `at` names the workspace again in what is to be called next.
pub(super) async fn run(
    args: &RunArgs,
    at: &str,
    shell: &mut Shell<'_>,
) -> anyhow::Result<ExitCode> {
    let mut loaded = shell.loaded.clone();
    // Whoever asks for a prompt here wants its tools here.
    loaded.settings.tools.prompts = true;
    let request = request(args)?;
    let wired = wire(&loaded)?;
    let mind = if args.render {
        None
    } else {
        wired.minds.own().await
    };
    if let Some(mind) = &mind
        && !agreed(mind, args)?
    {
        writeln!(io::stderr(), "Nothing was done; `--render` asks no model.")?;
        return Ok(ExitCode::from(1));
    }
    let ended = call(request, mind.as_ref(), at, &wired).await;
    let shown = match ended {
        Ok(Ended::Answered(output)) => {
            let answered = Answered {
                by_model: mind.is_some(),
                as_json: args.json,
                at,
            };
            answered.show(&output, shell.output)
        }
        Ok(Ended::NeedsModel) => {
            writeln!(io::stderr(), "A step of this chain has to think.")?;
            tell_how_to_get_one(&mut io::stderr())?;
            Ok(ExitCode::from(1))
        }
        Ok(Ended::Interrupted(run)) => interrupted(run.or_else(|| args.resume.clone()), at),
        Err(error) => Err(error),
    };
    wired.close().await;
    shown
}

/// What the engine is called with.
fn request(args: &RunArgs) -> anyhow::Result<Map<String, Value>> {
    let mut request = Map::new();
    let mut give = |name: &str, value: Value| request.insert(name.to_owned(), value);
    if let Some(run) = &args.resume {
        give("chain_id", json!(run));
    } else {
        give("command", json!(written::command(&args.command)?));
    }
    if let Some(answer) = &args.answer {
        give("user_response", json!(written::text(answer)?));
    }
    if let Some(verdict) = &args.verdict {
        give("gate_verdict", json!(verdict));
    }
    if let Some(action) = &args.action {
        give("gate_action", json!(action));
    }
    let options = written::arguments(&args.arguments)?;
    if !options.is_empty() {
        give("options", Value::Object(options));
    }
    Ok(request)
}

/// A model may cost something, so a person is asked first.
fn agreed(mind: &Mind, args: &RunArgs) -> anyhow::Result<bool> {
    if args.yes || !at_terminal() {
        return Ok(true);
    }
    let mut stderr = io::stderr();
    write!(stderr, "This asks {}. Go on? [Y/n] ", mind.description)?;
    stderr.flush()?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    let line = line.trim().to_lowercase();
    Ok(matches!(line.as_str(), "" | "y" | "yes"))
}

/// How a call ended.
enum Ended {
    Answered(Value),
    /// A step asks a model, and there is none.
    NeedsModel,
    /// With the run that is left, if there is one.
    Interrupted(Option<String>),
}

async fn call(
    mut request: Map<String, Value>,
    mind: Option<&Mind>,
    at: &str,
    wired: &Wired,
) -> anyhow::Result<Ended> {
    let shown = mind.map(|mind| Shown::new(&mind.description));
    if mind.is_some() {
        request.insert("run".to_owned(), json!(true));
    }
    let command = request.get("command").and_then(Value::as_str);
    let mine = Mine {
        command: cut_to_chars(command.unwrap_or_default(), KEPT_CHARS),
        begun: SystemClock.now(),
    };
    let cancelled = CancellationToken::new();
    let caller = Caller {
        cancelled: cancelled.clone(),
        progress: shown.clone().map(|shown| {
            Arc::new(move |progress| shown.tell(&progress)) as Arc<dyn Fn(_) + Send + Sync>
        }),
        ..Caller::default()
    };
    let mut stop = pin!(stopped()?);
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
    if let Some(shown) = shown {
        shown.end();
    }
    match answer {
        Ok(Answer::Done(output)) => Ok(Ended::Answered(output)),
        Ok(Answer::NeedsReply(_)) => Ok(Ended::NeedsModel),
        Err(_) if was_stopped => Ok(Ended::Interrupted(mine.left_open(wired).await)),
        Err(error) => Err(explained(&error, mine.left_open(wired).await, at)),
    }
}

/// What tells the run of this call from others in the same database.
struct Mine {
    command: String,
    begun: Timestamp,
}

impl Mine {
    /// The run that was begun here and goes on.
    async fn left_open(&self, wired: &Wired) -> Option<String> {
        let open = RunFilter {
            state: Some(RunState::Open),
            owner: Some(None),
            ..RunFilter::default()
        };
        let runs = wired.registry.store().runs(&open, Page::first(100)).await;
        let mut runs = runs.ok()?.into_iter();
        let run = runs.find(|it| it.created_at >= self.begun && it.command == self.command)?;
        Some(run.id.to_string())
    }
}

fn interrupted(run: Option<String>, at: &str) -> anyhow::Result<ExitCode> {
    let mut stderr = io::stderr();
    match run {
        Some(run) => writeln!(stderr, "Stopped. Go on with:\n  {}", resume(&run, at))?,
        None => writeln!(stderr, "Stopped before anything was kept.")?,
    }
    Ok(ExitCode::from(INTERRUPTED))
}

/// How to go on with a run. `#` begins a comment in some shells.
pub(super) fn resume(run: &str, at: &str) -> String {
    format!("deliberate prompt run{at} --resume '{run}'")
}

fn explained(error: &ToolError, run: Option<String>, at: &str) -> anyhow::Error {
    let hint = error
        .hint()
        .map_or_else(String::new, |it| format!(". {it}"));
    let kept = run.map_or_else(String::new, |run| {
        format!(
            "\nWhat was done is kept. Go on with:\n  {}",
            resume(&run, at)
        )
    });
    let error = error.to_string();
    // A mistake in a command is drawn, with a word of its own in front.
    let drawn = error
        .strip_prefix("error[")
        .and_then(|it| it.split_once("]: "));
    let error = drawn.map_or(error.as_str(), |(_, rest)| rest);
    anyhow::anyhow!("{error}{hint}{kept}")
}
