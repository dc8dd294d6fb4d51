//! A call's end, as MCP puts it.

use deliberate_toolkit::{CallOutcome, TEXT_FIELD, ToolError};
use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock},
};
use serde_json::{Value, json};

/// The result of a call. A call that failed is a result too, marked as an error, because the
/// model that made it can do something about it; only a tool that does not exist is a fault of
/// the protocol.
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

/// An answer that is not too long for a client. What the call changed is kept all the same.
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
    // What a provider says may end in a full stop of its own.
    let text = error_text.trim_end_matches('.');
    match error.hint() {
        Some(hint) => format!("{text}. {hint}"),
        None => format!("{text}."),
    }
}
