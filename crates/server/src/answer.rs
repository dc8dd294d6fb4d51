//! A call's end, as MCP puts it.

use deliberate_toolkit::{Answer, ToolError};
use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock},
};
use serde_json::json;

/// The result of a call. A call that failed is a result too, marked as an error, because the
/// model that made it can do something about it; only a tool that does not exist is a fault of
/// the protocol.
pub(crate) fn result(outcome: Result<Answer, ToolError>) -> Result<CallToolResult, ErrorData> {
    match outcome {
        Ok(Answer::Done(output)) => Ok(CallToolResult::structured(output)),
        Ok(Answer::NeedsReply(needs)) => {
            Ok(CallToolResult::structured(json!({ "needs_reply": needs })))
        }
        Err(error @ ToolError::UnknownTool { .. }) => Err(ErrorData::invalid_params(
            sentence(&error),
            Some(error.to_json()),
        )),
        Err(error) => {
            let mut result = CallToolResult::error(vec![ContentBlock::text(format!(
                "Error: {}: {}",
                error.code(),
                sentence(&error)
            ))]);
            result.structured_content = Some(json!({ "error": error.to_json() }));
            Ok(result)
        }
    }
}

fn sentence(error: &ToolError) -> String {
    let error_text = error.to_string();
    // What a provider says may end in a full stop of its own.
    let text = error_text.trim_end_matches('.');
    match error.hint() {
        Some(hint) => format!("{text}. {hint}"),
        None => format!("{text}."),
    }
}
