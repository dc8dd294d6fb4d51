//! Tests of the Anthropic messages format.

use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::method};

use super::mock_servers::{KEY, ProviderKind, fast_retries, request_bodies, server};
use crate::support::{far_deadline, thought_request};
use deliberate_llm::{
    Anthropic, AnthropicSettings, ChatMessage, ChatModel, FinishReason, ModelRequest,
};

const MESSAGES: &str = "/v1/messages";

fn anthropic(server: &MockServer) -> Anthropic {
    Anthropic::new(AnthropicSettings {
        base_url: server.uri(),
        model: "m".to_owned(),
        http: fast_retries(),
        ..AnthropicSettings::new(KEY.into())
    })
    .unwrap()
}

#[tokio::test]
async fn a_request_has_the_documented_form() {
    let server = server(vec![ProviderKind::Anthropic.text_response("x")]).await;
    let ask = ModelRequest {
        messages: vec![
            ChatMessage::user("a"),
            ChatMessage::assistant("b"),
            ChatMessage::user("c"),
        ],
        ..thought_request()
    };
    anthropic(&server)
        .complete(&ask, far_deadline())
        .await
        .unwrap();
    let mut sent = request_bodies(&server, MESSAGES).await.remove(0);
    let system = sent["system"].take();
    assert!(
        system.as_str().unwrap().starts_with("Think one step."),
        "{system}"
    );
    assert!(
        system.as_str().unwrap().contains("\"maxLength\":400"),
        "{system}"
    );
    assert_eq!(
        sent,
        json!({
            "model": "m",
            "max_tokens": 400,
            "system": null,
            "messages": [
                {"role": "user", "content": "a"},
                {"role": "assistant", "content": "b"},
                {"role": "user", "content": "c"},
            ],
            "temperature": 0.5,
        })
    );
    let request = &server.received_requests().await.unwrap()[0];
    assert_eq!(request.headers["x-api-key"], KEY);
    assert_eq!(request.headers["anthropic-version"], "2023-06-01");
    assert!(request.headers.get("authorization").is_none());
}

#[tokio::test]
async fn blocks_are_joined_and_reasons_told() {
    for (reason, finish) in [
        ("end_turn", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("refusal", FinishReason::Refusal),
    ] {
        let body = json!({
            "model": "m-2",
            "content": [
                {"type": "thinking", "thinking": "hm", "text": "not this"},
                {"type": "text", "text": "h"},
                {"type": "text", "text": "i"},
            ],
            "stop_reason": reason,
            "usage": {"input_tokens": 7, "output_tokens": 8},
        });
        let server = server(vec![ResponseTemplate::new(200).set_body_json(body)]).await;
        let reply = anthropic(&server)
            .complete(&thought_request(), far_deadline())
            .await
            .unwrap();
        assert_eq!((reply.text.as_str(), reply.finish_reason), ("hi", finish));
        assert_eq!(
            (reply.usage.prompt_tokens, reply.usage.completion_tokens),
            (7, 8)
        );
        assert_eq!(reply.reasoning, "hm");
        assert_eq!(reply.usage.cost_usd, None);
    }
}

#[tokio::test]
async fn a_model_without_temperature_is_asked_without_it_from_then_on() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(|request: &Request| {
            let body: Value = request.body_json().unwrap();
            if body.get("temperature").is_some() {
                let error = json!({"error": {"message": "temperature: not supported"}});
                ResponseTemplate::new(400).set_body_json(error)
            } else {
                ProviderKind::Anthropic.text_response("x")
            }
        })
        .mount(&server)
        .await;
    let anthropic = anthropic(&server);
    anthropic
        .complete(&thought_request(), far_deadline())
        .await
        .unwrap();
    anthropic
        .complete(&thought_request(), far_deadline())
        .await
        .unwrap();
    assert_eq!(request_bodies(&server, MESSAGES).await.len(), 3);
}
