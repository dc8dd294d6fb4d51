//! Tests of chat completions.

use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, Request, ResponseTemplate,
    matchers::{method, path},
};

use super::mock_servers::{KEY, ProviderKind, fast_retries, request_bodies, request_count, server};
use crate::support::{far_deadline, thought_request};
use deliberate_llm::{
    ChatModel, FinishReason, JsonMode, ModelError, OpenAi, OpenAiSettings, TokenLimit, find_vendor,
};

const CHAT: &str = "/chat/completions";

fn openai(server: &MockServer, change: impl FnOnce(&mut OpenAiSettings)) -> OpenAi {
    let mut settings = OpenAiSettings::for_url(server.uri());
    settings.http = fast_retries();
    settings.model = Some("m".to_owned());
    change(&mut settings);
    OpenAi::new(settings).unwrap()
}

#[tokio::test]
async fn the_schema_goes_with_the_request() {
    let server = server(vec![ProviderKind::OpenAi.text_response("x")]).await;
    openai(&server, |_| {})
        .complete(&thought_request(), far_deadline())
        .await
        .unwrap();
    let sent = request_bodies(&server, CHAT).await.remove(0);
    assert_eq!(sent["model"], "m");
    assert_eq!(sent["stream"], false);
    assert_eq!(sent["max_tokens"], 400);
    assert_eq!(sent["temperature"], 0.5);
    // The schema gets no limits of ours: a local server enforces them in the middle of a sentence.
    let schema = thought_request().schema;
    assert_eq!(
        sent["response_format"],
        json!({"type": "json_schema", "json_schema": {
            "name": "linear", "schema": schema, "strict": false,
        }})
    );
    let request = &server.received_requests().await.unwrap()[0];
    assert!(request.headers.get("authorization").is_none());
}

#[tokio::test]
async fn a_key_is_sent_where_there_is_one() {
    let server = server(vec![ProviderKind::OpenAi.text_response("x")]).await;
    let ai = openai(&server, |settings| settings.api_key = Some(KEY.into()));
    ai.complete(&thought_request(), far_deadline())
        .await
        .unwrap();
    let request = &server.received_requests().await.unwrap()[0];
    assert_eq!(
        request.headers["authorization"],
        format!("Bearer {KEY}").as_str()
    );
    let empty = OpenAiSettings {
        api_key: Some("  ".into()),
        ..OpenAiSettings::for_url(server.uri())
    };
    assert_eq!(
        OpenAi::new(empty).err().map(|error| error.code()),
        Some("Config")
    );
}

/// Starts a server that rejects requests with these fields and names the field.
async fn refusing_server(refuse: fn(&Value) -> Option<&'static str>) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(move |request: &Request| {
            let body: Value = request.body_json().unwrap();
            match refuse(&body) {
                Some(message) => {
                    ResponseTemplate::new(400).set_body_json(json!({"error": {"message": message}}))
                }
                None => ProviderKind::OpenAi.text_response("x"),
            }
        })
        .mount(&server)
        .await;
    server
}

#[tokio::test]
async fn an_endpoint_without_schemas_is_asked_more_simply_from_then_on() {
    let server = refusing_server(|body| {
        let format = body.pointer("/response_format/type")?.as_str()?;
        (format == "json_schema").then_some("response_format: unknown type")
    })
    .await;
    let ai = openai(&server, |_| {});
    ai.complete(&thought_request(), far_deadline())
        .await
        .unwrap();
    ai.complete(&thought_request(), far_deadline())
        .await
        .unwrap();
    let formats: Vec<_> = request_bodies(&server, CHAT)
        .await
        .iter()
        .map(|body| body["response_format"]["type"].clone())
        .collect();
    assert_eq!(formats, ["json_schema", "json_object", "json_object"]);
}

#[tokio::test]
async fn steps_down_go_to_the_end_and_then_stop() {
    let nothing_special = refusing_server(|body| {
        if body.get("response_format").is_some() {
            Some("'response_format' is not supported")
        } else if body.get("max_tokens").is_some() {
            Some("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        } else {
            body.get("temperature")
                .map(|_| "'temperature' does not support 0.5")
        }
    })
    .await;
    openai(&nothing_special, |_| {})
        .complete(&thought_request(), far_deadline())
        .await
        .unwrap();
    let sent = request_bodies(&nothing_special, CHAT).await;
    assert_eq!(sent.len(), 5);
    assert_eq!(sent[4]["max_completion_tokens"], 400);

    let never = refusing_server(|_| Some("response_format")).await;
    let error = openai(&never, |_| {})
        .complete(&thought_request(), far_deadline())
        .await
        .unwrap_err();
    assert!(
        matches!(error, ModelError::Api { status: 400, .. }),
        "{error:?}"
    );
    assert_eq!(request_count(&never).await, 3);

    let other = refusing_server(|_| Some("the context is too long")).await;
    assert!(
        openai(&other, |_| {})
            .complete(&thought_request(), far_deadline())
            .await
            .is_err()
    );
    assert_eq!(request_count(&other).await, 1);
}

#[tokio::test]
async fn a_missing_model_is_an_error_after_one_call() {
    let missing = ResponseTemplate::new(404).set_body_json(json!({"error": "model not found"}));
    let server = server(vec![missing]).await;
    let error = openai(&server, |_| {})
        .complete(&thought_request(), far_deadline())
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "openai-compatible answered 404: model not found"
    );
    assert_eq!(request_count(&server).await, 1);
}

