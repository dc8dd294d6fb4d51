//! Converts the outcome of a call to an MCP result.

use deliberate_toolkit::{
    CallOutcome, CompactPrompts, NeedsReply, PresentedOutput, TEXT_FIELD, ToolError,
};
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
        Ok(CallOutcome::Done(output)) => Ok(success_result(output, None, most_bytes)),
        Ok(CallOutcome::NeedsReply(needs)) => {
            let text = needs_reply_text(&needs);
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
            result.structured_content = Some(json!({ "needs_reply": needs }));
            Ok(result)
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
pub(super) fn success_result(
    output: Value,
    presented: Option<PresentedOutput>,
    most_bytes: usize,
) -> CallToolResult {
    let (text, data) = if let Some(presented) = presented {
        (presented.text, presented.data)
    } else {
        let text = output.get(TEXT_FIELD).and_then(Value::as_str);
        let text = text.map_or_else(|| output.to_string(), str::to_owned);
        (text, output)
    };
    let length = data.to_string().len().max(text.len());
    if length > most_bytes {
        return too_long_result(length, most_bytes);
    }
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(data);
    result
}

/// The prompts for the client's model, to be read by it.
fn needs_reply_text(needs: &NeedsReply) -> String {
    let CompactPrompts { shared, asks } = needs.compact();
    let mut parts: Vec<String> = shared.into_iter().collect();
    for (number, ask) in asks.iter().enumerate() {
        if asks.len() > 1 {
            parts.push(format!("## Ask {}", number + 1));
        }
        if !ask.system.is_empty() {
            parts.push(ask.system.clone());
        }
        let messages = ask.messages.iter();
        parts.extend(messages.map(|message| message.text.trim_end().to_owned()));
        if !ask.schema.is_null() {
            parts.push(format!(
                "Reply with one JSON object that fits this JSON Schema: {}",
                ask.schema
            ));
        }
    }
    parts.push(format!("{} id: {}", needs.next, needs.id));
    parts.join("\n\n")
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
