//! Nested calls: a tool that runs another one within its own call.
//!
//! The outer tool gets the inner tool's answer and changes and returns the changes with its own, so
//! that both are committed together or not at all. The inner tool uses the same model, with request
//! keys of its own.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    ErrorCode, RAW_RESULT, TEXT_FIELD, ToolContext, ToolError, ToolOutput,
    external_tools::ResolvedCall, registry::ToolAction, tool::StepOutput,
};

impl ToolContext {
    /// Runs the tool of that name; `key` distinguishes its requests from others of this call. The
    /// caller's scope must include the tool. Its changes are not committed: the outer tool returns
    /// them with its own.
    ///
    /// A nested tool can't run others, so that nesting is bounded, and has one step, because
    /// nothing is committed in between.
    pub async fn run_tool(
        &self,
        key: &str,
        name: &str,
        arguments: Value,
    ) -> Result<ToolOutput<Value>, ToolError> {
        let called = self.shared.env.tools.resolve(name, arguments, None)?;
        let entry = called.entry;
        let ToolAction::Run(tool) = &entry.action else {
            return Err(self.not_nestable_error(name));
        };
        if !self.prefix.is_empty() || self.shared.env.tool == entry.meta.name {
            return Err(self.not_nestable_error(name));
        }
        let env = &self.shared.env;
        let (tools, principal) = (&env.tools, &env.caller.principal);
        let target = tools.call_target(entry.meta.name, &called.arguments);
        let prepared = match called.check_allowed(principal) {
            Ok(()) => {
                let arguments = called.arguments;
                tools.check_arguments(entry, arguments, self.store()).await
            }
            Err(error) => Err(error),
        };
        let arguments = prepared.inspect_err(|error| {
            if let Some(target) = &target {
                target.audit_refusal(principal, env.tool, Duration::ZERO, error);
            }
        })?;
        let inner = self.nested(key);
        let StepOutput { outcome, next, .. } = tool.run(arguments, &inner).await?;
        // A next step would have to see the changes of this one, which are not committed yet.
        if next.is_some() {
            return Err(self.would_suspend_error(name));
        }
        let output = tools.with_digits(outcome.output);
        Ok(ToolOutput {
            output: unwrap_external_output(output)?,
            ..outcome
        })
    }

    /// Tells whether there is a tool of that name that can run inside this call.
    pub fn can_run(&self, name: &str) -> bool {
        self.resolve(name).is_ok_and(|called| {
            self.prefix.is_empty()
                && matches!(called.entry.action, ToolAction::Run(_))
                && called.entry.meta.name != self.shared.env.tool
                && called
                    .check_allowed(&self.shared.env.caller.principal)
                    .is_ok()
        })
    }

    /// Tells whether there is a tool of that name that the caller may use.
    pub fn may_use(&self, name: &str) -> bool {
        let called = self.resolve(name);
        called.is_ok_and(|called| {
            called
                .check_allowed(&self.shared.env.caller.principal)
                .is_ok()
        })
    }

    /// Tells whether a tool of that name may have to wait for the client's model.
    pub fn may_suspend(&self, name: &str) -> bool {
        let called = self.resolve(name);
        called.is_ok_and(|called| called.entry.meta.asks_model)
    }

    /// Resolves a name without arguments.
    fn resolve(&self, name: &str) -> Result<ResolvedCall<'_>, ToolError> {
        self.shared.env.tools.resolve(name, json!({}), None)
    }

    fn would_suspend_error(&self, name: &str) -> ToolError {
        ToolError::Custom {
            code: ErrorCode::NotWithin,
            message: format!(
                "{name} needs more than one step and can't finish inside {}; nothing was saved",
                self.shared.env.tool
            ),
            hint: Some("Give it less at once, or call it directly.".to_owned()),
        }
    }

    fn not_nestable_error(&self, name: &str) -> ToolError {
        ToolError::Custom {
            code: ErrorCode::NotWithin,
            message: format!("{name} can't run inside {}", self.shared.env.tool),
            hint: Some("Call it directly.".to_owned()),
        }
    }
}

/// Converts the answer of an upstream server into the form of our own: a text, with the structured
/// content beside it. An answer that reports a failure becomes an error.
fn unwrap_external_output(output: Value) -> Result<Value, ToolError> {
    let Some(result) = output.get(RAW_RESULT) else {
        return Ok(output);
    };
    let text = render_external_text(result);
    if result.get("isError") == Some(&Value::Bool(true)) {
        return Err(ToolError::Custom {
            code: ErrorCode::ToolFailed,
            message: text,
            hint: None,
        });
    }
    Ok(match result.get("structuredContent") {
        Some(structure) => json!({ TEXT_FIELD: text, "structured": structure }),
        None => json!({ TEXT_FIELD: text }),
    })
}

/// Renders the answer of an upstream server: its text, and other content by its kind.
pub(crate) fn render_external_text(result: &Value) -> String {
    let blocks = result.get("content").and_then(Value::as_array);
    let texts: Vec<String> = blocks
        .into_iter()
        .flatten()
        .map(|block| {
            let text = block
                .get("text")
                .or_else(|| block.pointer("/resource/text"));
            if let Some(text) = text.and_then(Value::as_str) {
                return text.to_owned();
            }
            let part = |name: &str| block.get(name).and_then(Value::as_str);
            let kind = part("type").unwrap_or("something");
            let what = part("uri").or(part("mimeType")).unwrap_or_default();
            format!("[{kind} {what}]")
        })
        .collect();
    match (texts.is_empty(), result.get("structuredContent")) {
        (true, Some(structure)) => structure.to_string(),
        (true, None) => result.to_string(),
        (false, _) => texts.join("\n"),
    }
}
