//! Tests of streamed replies: complete however the chunks are cut, and rejected when incomplete.

use std::sync::Mutex;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::method};

use super::mock_servers::{ProviderKind, fast_retries, request_bodies, server};
use crate::support::{far_deadline, tool_call, tool_request};
use deliberate_llm::{
    ChatModel, FinishReason, HttpSettings, ModelError, ModelReply, StreamEvent, ask_turn_streaming,
};

const STREAMING: [ProviderKind; 2] = [ProviderKind::OpenAi, ProviderKind::Anthropic];

fn events(data: &[Value]) -> String {
    let lines = data.iter().map(|it| format!("event: e\ndata: {it}\n\n"));
    lines.collect()
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "what is written in place is read more easily"
)]
fn chunk(delta: Value, finish: Option<&str>) -> Value {
    json!({ "model": "m-1", "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
}

/// Returns a stream with the text "Grüß dich" and two calls.
fn stream(kind: ProviderKind) -> String {
    if kind == ProviderKind::Anthropic {
        return events(&[
            json!({ "type": "message_start", "message": { "model": "m-1", "content": [], "usage": { "input_tokens": 1000, "output_tokens": 1 } } }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
            json!({ "type": "ping" }),
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Grüß " } }),
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "dich" } }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "tool_use", "id": "x1", "name": "look_up", "input": {} } }),
            json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": "{\"text\":" } }),
            json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": " \"ü\"}" } }),
            json!({ "type": "content_block_start", "index": 3, "content_block": { "type": "thinking", "thinking": "", "signature": "" } }),
            json!({ "type": "content_block_delta", "index": 3, "delta": { "type": "thinking_delta", "thinking": "Hm, " } }),
            json!({ "type": "content_block_delta", "index": 3, "delta": { "type": "thinking_delta", "thinking": "a greeting." } }),
            json!({ "type": "content_block_start", "index": 2, "content_block": { "type": "tool_use", "id": "x2", "name": "weather__today", "input": {} } }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 500 } }),
            json!({ "type": "message_stop" }),
        ]);
    }
    let called = |index: u64, id: &str, name: &str, arguments: &str| json!({ "tool_calls": [{ "index": index, "id": id, "function": { "name": name, "arguments": arguments } }] });
    let more = |index: u64, arguments: &str| json!({ "tool_calls": [{ "index": index, "function": { "arguments": arguments } }] });
    let mut all = events(&[
        chunk(
            json!({ "role": "assistant", "reasoning_content": "Hm, " }),
            None,
        ),
        chunk(json!({ "reasoning_content": "a greeting." }), None),
        chunk(json!({ "role": "assistant", "content": "Grüß " }), None),
        chunk(json!({ "content": "dich" }), None),
        chunk(called(0, "x1", "look_up", ""), None),
        chunk(more(0, "{\"text\":"), None),
        chunk(called(1, "x2", "weather__today", "{}"), None),
        chunk(more(0, " \"ü\"}"), None),
        chunk(json!({}), Some("tool_calls")),
        json!({ "choices": [], "usage": { "prompt_tokens": 1000, "completion_tokens": 500 } }),
    ]);
    all.push_str("data: [DONE]\n\n");
    all
}

fn expected_reply() -> ModelReply {
    ModelReply {
        text: "Grüß dich".to_owned(),
        reasoning: "Hm, a greeting.".to_owned(),
        reasoning_tokens: 4,
        model: Some("m-1".to_owned()),
        usage: deliberate_llm::TokenUsage {
            prompt_tokens: 1000,
            completion_tokens: 500,
            cost_usd: Some(0.002),
        },
        calls: vec![
            tool_call("x1", "look_up", json!({ "text": "ü" })),
            tool_call("x2", "weather__today", json!({})),
        ],
        ..ModelReply::default()
    }
}

fn sse(body: impl Into<Vec<u8>>) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body, "text/event-stream; charset=utf-8")
}

async fn collect_stream(model: &dyn ChatModel) -> (Result<ModelReply, ModelError>, String) {
    let heard = Mutex::new(String::new());
    let reply = model
        .complete_streaming(&tool_request(), far_deadline(), &|piece| {
            if let StreamEvent::Text(text) = piece {
                heard.lock().unwrap().push_str(&text);
            }
        })
        .await;
    (reply, heard.into_inner().unwrap())
}

#[tokio::test]
async fn a_stream_becomes_the_reply_it_would_have_been() {
    for kind in STREAMING {
        let server = server(vec![sse(stream(kind))]).await;
        let model = kind.build(&server.uri(), fast_retries());
        let (reply, heard) = collect_stream(model.as_ref()).await;
        assert_eq!(reply, Ok(expected_reply()), "{kind:?}");
        assert_eq!(heard, "Grüß dich");
        let sent = request_bodies(&server, kind.path()).await.remove(0);
        assert_eq!(sent["stream"], true);
        if kind == ProviderKind::OpenAi {
            assert_eq!(sent["stream_options"], json!({ "include_usage": true }));
        }
    }
}

