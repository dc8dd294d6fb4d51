//! Script tools: JSON in, JSON out, in their own folder.

use std::{ffi::OsString, path::Path, time::Duration};

use serde_json::{Value, json};

use super::{
    RunError, Runner,
    allow::name_of,
    environment, place,
    process::{self, Job},
};
use crate::{
    gate::problems_of,
    model::{Runtime, ScriptTool},
};

/// How long a script may take if it does not say, and at most.
const USUAL: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_mins(5);

/// What a script said.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptOutput {
    /// Its output: JSON as it is, text as `{"output": text}`.
    pub value: Value,
    /// The end of what it wrote besides.
    pub said: String,
}

impl Runner {
    /// Whether a script may be run.
    pub fn script_allowed(&self, tool: &ScriptTool) -> Result<(), RunError> {
        self.scripts.check(tool)
    }

    /// Whether the operator's list has a script of that name: `id`, or `prompt:id` if a prompt owns
    /// it. Whoever may write files on behalf of a model leaves such a script alone.
    pub fn script_listed(&self, name: &str) -> bool {
        self.scripts.lists(name)
    }

    /// Runs a script on this input, for this prompt. Dropping the future ends it.
    pub async fn script(
        &self,
        tool: &ScriptTool,
        input: &Value,
        prompt: &str,
    ) -> Result<ScriptOutput, RunError> {
        self.script_allowed(tool)?;
        let name = name_of(tool);
        if let Some(schema) = &tool.schema {
            let problems = problems_of(schema, input).unwrap_or_else(|why| vec![why]);
            if !problems.is_empty() {
                return Err(RunError::Input(name, problems.join("; ")));
            }
        }
        let own = "the folder of the script";
        let file = place::inside(&tool.folder, Some(&tool.script), "the script", own).await?;
        let at = tool.working_dir.as_deref();
        let folder = place::inside(&tool.folder, at, "the working directory", own).await?;
        let program =
            program(tool.runtime, &file).ok_or_else(|| RunError::NoRuntime(name.clone()))?;
        let Some(file) = file.to_str() else {
            return Err(RunError::NoRuntime(name));
        };
        let ours = [
            ("SCRIPT_TOOL_ID", OsString::from(&tool.id)),
            ("SCRIPT_PROMPT_ID", OsString::from(prompt)),
            ("SCRIPT_TOOL_DIR", tool.folder.clone().into_os_string()),
        ];
        let _place = self.places.acquire().await;
        let finished = process::run(Job {
            what: name.clone(),
            words: vec![program.to_owned(), file.to_owned()],
            folder,
            environment: environment::of_child(&tool.env, &ours),
            input: input.to_string().into_bytes(),
            time: tool
                .timeout_ms
                .map_or(USUAL, Duration::from_millis)
                .clamp(super::SHORTEST, LONGEST),
            keep_output: true,
        })
        .await?;
        if finished.overflowed {
            return Err(RunError::TooMuch(name));
        }
        let text = String::from_utf8_lossy(&finished.output);
        if !finished.succeeded() {
            let said = if finished.said.trim().is_empty() {
                text.trim()
            } else {
                finished.said.trim()
            };
            return Err(RunError::Failed {
                id: name,
                code: finished.code,
                said: said.chars().take(1_000).collect(),
            });
        }
        let value = serde_json::from_str(text.trim())
            .unwrap_or_else(|_| json!({ "output": text.trim_end() }));
        Ok(ScriptOutput {
            value,
            said: finished.said,
        })
    }
}

/// What runs a file.
fn program(runtime: Runtime, file: &Path) -> Option<&'static str> {
    let ending = file
        .extension()
        .and_then(|it| it.to_str())
        .unwrap_or_default();
    match (runtime, ending) {
        (Runtime::Python, _) | (Runtime::Auto, "py") => Some("python3"),
        (Runtime::Node, _) | (Runtime::Auto, "js" | "mjs" | "cjs") => Some("node"),
        (Runtime::Shell, _) | (Runtime::Auto, "sh") => Some("sh"),
        (Runtime::Auto, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_is_named_or_told_by_the_ending() {
        let run = |runtime, file: &str| program(runtime, Path::new(file));
        assert_eq!(run(Runtime::Auto, "a.py"), Some("python3"));
        assert_eq!(run(Runtime::Auto, "a.mjs"), Some("node"));
        assert_eq!(run(Runtime::Auto, "a.sh"), Some("sh"));
        assert_eq!(run(Runtime::Auto, "a"), None);
        assert_eq!(run(Runtime::Python, "a.sh"), Some("python3"));
    }
}
