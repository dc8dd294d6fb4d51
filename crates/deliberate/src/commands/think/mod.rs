//! `deliberate think`: asks one question from the shell.

use std::{
    io::{self, BufRead, Write},
    process::ExitCode,
    time::Duration,
};

use anyhow::bail;
use clap::Args;
use deliberate_llm::{PROVIDERS, Provider};
use deliberate_toolkit::{
    CallOutcome, CallerContext, ClientPrompt, NeedsReply, RESUME_TOOL, Registry, ToolError,
};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::{CommandContext, table::escape_control, terminal::at_terminal};
use crate::wiring::build_app;

#[derive(Debug, Args)]
pub(crate) struct ThinkArgs {
    /// The question; `-` reads it from standard input
    question: String,
    /// Continue this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Answer the model's prompts yourself, in the terminal
    #[arg(long)]
    manual: bool,
}

pub(crate) async fn run(
    args: &ThinkArgs,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let mut loaded = shell.loaded.clone();
    if args.manual {
        "client".clone_into(&mut loaded.settings.provider);
    }
    let wired = build_app(&loaded)?;
    let provider = wired.providers.own_provider().await;
    if provider.is_none() && !args.manual {
        if args.json {
            print_model_help(&mut io::stderr())?;
        } else {
            print_model_help(shell.output)?;
        }
        return Ok(ExitCode::from(1));
    }
    let mut arguments = json!({ "content": read_question(&args.question)? });
    if let (Some(session), Some(fields)) = (&args.session, arguments.as_object_mut()) {
        fields.insert("session_id".to_owned(), session.clone().into());
    }
    let spinner = provider.map(|provider| spinner(&format!("asking {}", provider.description)));
    let answer = wired
        .registry
        .call("reasoning_linear", arguments, CallerContext::default())
        .await;
    if let Some(spinner) = spinner {
        spinner.finish_and_clear();
    }
    let outcome = match answer {
        Ok(CallOutcome::Done(output)) => Ok(output),
        Ok(CallOutcome::NeedsReply(needs)) => answer_manually(needs, &wired.registry).await,
        Err(error) => Err(error.into()),
    };
    wired.close().await;
    print_output(&outcome.map_err(explain_error)?, args, shell.output)?;
    Ok(ExitCode::SUCCESS)
}

fn read_question(given: &str) -> anyhow::Result<String> {
    if given == "-" {
        return Ok(io::read_to_string(io::stdin().lock())?);
    }
    Ok(given.to_owned())
}

pub(super) fn print_model_help(output: &mut dyn Write) -> io::Result<()> {
    print_model_options(output)?;
    writeln!(
        output,
        "  or answer the question yourself: deliberate think --manual \"…\""
    )
}

/// Prints how to get a model; the caller adds what works without one.
pub(super) fn print_model_options(output: &mut dyn Write) -> io::Result<()> {
    let local = PROVIDERS.iter().filter(|provider| provider.is_discovered());
    let local: Vec<&str> = local.map(Provider::title).collect();
    let keys = PROVIDERS.iter().filter_map(Provider::key_env);
    let keys: Vec<&str> = keys.take(NAMED_KEYS).collect();
    writeln!(output, "No model is configured. Do one of these:")?;
    writeln!(
        output,
        "  start {} on this machine; it is found automatically",
        join_or(&local)
    )?;
    writeln!(output, "  set an API key, such as {}", join_or(&keys))
}

/// How many API keys the help names; there are more providers.
const NAMED_KEYS: usize = 4;

fn join_or(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

fn spinner(message: &str) -> ProgressBar {
    if !at_terminal() {
        return ProgressBar::hidden();
    }
    let spinner = ProgressBar::new_spinner().with_message(message.to_owned());
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}

/// Lets the user answer the prompts for the model.
async fn answer_manually(needs: NeedsReply, registry: &Registry) -> anyhow::Result<Value> {
    let mut needs = needs;
    loop {
        let mut replies = Vec::new();
        for ask in &needs.asks {
            replies.push(read_reply(ask)?);
        }
        let arguments = json!({ "id": needs.id, "replies": replies });
        match registry
            .call(RESUME_TOOL, arguments, CallerContext::default())
            .await?
        {
            CallOutcome::Done(output) => return Ok(output),
            CallOutcome::NeedsReply(again) => needs = again,
        }
    }
}

fn read_reply(ask: &ClientPrompt) -> anyhow::Result<String> {
    let mut stderr = io::stderr().lock();
    writeln!(stderr, "{}\n", ask.system)?;
    for message in &ask.messages {
        writeln!(stderr, "{}\n", message.text)?;
    }
    writeln!(
        stderr,
        "Your reply (plain text or JSON), ended by an empty line or Ctrl-D:"
    )?;
    stderr.flush()?;
    let mut reply = String::new();
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() && !reply.trim().is_empty() {
            break;
        }
        reply.push_str(&line);
        reply.push('\n');
    }
    if reply.trim().is_empty() {
        bail!("there was no reply; nothing was stored");
    }
    Ok(reply)
}

pub(super) fn explain_error(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<ToolError>().map(ToolError::hint) {
        // Hints are written for callers of tools.
        Some(Some(hint)) => {
            anyhow::anyhow!("{error}. {}", hint.replace("session_id", "--session"))
        }
        _ => error,
    }
}

fn print_output(output: &Value, args: &ThinkArgs, shell: &mut dyn Write) -> anyhow::Result<()> {
    if args.json {
        writeln!(shell, "{}", serde_json::to_string_pretty(output)?)?;
        return Ok(());
    }
    let text = |field: &str| {
        let text = output.get(field).and_then(Value::as_str);
        escape_control(text.unwrap_or_default())
    };
    let sure = output
        .get("confidence")
        .and_then(Value::as_f64)
        .unwrap_or_default();
    writeln!(shell, "{}\n", text("content"))?;
    writeln!(shell, "Confidence {:.0} %. Continue with:", sure * 100.0)?;
    writeln!(
        shell,
        "  deliberate think --session {} \"…\"",
        text("session_id")
    )?;
    Ok(())
}
