//! External tools and their results in MCP: unchanged, except for the differences between the eras
//! of the protocol.

use std::io;

use deliberate_json_schema::round_large_integers;
use deliberate_toolkit::{ExternalTool, RAW_RESULT, ToolError};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolResponse, CallToolResult, ContentBlock, ErrorCode, GetTaskResult,
        InputRequiredResult, JsonObject, ListToolsResult, ServerResult, Tool,
    },
    service::RequestContext,
};
use serde::Deserialize as _;
use serde_json::Value;

use super::{call_result, client_info::ClientInfo, tool_listing::listed_definition};
use crate::raw_result::RawResultSlot;

const RESULT_TYPE: &str = "resultType";
const COMPLETE: &str = "complete";
const INPUT_REQUIRED: &str = "input_required";

/// The answer to a call.
pub(super) enum CallReply {
    /// In the SDK's types.
    Typed(CallToolResponse),
    /// The unchanged result of an upstream server.
    Raw(Value),
}

impl<T: Into<CallToolResponse>> From<T> for CallReply {
    fn from(ours: T) -> Self {
        Self::Typed(ours.into())
    }
}

/// Takes the upstream server's result from an answer, if it is one.
pub(super) fn take_raw_result(output: &mut Value) -> Option<Value> {
    output.get_mut(RAW_RESULT).map(Value::take)
}

/// Adapts a result to the client's era and checks its length.
pub(super) fn to_raw_reply(mut result: Value, modern: bool, most_bytes: usize) -> CallReply {
    let length = json_length(&result);
    if length > most_bytes {
        return call_result::too_long_result(length, most_bytes).into();
    }
    let Some(fields) = result.as_object_mut() else {
        return error_reply("the upstream server returned a result that is not an object");
    };
    let kind = fields.get(RESULT_TYPE).and_then(Value::as_str);
    match (modern, kind) {
        (true, None) => {
            fields.shift_insert(0, RESULT_TYPE.to_owned(), COMPLETE.into());
        }
        (false, Some(COMPLETE)) => {
            fields.shift_remove(RESULT_TYPE);
        }
        (false, Some(INPUT_REQUIRED)) => {
            return error_reply(
                "the tool requests input in a way that this client does not support",
            );
        }
        _ => {}
    }
    CallReply::Raw(result)
}

/// The protocol error for an upstream server that requires its user to open a page before the call,
/// for a client that supports it.
pub(super) fn url_elicitation_error(error: &ToolError, client: &ClientInfo) -> Option<ErrorData> {
    const URL_ELICITATION: i32 = -32_042;
    let ToolError::Upstream(far) = error else {
        return None;
    };
    let wanted = far.more.get("rpc_code").and_then(Value::as_i64) == Some(URL_ELICITATION.into());
    (wanted && client.request_support.elicitation_url && !client.modern).then(|| {
        let data = far.more.get("data").cloned();
        ErrorData::new(ErrorCode(URL_ELICITATION), error.to_string(), data)
    })
}

fn error_reply(message: &str) -> CallReply {
    CallToolResult::error(vec![ContentBlock::text(format!("Error: {message}"))]).into()
}

/// The length of a value as JSON text, without building the text.
fn json_length(value: &Value) -> usize {
    struct ByteCounter(usize);
    impl io::Write for ByteCounter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = ByteCounter(0);
    // Neither the counting writer nor a parsed value can fail.
    drop(serde_json::to_writer(&mut count, value));
    count.0
}

/// The response for the SDK. It carries the result itself if there is no slot for raw results.
pub(super) fn to_response(
    reply: CallReply,
    context: &RequestContext<RoleServer>,
) -> CallToolResponse {
    let mut result = match reply {
        CallReply::Typed(response) => return response,
        CallReply::Raw(result) => result,
    };
    if let Some(slot) = RawResultSlot::from_context(context) {
        slot.fill(result);
        return CallToolResult::success(Vec::new()).into();
    }
    round_large_integers(&mut result);
    to_typed_response(&result)
}

