//! Runs the command and script criteria of a step's gates on an answer. They run only when there is
//! an answer.

use std::{collections::BTreeMap, sync::Arc};

use futures::future::join_all;
use serde_json::{Value, json};

use super::{ProcessError, ProcessRunner, exit_code_text};
use crate::{
    gate::{CheckOutcome, ExternalCheckResult, SelectedGate},
    model::{CriterionKind, ScriptTool, ShellCheck},
};

/// The maximum number of output characters in a result.
const MAX_OUTPUT_CHARS: usize = 1_000;

impl ProcessRunner {
    /// Runs the command and script criteria of the gates, and returns the results by gate id and
    /// criterion number. `find` finds a script by its id; `prompt` is the prompt of the step.
    pub async fn run_gate_checks(
        &self,
        gates: &[SelectedGate],
        answer: &str,
        prompt: &str,
        find: impl Fn(&str) -> Option<Arc<ScriptTool>>,
    ) -> BTreeMap<(String, usize), ExternalCheckResult> {
        let jobs = gates.iter().flat_map(|gate| {
            let criteria = gate.gate.criteria.iter().enumerate();
            criteria.map(move |(at, it)| ((gate.gate.id.clone(), at + 1), &it.kind))
        });
        let all = jobs.filter_map(|(key, kind)| {
            let tool = match kind {
                CriterionKind::ScriptTool { tool } => Some((tool, find(tool))),
                CriterionKind::ShellVerify(_) => None,
                _ => return None,
            };
            Some(async move {
                let result = match (kind, tool) {
                    (CriterionKind::ShellVerify(check), _) => {
                        self.run_command_check(check, answer).await
                    }
                    (_, Some((_, Some(tool)))) => {
                        self.run_script_check(&tool, answer, prompt).await
                    }
                    (_, Some((id, None))) => ExternalCheckResult {
                        outcome: CheckOutcome::CannotTell,
                        reason: format!("there is no script `{id}`"),
                    },
                    (_, None) => return None,
                };
                Some((key, result))
            })
        });
        join_all(all).await.into_iter().flatten().collect()
    }

    async fn run_command_check(&self, check: &ShellCheck, answer: &str) -> ExternalCheckResult {
        match self.run_command(check, answer).await {
            Ok(it) => ExternalCheckResult {
                outcome: if it.succeeded() {
                    CheckOutcome::Pass
                } else {
                    CheckOutcome::Fail
                },
                reason: with_output_tail(&exit_code_text(it.code), &it.tail),
            },
            Err(error) => error_result(&error),
        }
    }

    async fn run_script_check(
        &self,
        tool: &ScriptTool,
        answer: &str,
        prompt: &str,
    ) -> ExternalCheckResult {
        match self
            .run_script(tool, &json!({ "answer": answer }), prompt)
            .await
        {
            Ok(output) => script_result(&output.value),
            Err(ProcessError::Failed {
                said: text,
                code: exit,
                ..
            }) => ExternalCheckResult {
                outcome: CheckOutcome::Fail,
                reason: with_output_tail(&exit_code_text(exit), &text),
            },
            Err(error) => error_result(&error),
        }
    }
}

/// Maps an error to a result: a timeout fails; a command that was not run cannot tell.
fn error_result(error: &ProcessError) -> ExternalCheckResult {
    let outcome = match error {
        ProcessError::TimedOut { .. } => CheckOutcome::Fail,
        _ => CheckOutcome::CannotTell,
    };
    ExternalCheckResult {
        outcome,
        reason: error.to_string(),
    }
}

/// Reads the verdict from a script's output: `passed`, `valid` or `pass`, and a reason. A script
/// without a verdict that exits successfully passes.
fn script_result(value: &Value) -> ExternalCheckResult {
    let verdict = ["passed", "valid", "pass"]
        .iter()
        .find_map(|name| value.get(name)?.as_bool());
    let why = ["reason", "message", "errors", "output"]
        .iter()
        .find_map(|name| value.get(name))
        .map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned))
        .unwrap_or_default();
    ExternalCheckResult {
        outcome: if verdict.unwrap_or(true) {
            CheckOutcome::Pass
        } else {
            CheckOutcome::Fail
        },
        reason: with_output_tail("the script finished", &why),
    }
}

fn with_output_tail(what: &str, text: &str) -> String {
    let text = text.trim();
    let skipped = text.chars().count().saturating_sub(MAX_OUTPUT_CHARS);
    let end: String = text.chars().skip(skipped).collect();
    if end.is_empty() {
        what.to_owned()
    } else {
        format!("{what}: {end}")
    }
}
