//! The commands and scripts among the criteria of a step's gates, run on an answer. They are run
//! when there is an answer and never before.

use std::{collections::BTreeMap, sync::Arc};

use futures::future::join_all;
use serde_json::{Value, json};

use super::{RunError, Runner, ending};
use crate::{
    gate::{Chosen, Outcome, Ran},
    model::{CriterionKind, ScriptTool, ShellCheck},
};

/// The characters of an output that an answer shows.
const SHOWN: usize = 1_000;

impl Runner {
    /// Runs what the gates ask for, and tells by gate id and the criterion's number in it what
    /// was said. `find` finds a script by its id; `prompt` is the prompt of the step.
    pub async fn checks(
        &self,
        gates: &[Chosen],
        answer: &str,
        prompt: &str,
        find: impl Fn(&str) -> Option<Arc<ScriptTool>>,
    ) -> BTreeMap<(String, usize), Ran> {
        let jobs = gates.iter().flat_map(|chosen| {
            let criteria = chosen.gate.criteria.iter().enumerate();
            criteria.map(move |(at, it)| ((chosen.gate.id.clone(), at + 1), &it.kind))
        });
        let all = jobs.filter_map(|(key, kind)| {
            let tool = match kind {
                CriterionKind::ScriptTool { tool } => Some((tool, find(tool))),
                CriterionKind::ShellVerify(_) => None,
                _ => return None,
            };
            Some(async move {
                let ran = match (kind, tool) {
                    (CriterionKind::ShellVerify(check), _) => self.by_command(check, answer).await,
                    (_, Some((_, Some(tool)))) => self.by_script(&tool, answer, prompt).await,
                    (_, Some((id, None))) => Ran {
                        outcome: Outcome::CannotTell,
                        why: format!("there is no script `{id}`"),
                    },
                    (_, None) => return None,
                };
                Some((key, ran))
            })
        });
        join_all(all).await.into_iter().flatten().collect()
    }

    async fn by_command(&self, check: &ShellCheck, answer: &str) -> Ran {
        match self.command(check, answer).await {
            Ok(it) => Ran {
                outcome: if it.succeeded() {
                    Outcome::Pass
                } else {
                    Outcome::Fail
                },
                why: with_end(&ending(it.code), &it.said),
            },
            Err(error) => refused(&error),
        }
    }

    async fn by_script(&self, tool: &ScriptTool, answer: &str, prompt: &str) -> Ran {
        match self
            .script(tool, &json!({ "answer": answer }), prompt)
            .await
        {
            Ok(output) => said_of(&output.value),
            Err(RunError::Failed {
                said, code: exit, ..
            }) => Ran {
                outcome: Outcome::Fail,
                why: with_end(&ending(exit), &said),
            },
            Err(error) => refused(&error),
        }
    }
}

/// A command that took too long did not say yes; one that was not run said nothing.
fn refused(error: &RunError) -> Ran {
    let outcome = match error {
        RunError::TimedOut { .. } => Outcome::Fail,
        _ => Outcome::CannotTell,
    };
    Ran {
        outcome,
        why: error.to_string(),
    }
}

/// What a script says: `passed`, `valid` or `pass`, and a reason. One that says nothing of the
/// kind and ends well says yes.
fn said_of(value: &Value) -> Ran {
    let verdict = ["passed", "valid", "pass"]
        .iter()
        .find_map(|name| value.get(name)?.as_bool());
    let why = ["reason", "message", "errors", "output"]
        .iter()
        .find_map(|name| value.get(name))
        .map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned))
        .unwrap_or_default();
    Ran {
        outcome: if verdict.unwrap_or(true) {
            Outcome::Pass
        } else {
            Outcome::Fail
        },
        why: with_end("the script ended well", &why),
    }
}

fn with_end(what: &str, said: &str) -> String {
    let said = said.trim();
    let skipped = said.chars().count().saturating_sub(SHOWN);
    let end: String = said.chars().skip(skipped).collect();
    if end.is_empty() {
        what.to_owned()
    } else {
        format!("{what}: {end}")
    }
}