#[tokio::test]
async fn vendors_say_how_they_are_asked() {
    let server = server(vec![ProviderKind::OpenAi.text_response("x")]).await;
    let vendor = find_vendor("openai").unwrap();
    let ai = OpenAi::new(OpenAiSettings {
        base_url: server.uri(),
        json: JsonMode::None,
        ..OpenAiSettings::for_vendor(vendor, Some(KEY.into()))
    })
    .unwrap();
    assert_eq!(ai.name(), "openai");
    ai.complete(&thought_request(), far_deadline())
        .await
        .unwrap();
    let sent = request_bodies(&server, CHAT).await.remove(0);
    assert_eq!(
        Some(sent["model"].as_str().unwrap()),
        vendor.default_model.as_deref()
    );
    assert_eq!(vendor.max_tokens, TokenLimit::MaxCompletionTokens);
    assert_eq!(sent["max_completion_tokens"], 400);
    assert!(sent.get("max_tokens").is_none());
    assert!(sent.get("response_format").is_none());
}

fn choice_response(message: &Value, reason: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({
        "choices": [{"message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "cost": 0.25},
    }))
}

#[tokio::test]
async fn messages_in_every_form_are_read() {
    let cases = [
        (
            json!({"content": "hi", "reasoning_content": "hm"}),
            "stop",
            "hi",
            FinishReason::Stop,
        ),
        (
            json!({"content": [{"type": "text", "text": "h"}, {"type": "image"}, {"type": "text", "text": "i"}]}),
            "length",
            "hi",
            FinishReason::Length,
        ),
        (
            json!({"content": null, "refusal": "I won't"}),
            "stop",
            "I won't",
            FinishReason::Refusal,
        ),
        (
            json!({"content": "", "refusal": null}),
            "content_filter",
            "",
            FinishReason::Refusal,
        ),
        (json!({"content": null}), "stop", "", FinishReason::Stop),
    ];
    for (message, reason, text, finish) in cases {
        let server = server(vec![choice_response(&message, reason)]).await;
        let reply = openai(&server, |_| {})
            .complete(&thought_request(), far_deadline())
            .await
            .unwrap();
        assert_eq!(
            (reply.text.as_str(), reply.finish_reason),
            (text, finish),
            "{message}"
        );
        assert_eq!(reply.usage.cost_usd, Some(0.25));
    }
}

#[tokio::test]
async fn an_error_within_a_success_is_an_error() {
    let body = json!({"error": {"code": 502, "message": "the host is down"}});
    let server = server(vec![ResponseTemplate::new(200).set_body_json(body)]).await;
    let error = openai(&server, |_| {})
        .complete(&thought_request(), far_deadline())
        .await
        .unwrap_err();
    assert!(
        matches!(&error, ModelError::Api { status: 502, message, .. } if message == "the host is down"),
        "{error:?}"
    );
}

#[tokio::test]
async fn without_a_model_the_endpoint_is_asked_once() {
    let server = server(vec![ProviderKind::OpenAi.text_response("x")]).await;
    let list = json!({"data": [{"id": "nomic-embed-text"}, {"id": "qwen"}, {"id": "llama"}]});
    Mock::given(method("GET"))
        .and(path("/models"))
        .respond_with(ResponseTemplate::new(200).set_body_json(list))
        .expect(1)
        .mount(&server)
        .await;
    let ai = openai(&server, |settings| settings.model = None);
    let ask = thought_request();
    let replies =
        futures::future::join_all((0..4).map(|_| ai.complete(&ask, far_deadline()))).await;
    assert!(replies.iter().all(Result::is_ok));
    for body in request_bodies(&server, CHAT).await {
        assert_eq!(body["model"], "qwen");
    }
}

#[tokio::test]
async fn an_endpoint_with_no_model_at_all_is_misconfigured() {
    let server = MockServer::start().await;
    Mock::given(path("/models"))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({"data": [{"id": "bge-m3"}]})))
        .mount(&server)
        .await;
    let ai = openai(&server, |settings| settings.model = None);
    let error = ai
        .complete(&thought_request(), far_deadline())
        .await
        .unwrap_err();
    assert_eq!(error.code(), "Config");
}

#[tokio::test]
async fn reasoning_is_part_of_the_reply_under_every_name_and_gets_room_from_then_on() {
    for (message, reported) in [
        (
            json!({ "content": "42", "reasoning_content": "6 × 7." }),
            700,
        ),
        (json!({ "content": "42", "reasoning": "6 × 7." }), 700),
        (
            json!({ "content": [
                { "type": "thinking", "thinking": [{ "type": "text", "text": "6 × 7." }] },
                { "type": "text", "text": "42" },
            ] }),
            700,
        ),
    ] {
        let body = json!({
            "choices": [{ "message": message, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 1, "completion_tokens": 800,
                "completion_tokens_details": { "reasoning_tokens": reported } },
        });
        let server = server(vec![ResponseTemplate::new(200).set_body_json(body)]).await;
        let ai = openai(&server, |_| {});
        for _ in 0..2 {
            let reply = ai.complete(&thought_request(), far_deadline()).await;
            let reply = reply.unwrap();
            assert_eq!(
                (reply.text.as_str(), reply.reasoning.as_str()),
                ("42", "6 × 7.")
            );
            assert_eq!(reply.reasoning_tokens, 700);
        }
        let sent = request_bodies(&server, CHAT).await;
        let limits: Vec<&Value> = sent.iter().map(|body| &body["max_tokens"]).collect();
        assert_eq!(limits, [400, 1_100]);
    }
}
