//! What the engine answered, for a person or a program at the shell: what was asked for on standard
//! output, how to go on beside it.

use std::{
    io::{self, IsTerminal as _, Write},
    process::ExitCode,
};

use serde_json::Value;

use super::run::resume_command;
use crate::commands::table::escape_control;

/// How it is shown.
pub(super) struct PromptOutput<'a> {
    /// Whether a model was to answer all steps.
    pub(super) by_model: bool,
    pub(super) as_json: bool,
    /// Names the workspace again in what is to be called next.
    pub(super) workspace_flag: &'a str,
}

impl PromptOutput<'_> {
    /// Shows it. A run that a model was to bring to its end and that waits is no success.
    pub(super) fn print(&self, output: &Value, stdout: &mut dyn Write) -> anyhow::Result<ExitCode> {
        let text = |field: &str| output.get(field).and_then(Value::as_str).map(str::to_owned);
        let said = text("said").unwrap_or_default();
        let status = text("status").unwrap_or_default();
        let run = text("chain_id");
        let last = text("answer");
        if self.as_json {
            writeln!(stdout, "{}", serde_json::to_string_pretty(output)?)?;
        } else {
            let text = match &last {
                Some(last) => last,
                None if status == "step" => strip_footer(&said),
                None => &said,
            };
            print_text(text, stdout)?;
        }
        let Some(next) = run.and_then(|run| {
            resume_hint(
                &status,
                &resume_command(&run, self.workspace_flag),
                &waiting_steps(output),
            )
        }) else {
            return Ok(ExitCode::SUCCESS);
        };
        writeln!(io::stderr(), "\n{next}")?;
        Ok(if self.by_model {
            ExitCode::from(1)
        } else {
            ExitCode::SUCCESS
        })
    }
}

/// What to do about a run that waits; nothing if it does not.
fn resume_hint(status: &str, resume: &str, several: &[u64]) -> Option<String> {
    match status {
        "step" if several.len() > 1 => {
            let each: Vec<String> = several.iter().map(|it| format!("\"{it}\":\"…\"")).collect();
            Some(format!(
                "To go on, answer them all: {resume} --answer '{{{}}}'",
                each.join(",")
            ))
        }
        "step" => Some(format!("To go on, answer it: {resume} --answer \"…\"")),
        "question" => Some(format!(
            "To go on, decide: {resume} --verdict \"PASS - why\""
        )),
        "review" => Some(format!(
            "The answer is held: {resume} with --answer, --verdict or --action retry|skip|abort"
        )),
        _ => None,
    }
}

/// The numbers of the steps that wait.
fn waiting_steps(output: &Value) -> Vec<u64> {
    let steps = output.get("steps").and_then(Value::as_array);
    let steps = steps.into_iter().flatten();
    steps.filter_map(Value::as_u64).collect()
}

/// A terminal must not obey what models and files say; another program gets every byte.
fn print_text(text: &str, stdout: &mut dyn Write) -> io::Result<()> {
    let text = if io::stdout().is_terminal() {
        escape_control(text)
    } else {
        text.to_owned()
    };
    stdout.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    Ok(())
}

/// How a client goes on is not how a person at a shell does.
fn strip_footer(said: &str) -> &str {
    said.rsplit_once("\n\n---\nStep")
        .map_or(said, |(text, _)| text)
}