/// The state of a task for the SDK, whose result may be that of an upstream server.
pub(super) fn to_task_response(
    task: GetTaskResult,
    context: &RequestContext<RoleServer>,
) -> GetTaskResult {
    let Ok(mut result) = serde_json::to_value(&task) else {
        return task;
    };
    if let Some(slot) = RawResultSlot::from_context(context) {
        slot.fill(result);
        return task;
    }
    round_large_integers(&mut result);
    GetTaskResult::deserialize(result).unwrap_or(task)
}

/// Serializes a response.
pub(super) fn to_json(response: CallToolResponse) -> Value {
    serde_json::to_value(ServerResult::from(response)).unwrap_or_default()
}

fn to_typed_response(result: &Value) -> CallToolResponse {
    if result
        .get(RESULT_TYPE)
        .is_some_and(|kind| kind == INPUT_REQUIRED)
        && let Ok(required) = InputRequiredResult::deserialize(result)
    {
        return required.into();
    }
    match CallToolResult::deserialize(result) {
        Ok(result) => result.into(),
        Err(_) => CallToolResult::success(vec![ContentBlock::text(result.to_string())]).into(),
    }
}

/// Adds external tools to a page of tools.
pub(super) fn add_external_tools(
    mut page: ListToolsResult,
    external_tools: &[ExternalTool],
    modern: bool,
    context: &RequestContext<RoleServer>,
) -> ListToolsResult {
    if external_tools.is_empty() {
        return page;
    }
    let Some(slot) = RawResultSlot::from_context(context) else {
        page.tools
            .extend(external_tools.iter().filter_map(parse_definition));
        return page;
    };
    if !modern {
        page.result_type = None;
    }
    if let Ok(mut result) = serde_json::to_value(&page) {
        if let Some(Value::Array(tools)) = result.get_mut("tools") {
            tools.extend(
                external_tools
                    .iter()
                    .map(|external_tool| listed_definition(&external_tool.definition)),
            );
        }
        slot.fill(result);
    }
    ListToolsResult::default()
}

fn parse_definition(tool: &ExternalTool) -> Option<Tool> {
    Tool::deserialize(listed_definition(&tool.definition)).ok()
}

/// The part of an external tool that the transport needs: its input schema.
pub(super) fn tool_outline(external_tool: &ExternalTool) -> Option<Tool> {
    let schema: &JsonObject = external_tool.definition.get("inputSchema")?.as_object()?;
    Some(Tool::new(
        external_tool.name.to_string(),
        "",
        schema.clone(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_json(text: &str) -> Value {
        serde_json::from_str(text).unwrap_or_default()
    }

    #[test]
    fn a_result_is_of_the_era_of_its_reader_and_else_as_it_was() {
        let old = r#"{"b":1,"content":[],"a":2}"#;
        let new = r#"{"b":1,"resultType":"complete","content":[],"a":2}"#;
        let other = r#"{"b":1,"resultType":"of a vendor","a":2}"#;
        let marked = r#"{"resultType":"complete","b":1,"content":[],"a":2}"#;
        for (result, modern, expected) in [
            (old, false, old),
            (old, true, marked),
            (new, false, old),
            (new, true, new),
            (other, false, other),
            (other, true, other),
        ] {
            let CallReply::Raw(told) = to_raw_reply(parse_json(result), modern, 1_000) else {
                panic!("{result}");
            };
            assert_eq!(told.to_string(), expected);
        }
    }

    #[test]
    fn what_a_reader_can_do_nothing_with_is_told_as_an_error() {
        let asks = r#"{"resultType":"input_required","inputRequests":{}}"#;
        for (result, modern, most) in [(asks, false, 1_000), ("[]", true, 1_000), (asks, true, 9)] {
            let CallReply::Typed(CallToolResponse::Complete(told)) =
                to_raw_reply(parse_json(result), modern, most)
            else {
                panic!("{result}");
            };
            assert_eq!(told.is_error, Some(true), "{result}");
        }
    }
}