/// Starts a server that sends the stream to each client, cut one byte later each time.
async fn truncating_server(stream: String) -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}", listener.local_addr().unwrap());
    let served = tokio::spawn(async move {
        for cut in 0..=stream.len() {
            let (mut socket, _) = listener.accept().await.unwrap();
            socket.set_nodelay(true).unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            // The request's body is one JSON object; it is complete when its length is reached.
            while !is_complete_request(&request) {
                let read = socket.read(&mut buffer).await.unwrap();
                request.extend_from_slice(&buffer[..read]);
            }
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            socket.write_all(head.as_bytes()).await.unwrap();
            let (first, second) = stream.as_bytes().split_at(cut);
            socket.write_all(first).await.unwrap();
            tokio::task::yield_now().await;
            socket.write_all(second).await.unwrap();
        }
    });
    (uri, served)
}

fn is_complete_request(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.parse::<usize>().unwrap())
    });
    length.is_some_and(|length| body.len() >= length)
}

#[tokio::test]
async fn a_stream_may_be_cut_anywhere() {
    for kind in STREAMING {
        let stream = stream(kind);
        let length = stream.len();
        let (uri, served) = truncating_server(stream).await;
        let model = kind.build(&uri, fast_retries());
        for cut in 0..=length {
            let (reply, heard) = collect_stream(model.as_ref()).await;
            assert_eq!(reply, Ok(expected_reply()), "{kind:?} cut at {cut}");
            assert_eq!(heard, "Grüß dich");
        }
        served.await.unwrap();
    }
}

#[tokio::test]
async fn a_stream_that_ends_early_is_an_error() {
    for kind in STREAMING {
        let stream = stream(kind);
        // Up to the event with the finish reason.
        let end = stream
            .find("tool_calls\"}]")
            .or(stream.find("\"stop_reason\""))
            .unwrap();
        for cut in [0, 10, end / 2, end] {
            let early = stream
                .get(..stream.floor_char_boundary(cut))
                .unwrap()
                .to_owned();
            let server = server(vec![sse(early)]).await;
            let model = kind.build(&server.uri(), fast_retries());
            let (reply, _) = collect_stream(model.as_ref()).await;
            let error = reply.unwrap_err();
            assert_eq!(
                error.code(),
                "ProviderUnavailable",
                "{kind:?} {cut} {error}"
            );
        }
        // The last words are missing, but not the finish reason.
        let without_last = stream
            .strip_suffix("data: [DONE]\n\n")
            .or(stream.strip_suffix("event: e\ndata: {\"type\":\"message_stop\"}\n\n"))
            .unwrap();
        let server = server(vec![sse(without_last)]).await;
        let model = kind.build(&server.uri(), fast_retries());
        assert_eq!(collect_stream(model.as_ref()).await.0, Ok(expected_reply()));
    }
}

#[tokio::test]
async fn hostile_streams_end_in_errors() {
    let flood = "data: {\"choices\": [{\"delta\": {\"content\": \"xxxxxxxxxxxxxxxx\"}}]}\n\n"
        .repeat(600_000);
    let cases = [
        ("data: not json\n\n".to_owned(), "ProviderUnavailable"),
        (
            format!("data: {}", "x".repeat(2_000_000)),
            "InvalidResponse",
        ),
        (flood, "InvalidResponse"),
        (
            events(&[
                json!({ "type": "error", "error": { "type": "overloaded_error", "message": "busy", "code": 503 } }),
            ]),
            "ApiError",
        ),
        (
            events(&[
                json!([1]),
                json!(null),
                json!("x"),
                json!({ "choices": {} , "type": 7 }),
            ]),
            "ProviderUnavailable",
        ),
    ];
    for kind in STREAMING {
        for (body, code) in &cases {
            let server = server(vec![sse(body.as_bytes())]).await;
            let model = kind.build(&server.uri(), fast_retries());
            let (reply, _) = collect_stream(model.as_ref()).await;
            let start: String = body.chars().take(60).collect();
            assert_eq!(reply.unwrap_err().code(), *code, "{kind:?} {start}");
        }
    }
}

