//! A tool that runs another one within its own call.
//!
//! The inner tool's answer and its changes are handed to the outer one, which returns the changes
//! with its own: both are committed together or not at all. The inner one asks the same minds,
//! under names of its own.

use serde_json::{Value, json};

use crate::{
    RAW_RESULT, TEXT_FIELD, ToolContext, ToolError, ToolOutput, external_tools::ResolvedCall,
    registry::ToolAction, tool::StepOutput,
};

impl ToolContext {
    /// Runs the tool of that name; `key` sets its asks apart from those of others in this call.
    /// Who called must be allowed to use it. Its changes are not yet made: the caller returns them
    /// with its own.
    ///
    /// A tool that is run so can't run others, so that no chain of them has no end; and it has one
    /// leg, because nothing is kept in between.
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
        called.check_allowed(&self.shared.env.caller.principal)?;
        let arguments = entry.check(called.arguments)?;
        let inner = Self {
            shared: self.shared.clone(),
            prefix: format!("{key}/"),
        };
        let StepOutput { outcome, next, .. } = tool.run(arguments, &inner).await?;
        // Its next leg would have to see what this one changed, and nothing is kept before the end.
        if next.is_some() {
            return Err(self.would_suspend_error(name));
        }
        Ok(ToolOutput {
            output: unwrap_external_output(outcome.output)?,
            ..outcome
        })
    }

    /// Whether there is a tool of that name that can be run from within this call.
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

    /// Whether there is a tool of that name that the caller may use.
    pub fn may_use(&self, name: &str) -> bool {
        let called = self.resolve(name);
        called.is_ok_and(|called| {
            called
                .check_allowed(&self.shared.env.caller.principal)
                .is_ok()
        })
    }

    /// Whether a tool of that name may have to wait until its client has thought.
    pub fn may_suspend(&self, name: &str) -> bool {
        let called = self.resolve(name);
        called.is_ok_and(|called| called.entry.meta.asks_model)
    }

    /// What a name stands for, whatever it is called with.
    fn resolve(&self, name: &str) -> Result<ResolvedCall<'_>, ToolError> {
        self.shared.env.tools.resolve(name, json!({}), None)
    }

    fn would_suspend_error(&self, name: &str) -> ToolError {
        ToolError::Custom {
            code: "NotWithin".to_owned(),
            message: format!(
                "{name} has more to do than one step of {} can hold; nothing of it was kept",
                self.shared.env.tool
            ),
            hint: Some("Give it less at once, or call it by itself.".to_owned()),
        }
    }

    fn not_nestable_error(&self, name: &str) -> ToolError {
        ToolError::Custom {
            code: "NotWithin".to_owned(),
            message: format!("{name} can't be run from within {}", self.shared.env.tool),
            hint: Some("Call it by itself.".to_owned()),
        }
    }
}

/// The answer of another server as if it were one of ours: a text to be read, with the structure
/// beside it. What says that it failed is a failure.
fn unwrap_external_output(output: Value) -> Result<Value, ToolError> {
    let Some(result) = output.get(RAW_RESULT) else {
        return Ok(output);
    };
    let text = render_external_text(result);
    if result.get("isError") == Some(&Value::Bool(true)) {
        return Err(ToolError::Custom {
            code: "ToolFailed".to_owned(),
            message: text,
            hint: None,
        });
    }
    Ok(match result.get("structuredContent") {
        Some(structure) => json!({ TEXT_FIELD: text, "structured": structure }),
        None => json!({ TEXT_FIELD: text }),
    })
}

/// The answer of another server as it is read: its text, and what else there is by its kind.
fn render_external_text(result: &Value) -> String {
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
