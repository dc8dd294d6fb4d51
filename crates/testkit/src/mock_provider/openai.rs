//! The `OpenAI` kind: chat completions and the list of models.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{
    default_reply::{MockFinishReason, MockReply, prompt_tokens, tokens},
    handler::{MockProviderFormat, MockRejection, MockRequest, handle_ask, handle_management},
    request_log::{RateLimitState, RequestKind},
    sse::{event_response, text_chunks},
};

/// 2026-01-01, for every `created` field.
pub(super) const CREATED: u64 = 1_767_225_600;

pub(super) struct OpenAiFormat;

pub(super) async fn complete(call: MockRequest) -> Response {
    handle_ask(call, OpenAiFormat).await
}

pub(super) async fn models(call: MockRequest) -> Response {
    handle_management(call, OpenAiFormat, RequestKind::List, |_| {
        let model = json!({
            "id": "stand-in", "object": "model", "created": CREATED, "owned_by": "testkit",
        });
        Json(json!({ "object": "list", "data": [model] })).into_response()
    })
    .await
}

impl MockProviderFormat for OpenAiFormat {
    fn error(&self, status: StatusCode, message: &str) -> Response {
        let kind = match status.as_u16() {
            401 => "authentication_error",
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        let error = json!({ "message": message, "type": kind, "param": null, "code": null });
        (status, Json(json!({ "error": error }))).into_response()
    }

    fn check(&self, call: &MockRequest) -> Result<(), MockRejection> {
        if !call.body["model"].is_string() {
            return Err(MockRejection::bad_request(
                "you must provide a model parameter",
            ));
        }
        check_messages(
            &call.body,
            &["system", "developer", "user", "assistant", "tool"],
        )?;
        let refuses = call.state.read(|inner| inner.settings.refuse_json_schema);
        if refuses && call.body["response_format"]["type"] == "json_schema" {
            let message =
                "Invalid parameter: 'response_format' of type 'json_schema' is not supported.";
            return Err(MockRejection::bad_request(message));
        }
        Ok(())
    }

    fn schema(&self, call: &MockRequest) -> Option<Value> {
        response_schema(&call.body)
    }

    fn render_reply(&self, call: &MockRequest, reply: &MockReply, number: usize) -> Response {
        if call.body["stream"] == true {
            return stream(&call.body, reply, number);
        }
        Json(completion(&call.body, reply, number)).into_response()
    }

    fn rate_headers(&self, rate: RateLimitState) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("x-ratelimit-limit-requests", rate.limit.to_string()),
            ("x-ratelimit-remaining-requests", rate.remaining.to_string()),
            (
                "x-ratelimit-reset-requests",
                format!("{}s", rate.reset_seconds),
            ),
        ];
        if rate.exceeded {
            headers.push(("retry-after", rate.reset_seconds.to_string()));
        }
        headers
    }
}

/// Returns the schema in a `response_format` of the `OpenAI` form, which Langbase shares.
pub(super) fn response_schema(body: &Value) -> Option<Value> {
    body["response_format"]["json_schema"]
        .get("schema")
        .cloned()
}

/// Rejects invalid messages.
pub(super) fn check_messages(body: &Value, roles: &[&str]) -> Result<(), MockRejection> {
    let messages = body["messages"]
        .as_array()
        .map_or(&[] as &[Value], Vec::as_slice);
    if messages.is_empty() {
        return Err(MockRejection::bad_request(
            "messages must be a list with at least one message",
        ));
    }
    for (index, message) in messages.iter().enumerate() {
        if !message["role"]
            .as_str()
            .is_some_and(|role| roles.contains(&role))
        {
            return Err(MockRejection::bad_request(format!(
                "messages[{index}].role must be one of {roles:?}"
            )));
        }
        let content = &message["content"];
        if !(content.is_string() || content.is_array()) {
            let message = format!("messages[{index}].content must be a string or a list");
            return Err(MockRejection::bad_request(message));
        }
    }
    Ok(())
}

/// Builds a `chat.completion`, which is also the `raw` part of Langbase's answer.
pub(super) fn completion(body: &Value, said: &MockReply, number: usize) -> Value {
    let prompt = prompt_tokens(body);
    let written = tokens(&said.text);
    json!({
        "id": format!("chatcmpl-{number}"),
        "object": "chat.completion",
        "created": CREATED,
        "model": body["model"].as_str().unwrap_or("stand-in"),
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": said.text },
            "logprobs": null,
            "finish_reason": finish_reason(said.finish),
        }],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": written,
            "total_tokens": prompt + written,
        },
        "system_fingerprint": "stand-in",
    })
}

/// Builds the same answer as server-sent chunks.
pub(super) fn stream(body: &Value, said: &MockReply, number: usize) -> Response {
    let chunk = |delta: Value, finish: Value| {
        let chunk = json!({
            "id": format!("chatcmpl-{number}"),
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": body["model"].as_str().unwrap_or("stand-in"),
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        });
        (None, chunk.to_string())
    };
    let mut all = vec![chunk(json!({ "role": "assistant" }), Value::Null)];
    let contents = text_chunks(&said.text).into_iter();
    all.extend(contents.map(|piece| chunk(json!({ "content": piece }), Value::Null)));
    all.push(chunk(json!({}), json!(finish_reason(said.finish))));
    all.push((None, "[DONE]".to_owned()));
    event_response(all)
}

fn finish_reason(finish: MockFinishReason) -> &'static str {
    match finish {
        MockFinishReason::Stop => "stop",
        MockFinishReason::Length => "length",
        MockFinishReason::Refusal => "content_filter",
    }
}
