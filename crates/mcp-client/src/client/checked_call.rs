//! Calls a tool by its definition: checks the arguments before they are sent and the structured
//! content when it arrives. What can't be checked in time is the server's to check.

use std::{pin::pin, sync::Arc};

use serde_json::{Value, json};
use tokio::{sync::oneshot, task::spawn_blocking};

use super::{CallOptions, CheckRunner, McpClient, ToolDef};
use crate::{ClientError, ClientErrorKind, transport::DeliveryStatus};

/// The result of a tool call that may have run at a fallback server.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallResult {
    /// The result as the server wrote it; one with `isError` is a result too.
    pub result: Value,
    /// The server that produced the result.
    pub server: String,
}

/// A call that failed at one server.
#[derive(Debug)]
pub struct FailedCall {
    /// The failure.
    pub error: ClientError,
    /// The usable part of an answer that violates the tool's own output schema.
    pub answer: Option<ToolCallResult>,
}

impl From<ClientError> for FailedCall {
    fn from(error: ClientError) -> Self {
        Self {
            error,
            answer: None,
        }
    }
}

impl FailedCall {
    /// Returns what is usable of the answer, or the failure.
    pub fn into_result(self) -> Result<ToolCallResult, ClientError> {
        self.answer.ok_or(self.error)
    }

    /// Returns the outcome of a call of the fallback server after this failure. If it failed too, it
    /// is the last usable answer or the last failure.
    pub fn or_fallback(
        self,
        second: Result<ToolCallResult, Self>,
    ) -> Result<ToolCallResult, ClientError> {
        second.or_else(|mut second| {
            second.error.earlier_error = Some(Box::new(self.error));
            second.answer.or(self.answer).ok_or(second.error)
        })
    }
}

impl McpClient {
    /// Calls a tool by this definition; another one that the server sends meanwhile does not count.
    pub async fn call_checked(
        &self,
        tool: &Arc<ToolDef>,
        arguments: Value,
        options: CallOptions,
    ) -> Result<ToolCallResult, FailedCall> {
        let about = |error: ClientError| error.with_subject(tool.name.as_str());
        let runner = options.check_runner;
        let arguments = Arc::new(arguments);
        let violations = {
            let quick = tool.checks_arguments_quickly(&arguments);
            let check = run_check(runner, quick, tool, &arguments, ToolDef::check_arguments);
            let check = pin!(async { Ok(check.await) });
            let checked = self.until_stopped(&options, DeliveryStatus::No, check);
            checked.await.map_err(about)?
        };
        if !violations.is_empty() {
            let kind = ClientErrorKind::InvalidArguments(violations);
            return Err(about(ClientError::new(self.name(), kind)).into());
        }
        let arguments = Arc::unwrap_or_clone(arguments);
        let result = Arc::new(self.call(&tool.name, arguments, options).await?);
        let quick = tool.checks_result_quickly(&result);
        let check = run_check(runner, quick, tool, &result, ToolDef::result_violation);
        let violation = check.await;
        let mut answer = ToolCallResult {
            result: Arc::unwrap_or_clone(result),
            server: self.name().to_owned(),
        };
        let Some(reason) = violation else {
            return Ok(answer);
        };
        remove_structured_content(&mut answer.result, &reason);
        let kind = ClientErrorKind::Malformed { reason };
        Err(FailedCall {
            error: about(ClientError::new(self.name(), kind)),
            answer: Some(answer),
        })
    }
}

/// Runs a check of a value against one of a tool's schemas. Schema and value decide how long that
/// takes, so only a quick one is run at once. One that did not end in time finds nothing.
async fn run_check<T: Default + Send + 'static>(
    runner: Option<CheckRunner>,
    quick: bool,
    tool: &Arc<ToolDef>,
    value: &Arc<Value>,
    check: fn(&ToolDef, &Value) -> T,
) -> T {
    if quick {
        return check(tool, value);
    }
    let (tool, value) = (tool.clone(), value.clone());
    let (done, mut verdict) = oneshot::channel();
    let work = move || {
        let found = check(&tool, &value);
        // Whoever takes the verdict takes the value back without copying it.
        drop(value);
        drop(done.send(found));
    };
    match runner {
        Some(run) => run(Box::new(work)).await,
        None => drop(spawn_blocking(work).await),
    }
    verdict.try_recv().unwrap_or_default()
}

/// Removes structured content that violates the tool's own output schema, because clients reject the
/// whole result for it. The other content is kept, and a note says what is missing; as an error,
/// because clients require valid structured content of a success.
fn remove_structured_content(result: &mut Value, violation: &str) {
    let Some(fields) = result.as_object_mut() else {
        return;
    };
    let invalid = fields.shift_remove("structuredContent").unwrap_or_default();
    let note = format!(
        "The tool answered, but its structured content is left out: {violation}. Check before \
         calling it again."
    );
    let content = fields
        .entry("content")
        .or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(blocks) = content {
        if blocks.is_empty() {
            blocks.push(json!({ "type": "text", "text": invalid.to_string() }));
        }
        blocks.push(json!({ "type": "text", "text": note }));
    }
    fields.insert("isError".to_owned(), true.into());
}
