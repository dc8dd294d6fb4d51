//! The messages format's own ways.

use deliberate_thinker::{Anthropic, AnthropicSettings, Ask, Finish, Message, Thinker};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::method};

use crate::{
    mock::{KEY, Kind, bodies, quick, server},
    support::{ask, later},
};

const MESSAGES: &str = "/v1/messages";

fn anthropic(server: &MockServer) -> Anthropic {
    Anthropic::new(AnthropicSettings {
        base_url: server.uri(),
        model: "m".to_owned(),
        http: quick(),
        ..AnthropicSettings::new(KEY.into())
    })
    .unwrap()
}

#[tokio::test]
async fn a_request_has_the_documented_form() {
    let server = server(vec![Kind::Anthropic.saying("x")]).await;
    let ask = Ask {
        messages: vec![
            Message::user("a"),
            Message::assistant("b"),
            Message::user("c"),
        ],
        ..ask()
    };
    anthropic(&server).think(&ask, later()).await.unwrap();
    let mut sent = bodies(&server, MESSAGES).await.remove(0);
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
        ("end_turn", Finish::Stop),
        ("max_tokens", Finish::Length),
        ("refusal", Finish::Refusal),
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
        let reply = anthropic(&server).think(&ask(), later()).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.finish), ("hi", finish));
        assert_eq!(
            (reply.usage.prompt_tokens, reply.usage.completion_tokens),
            (7, 8)
        );
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
                Kind::Anthropic.saying("x")
            }
        })
        .mount(&server)
        .await;
    let thinker = anthropic(&server);
    thinker.think(&ask(), later()).await.unwrap();
    thinker.think(&ask(), later()).await.unwrap();
    assert_eq!(bodies(&server, MESSAGES).await.len(), 3);
}
