//! Anthropic's messages API: plain text, a forced tool, or a JSON Schema as output format.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{
    default_reply::{MockFinishReason, MockReply, prompt_tokens, tokens},
    handler::{MockProviderFormat, MockRejection, MockRequest, handle_ask},
    openai::check_messages,
    request_log::RateLimitState,
    sse::{event_response, text_chunks},
};

struct AnthropicFormat;

pub(super) async fn messages(call: MockRequest) -> Response {
    handle_ask(call, AnthropicFormat).await
}

impl MockProviderFormat for AnthropicFormat {
    fn error(&self, status: StatusCode, message: &str) -> Response {
        let kind = match status.as_u16() {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        };
        let error = json!({ "type": kind, "message": message });
        let body = json!({ "type": "error", "error": error, "request_id": "req_stand_in" });
        (status, [("request-id", "req_stand_in")], Json(body)).into_response()
    }

    fn check(&self, call: &MockRequest) -> Result<(), MockRejection> {
        if !call.headers.contains_key("anthropic-version") {
            return Err(MockRejection::bad_request(
                "anthropic-version: header is required",
            ));
        }
        if !call.body["model"].is_string() {
            return Err(MockRejection::bad_request("model: Field required"));
        }
        if call.body["max_tokens"]
            .as_u64()
            .is_none_or(|most| most == 0)
        {
            return Err(MockRejection::bad_request("max_tokens: Field required"));
        }
        // The system prompt is a field of its own here, not a message.
        check_messages(&call.body, &["user", "assistant"])
    }

    fn schema(&self, call: &MockRequest) -> Option<Value> {
        let body = &call.body;
        let format = &body["output_config"]["format"];
        let format = if format.is_null() {
            &body["output_format"]
        } else {
            format
        };
        let tool = forced_tool(body).and_then(|tool| tool.get("input_schema"));
        format.get("schema").or(tool).cloned()
    }

    fn render_reply(&self, call: &MockRequest, reply: &MockReply, number: usize) -> Response {
        let (block, stop) = block(&call.body, reply, number);
        let usage = json!({
            "input_tokens": prompt_tokens(&call.body),
            "output_tokens": tokens(&reply.text),
        });
        let mut message = json!({
            "id": format!("msg_{number}"),
            "type": "message",
            "role": "assistant",
            "model": call.body["model"],
            "content": [block],
            "stop_reason": stop,
            "stop_sequence": null,
            "usage": usage,
        });
        if call.body["stream"] != true {
            return Json(message).into_response();
        }
        let block = message["content"][0].take();
        message["content"] = json!([]);
        message["stop_reason"] = Value::Null;
        stream(&message, &block, &reply.text, stop)
    }

    fn rate_headers(&self, rate: RateLimitState) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("anthropic-ratelimit-requests-limit", rate.limit.to_string()),
            (
                "anthropic-ratelimit-requests-remaining",
                rate.remaining.to_string(),
            ),
        ];
        if rate.exceeded {
            headers.push(("retry-after", rate.reset_seconds.to_string()));
        }
        headers
    }
}

/// Returns the tool that `tool_choice` demands.
fn forced_tool(body: &Value) -> Option<&Value> {
    let name = body["tool_choice"].get("name")?;
    let tools = body["tools"].as_array()?;
    tools.iter().find(|tool| &tool["name"] == name)
}

/// Returns the reply as a content block, and the stop reason. A text that is not a JSON object
/// cannot be a tool's input, so it is sent as text.
fn block(body: &Value, reply: &MockReply, number: usize) -> (Value, &'static str) {
    let stop = match reply.finish {
        MockFinishReason::Stop => "end_turn",
        MockFinishReason::Length => "max_tokens",
        MockFinishReason::Refusal => "refusal",
    };
    let input = serde_json::from_str::<Value>(&reply.text).unwrap_or(Value::Null);
    match forced_tool(body) {
        Some(tool) if input.is_object() => {
            let id = format!("toolu_{number}");
            let block =
                json!({ "type": "tool_use", "id": id, "name": tool["name"], "input": input });
            (block, "tool_use")
        }
        _ => (json!({ "type": "text", "text": reply.text }), stop),
    }
}

fn stream(message: &Value, block: &Value, text: &str, stop: &str) -> Response {
    let (empty, delta_type, field) = if block["type"] == "tool_use" {
        let empty = json!({
            "type": "tool_use", "id": block["id"], "name": block["name"], "input": {},
        });
        (empty, "input_json_delta", "partial_json")
    } else {
        (json!({ "type": "text", "text": "" }), "text_delta", "text")
    };
    let event = |name: &'static str, mut data: Value| {
        data["type"] = json!(name);
        (Some(name), data.to_string())
    };
    let mut all = vec![
        event("message_start", json!({ "message": message })),
        event(
            "content_block_start",
            json!({ "index": 0, "content_block": empty }),
        ),
    ];
    all.extend(text_chunks(text).into_iter().map(|piece| {
        let delta = json!({ "type": delta_type, field: piece });
        event("content_block_delta", json!({ "index": 0, "delta": delta }))
    }));
    all.push(event("content_block_stop", json!({ "index": 0 })));
    let delta = json!({ "stop_reason": stop, "stop_sequence": null });
    let usage = json!({ "output_tokens": message["usage"]["output_tokens"] });
    all.push(event(
        "message_delta",
        json!({ "delta": delta, "usage": usage }),
    ));
    all.push(event("message_stop", json!({})));
    event_response(all)
}