#[tokio::test]
async fn many_calls_of_one_index_are_told_apart_by_their_ids() {
    let called = |id: &str| {
        chunk(
            json!({ "tool_calls": [{ "index": 0, "id": id, "function": { "name": "look_up", "arguments": "{}" } }] }),
            None,
        )
    };
    let whole = json!({ "tool_calls": [{ "id": "c", "function": { "name": "look_up", "arguments": { "text": "x" } } }] });
    let body = events(&[called("a"), called("b"), chunk(whole, Some("stop"))]);
    let server = server(vec![sse(body)]).await;
    let model = ProviderKind::OpenAi.build(&server.uri(), fast_retries());
    let reply = collect_stream(model.as_ref()).await.0.unwrap();
    assert_eq!(
        reply.calls,
        [
            tool_call("a", "look_up", json!({})),
            tool_call("b", "look_up", json!({})),
            tool_call("c", "look_up", json!({ "text": "x" })),
        ]
    );
}

#[tokio::test]
async fn who_does_not_stream_is_read_whole() {
    for kind in STREAMING {
        let server = server(vec![kind.text_response("hi")]).await;
        let model = kind.build(&server.uri(), fast_retries());
        let (reply, heard) = collect_stream(model.as_ref()).await;
        assert_eq!(reply.unwrap().text, "hi");
        assert_eq!(heard, "hi");
    }
}

#[tokio::test]
async fn who_has_no_stream_of_its_own_tells_all_at_once() {
    let server = server(vec![ProviderKind::Langbase.text_response("hi")]).await;
    let model = ProviderKind::Langbase.build(&server.uri(), fast_retries());
    assert_eq!(collect_stream(model.as_ref()).await.1, "hi");
}

#[tokio::test]
async fn the_cost_of_a_stream_is_not_asked_for_where_that_is_refused() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(|request: &Request| {
            let body: Value = request.body_json().unwrap();
            if body.get("stream_options").is_some() {
                let error = json!({ "error": { "message": "unknown field stream_options" } });
                ResponseTemplate::new(400).set_body_json(error)
            } else {
                sse(stream(ProviderKind::OpenAi))
            }
        })
        .mount(&server)
        .await;
    let model = ProviderKind::OpenAi.build(&server.uri(), fast_retries());
    assert_eq!(collect_stream(model.as_ref()).await.0, Ok(expected_reply()));
    assert_eq!(collect_stream(model.as_ref()).await.0, Ok(expected_reply()));
    assert_eq!(
        request_bodies(&server, ProviderKind::OpenAi.path())
            .await
            .len(),
        3
    );
}

#[tokio::test]
async fn a_failure_before_the_stream_is_tried_again() {
    for kind in STREAMING {
        let server = server(vec![ResponseTemplate::new(503), sse(stream(kind))]).await;
        let model = kind.build(&server.uri(), fast_retries());
        assert_eq!(collect_stream(model.as_ref()).await.0, Ok(expected_reply()));
    }
}

#[tokio::test]
async fn a_turn_is_streamed_and_told_anew_when_it_is_asked_again() {
    let bad = events(&[chunk(
        json!({ "content": "Hm", "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "fly", "arguments": "{}" } }] }),
        Some("tool_calls"),
    )]);
    let server = server(vec![sse(bad), sse(stream(ProviderKind::OpenAi))]).await;
    let model = ProviderKind::OpenAi.build(&server.uri(), fast_retries());
    let heard = Mutex::new(Vec::new());
    let turn = ask_turn_streaming(model.as_ref(), tool_request(), far_deadline(), &|piece| {
        heard.lock().unwrap().push(piece);
    })
    .await
    .unwrap();
    assert_eq!(turn.value.calls, expected_reply().calls);
    assert_eq!(turn.replies.len(), 2);
    let text = |text: &str| StreamEvent::Text(text.to_owned());
    assert_eq!(
        *heard.lock().unwrap(),
        [
            text("Hm"),
            StreamEvent::Restart,
            text("Grüß "),
            text("dich")
        ]
    );
}

#[tokio::test]
async fn a_stream_that_falls_silent_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}", listener.local_addr().unwrap());
    let served = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {}\n\n";
        socket.write_all(head.as_bytes()).await.unwrap();
        std::future::pending::<()>().await;
    });
    let silent = HttpSettings {
        request_timeout: std::time::Duration::from_millis(200),
        ..fast_retries()
    };
    let model = ProviderKind::OpenAi.build(&uri, silent);
    let error = collect_stream(model.as_ref()).await.0.unwrap_err();
    assert_eq!(error.code(), "Timeout");
    served.abort();
}

#[tokio::test]
async fn the_reason_of_the_end_is_told() {
    let body = events(&[chunk(json!({ "content": "cut" }), Some("length"))]);
    let server = server(vec![sse(body)]).await;
    let model = ProviderKind::OpenAi.build(&server.uri(), fast_retries());
    assert_eq!(
        collect_stream(model.as_ref())
            .await
            .0
            .unwrap()
            .finish_reason,
        FinishReason::Length
    );
}
