//! Prints the engine's answer: the result on standard output, the next step on standard error.

use std::{
    io::{self, IsTerminal as _, Write},
    process::ExitCode,
};

use serde_json::Value;

use super::run::resume_command;
use crate::commands::table::escape_control;

/// Options of the output.
pub(super) struct PromptOutput<'a> {
    /// Whether a model was to answer all steps.
    pub(super) by_model: bool,
    pub(super) as_json: bool,
    /// Flag that names the workspace in the next command.
    pub(super) workspace_flag: &'a str,
}

impl PromptOutput<'_> {
    /// Prints the answer. A run that a model was to finish and that is waiting is not a success.
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

/// Returns the next step for a waiting run.
fn resume_hint(status: &str, resume: &str, several: &[u64]) -> Option<String> {
    match status {
        "step" if several.len() > 1 => {
            let each: Vec<String> = several.iter().map(|it| format!("\"{it}\":\"…\"")).collect();
            Some(format!(
                "To continue, answer all steps: {resume} --answer '{{{}}}'",
                each.join(",")
            ))
        }
        "step" => Some(format!(
            "To continue, answer the step: {resume} --answer \"…\""
        )),
        "question" => Some(format!(
            "To continue, give a verdict: {resume} --verdict \"PASS - why\""
        )),
        "review" => Some(format!(
            "The answer did not pass its gates: {resume} with --answer, --verdict or --action retry|skip|abort"
        )),
        _ => None,
    }
}

/// Returns the numbers of the waiting steps.
fn waiting_steps(output: &Value) -> Vec<u64> {
    let steps = output.get("steps").and_then(Value::as_array);
    let steps = steps.into_iter().flatten();
    steps.filter_map(Value::as_u64).collect()
}

/// Escapes control characters for a terminal; another program gets every byte.
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

/// Removes the footer, which tells clients how to continue, not people at a shell.
fn strip_footer(said: &str) -> &str {
    said.rsplit_once("\n\n---\nStep")
        .map_or(said, |(text, _)| text)
}
