//! Converts the outcome of a call to an MCP result.

use deliberate_toolkit::{CallOutcome, TEXT_FIELD, ToolError};
use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock},
};
use serde_json::{Value, json};

/// The MCP result of a call. A failed call is a result with an error flag, because the model that
/// made the call can react to it; only an unknown tool is a protocol error.
pub(super) fn to_call_result(
    outcome: Result<CallOutcome, ToolError>,
    most_bytes: usize,
) -> Result<CallToolResult, ErrorData> {
    match outcome {
        Ok(CallOutcome::Done(output)) => Ok(success_result(output, most_bytes)),
        Ok(CallOutcome::NeedsReply(needs)) => {
            Ok(CallToolResult::structured(json!({ "needs_reply": needs })))
        }
        Err(error @ ToolError::UnknownTool { .. }) => Err(ErrorData::invalid_params(
            error_sentence(&error),
            Some(error.to_json()),
        )),
        Err(error) => {
            let mut result = CallToolResult::error(vec![ContentBlock::text(format!(
                "Error: {}: {}",
                error.code(),
                error_sentence(&error)
            ))]);
            result.structured_content = Some(json!({ "error": error.to_json() }));
            Ok(result)
        }
    }
}

/// The result of a successful call, if it is not too long. The changes of the call are committed in
/// any case.
fn success_result(output: Value, most_bytes: usize) -> CallToolResult {
    let text = output.to_string();
    if text.len() > most_bytes {
        return too_long_result(text.len(), most_bytes);
    }
    let said = output
        .get(TEXT_FIELD)
        .and_then(Value::as_str)
        .map(str::to_owned);
    let mut result = CallToolResult::success(vec![ContentBlock::text(said.unwrap_or(text))]);
    result.structured_content = Some(output);
    result
}

pub(super) fn too_long_result(length: usize, most_bytes: usize) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(format!(
        "Error: AnswerTooLong: the answer has {length} bytes, more than the {most_bytes} that are \
         allowed. Ask for less at once, such as a smaller limit."
    ))])
}

pub(crate) fn error_sentence(error: &ToolError) -> String {
    let error_text = error.to_string();
    // The text of a provider may end with a period.
    let text = error_text.trim_end_matches('.');
    match error.hint() {
        Some(hint) => format!("{text}. {hint}"),
        None => format!("{text}."),
    }
}
