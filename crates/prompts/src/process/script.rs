//! Runs script tools: JSON on standard input, JSON on standard output, in their own folder.

use std::{ffi::OsString, path::Path, time::Duration};

use deliberate_toolkit::compute;
use serde_json::{Value, json};

use super::{
    ProcessError, ProcessRunner,
    allowlist::qualified_name,
    child_process::{self, ProcessSpec},
    environment::{VariableSource, child_environment},
    path_containment,
};
use crate::{
    gate::schema_problems,
    model::{ScriptRuntime, ScriptTool},
};

/// The default and the maximum timeout of a script.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_TIMEOUT: Duration = Duration::from_mins(5);

/// The output of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptOutput {
    /// The standard output: JSON unchanged, text as `{"output": text}`.
    pub value: Value,
    /// The end of the standard error output.
    pub stderr_tail: String,
}

impl ProcessRunner {
    /// Checks that a script may be run.
    pub fn check_script(&self, tool: &ScriptTool) -> Result<(), ProcessError> {
        self.scripts.check(tool)
    }

    /// Returns whether the operator's allowlist contains a script name: `id`, or `prompt:id` if a
    /// prompt owns it. Code that writes files on behalf of a model must not change such a script.
    pub fn is_script_listed(&self, name: &str) -> bool {
        self.scripts.contains(name)
    }

    /// Runs a script with this input, for this prompt. Dropping the future kills it.
    pub async fn run_script(
        &self,
        tool: &ScriptTool,
        input: &Value,
        prompt: &str,
    ) -> Result<ScriptOutput, ProcessError> {
        self.check_script(tool)?;
        let name = qualified_name(tool);
        if let Some(schema) = &tool.schema {
            // Authors and callers decide how long this takes.
            let (schema, input) = (schema.clone(), input.clone());
            let checked = compute(move || schema_problems(&schema, &input)).await;
            let checked =
                checked.map_err(|error| ProcessError::InputNotChecked(name.clone(), error))?;
            let problems = checked.unwrap_or_else(|why| vec![why]);
            if !problems.is_empty() {
                return Err(ProcessError::InvalidInput(name, problems.join("; ")));
            }
        }
        let own = "the folder of the script";
        let file =
            path_containment::resolve_inside(&tool.folder, Some(&tool.script), "the script", own)
                .await?;
        let at = tool.working_dir.as_deref();
        let folder =
            path_containment::resolve_inside(&tool.folder, at, "the working directory", own)
                .await?;
        let program = interpreter(tool.runtime, &file)
            .ok_or_else(|| ProcessError::NoRuntime(name.clone()))?;
        let Some(file) = file.to_str() else {
            return Err(ProcessError::NoRuntime(name));
        };
        let ours = [
            ("SCRIPT_TOOL_ID", OsString::from(&tool.id)),
            ("SCRIPT_PROMPT_ID", OsString::from(prompt)),
            ("SCRIPT_TOOL_DIR", tool.folder.clone().into_os_string()),
        ];
        let _place = self.permits.acquire().await;
        let finished = child_process::run(ProcessSpec {
            label: name.clone(),
            argv: vec![program.to_owned(), file.to_owned()],
            working_dir: folder,
            environment: child_environment(VariableSource::AllowedScript, &tool.env, &ours),
            input: input.to_string().into_bytes(),
            timeout: tool
                .timeout_ms
                .map_or(DEFAULT_TIMEOUT, Duration::from_millis)
                .clamp(super::MIN_TIMEOUT, MAX_TIMEOUT),
            keep_output: true,
        })
        .await?;
        if finished.overflowed {
            return Err(ProcessError::OutputTooLarge(name));
        }
        let text = String::from_utf8_lossy(&finished.output);
        if !finished.succeeded() {
            let said = if finished.tail.trim().is_empty() {
                text.trim()
            } else {
                finished.tail.trim()
            };
            return Err(ProcessError::Failed {
                id: name,
                code: finished.code,
                said: said.chars().take(1_000).collect(),
            });
        }
        let value = serde_json::from_str(text.trim())
            .unwrap_or_else(|_| json!({ "output": text.trim_end() }));
        Ok(ScriptOutput {
            value,
            stderr_tail: finished.tail,
        })
    }
}

/// Returns the interpreter of a file.
fn interpreter(runtime: ScriptRuntime, file: &Path) -> Option<&'static str> {
    let ending = file
        .extension()
        .and_then(|it| it.to_str())
        .unwrap_or_default();
    match (runtime, ending) {
        (ScriptRuntime::Python, _) | (ScriptRuntime::Auto, "py") => Some("python3"),
        (ScriptRuntime::Node, _) | (ScriptRuntime::Auto, "js" | "mjs" | "cjs") => Some("node"),
        (ScriptRuntime::Shell, _) | (ScriptRuntime::Auto, "sh") => Some("sh"),
        (ScriptRuntime::Auto, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_is_named_or_told_by_the_ending() {
        let run = |runtime, file: &str| interpreter(runtime, Path::new(file));
        assert_eq!(run(ScriptRuntime::Auto, "a.py"), Some("python3"));
        assert_eq!(run(ScriptRuntime::Auto, "a.mjs"), Some("node"));
        assert_eq!(run(ScriptRuntime::Auto, "a.sh"), Some("sh"));
        assert_eq!(run(ScriptRuntime::Auto, "a"), None);
        assert_eq!(run(ScriptRuntime::Python, "a.sh"), Some("python3"));
    }
}
