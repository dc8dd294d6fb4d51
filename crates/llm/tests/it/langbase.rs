//! Tests of Langbase pipes.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::path};

use super::mock_servers::{KEY, ProviderKind, fast_retries, request_bodies, request_count, server};
use crate::support::{far_deadline, thought_request};
use deliberate_llm::{
    ChatMessage, ChatModel, Langbase, LangbaseSettings, ModelError, ModelRequest, Purpose,
};

const RUN: &str = "/v1/pipes/run";
const MAKE: &str = "/v1/pipes";

fn langbase(server: &MockServer, change: impl FnOnce(&mut LangbaseSettings)) -> Langbase {
    let mut settings = LangbaseSettings::new(KEY.into());
    settings.base_url = server.uri();
    settings.http = fast_retries();
    change(&mut settings);
    Langbase::new(settings).unwrap()
}

#[tokio::test]
async fn a_run_has_the_documented_form() {
    let server = server(vec![ProviderKind::Langbase.text_response("x")]).await;
    let langbase = langbase(&server, |_| {});
    langbase
        .complete(&thought_request(), far_deadline())
        .await
        .unwrap();
    let continued = ModelRequest {
        thread: Some("thread-7".to_owned()),
        variables: BTreeMap::from([
            ("goal".to_owned(), "find it".to_owned()),
            ("who".to_owned(), "me".to_owned()),
        ]),
        messages: vec![
            ChatMessage::user("a"),
            ChatMessage::assistant("b"),
            ChatMessage::user("c"),
        ],
        ..thought_request()
    };
    langbase.complete(&continued, far_deadline()).await.unwrap();

    let sent = request_bodies(&server, RUN).await;
    let keys = |body: &Value| {
        body.as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(&sent[0]), ["name", "messages", "stream"]);
    assert_eq!(sent[0]["name"], "linear-reasoning-v1");
    assert_eq!(sent[0]["stream"], false);
    assert_eq!(sent[0]["messages"][0]["role"], "system");
    assert_eq!(
        sent[0]["messages"][1],
        json!({"role": "user", "content": "What is 6 × 7?"})
    );
    assert_eq!(sent[1]["threadId"], "thread-7");
    assert_eq!(
        sent[1]["variables"],
        json!([{"name": "goal", "value": "find it"}, {"name": "who", "value": "me"}])
    );
    assert_eq!(
        sent[1]["messages"][2],
        json!({"role": "assistant", "content": "b"})
    );
    let request = &server.received_requests().await.unwrap()[0];
    assert_eq!(
        request.headers["authorization"],
        format!("Bearer {KEY}").as_str()
    );
    assert_eq!(request.headers["content-type"], "application/json");
}

#[tokio::test]
async fn answers_nested_and_flat_are_read() {
    let nested = json!({"completion": "hi", "raw": {
        "model": "m", "choices": [{"finish_reason": "length", "message": {"content": "hi"}}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 6},
    }});
    let flat = json!({"success": true, "completion": "hi", "model": "m",
        "choices": [{"finish_reason": "length"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 6},
    });
    let without = json!({"raw": {"model": "m",
        "choices": [{"finish_reason": "length", "message": {"content": [{"type": "text", "text": "hi"}]}}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 6},
    }});
    for body in [nested, flat, without] {
        let answer = ResponseTemplate::new(200)
            .set_body_json(&body)
            .insert_header("lb-thread-id", "thread-9");
        let server = server(vec![answer]).await;
        let reply = langbase(&server, |_| {})
            .complete(&thought_request(), far_deadline())
            .await
            .unwrap();
        assert_eq!(reply.text, "hi", "{body}");
        assert_eq!(reply.model.as_deref(), Some("m"));
        assert_eq!(reply.finish_reason, deliberate_llm::FinishReason::Length);
        assert_eq!(
            (reply.usage.prompt_tokens, reply.usage.completion_tokens),
            (5, 6)
        );
        assert_eq!(reply.usage.cost_usd, None);
        assert_eq!(reply.thread.as_deref(), Some("thread-9"));
        assert_eq!(reply.pipe.as_deref(), Some("linear-reasoning-v1"));
    }
}

#[tokio::test]
async fn a_failure_with_a_good_status_keeps_its_message() {
    for (body, status) in [
        (
            json!({"success": false, "error": {"code": "X", "status": 402, "message": "no credit"}}),
            402,
        ),
        (json!({"success": false, "error": "no credit"}), 200),
        (json!({"error": {"message": "no credit"}}), 200),
    ] {
        let server = server(vec![ResponseTemplate::new(200).set_body_json(&body)]).await;
        let error = langbase(&server, |_| {})
            .complete(&thought_request(), far_deadline())
            .await
            .unwrap_err();
        assert_eq!(
            error,
            ModelError::Api {
                provider: "langbase".to_owned(),
                status,
                message: "no credit".to_owned(),
            },
            "{body}"
        );
        assert_eq!(request_count(&server).await, 1);
    }
}

#[tokio::test]
async fn pipes_are_chosen_by_purpose() {
    let server = server(vec![ProviderKind::Langbase.text_response("x")]).await;
    let langbase = langbase(&server, |settings| {
        settings
            .pipes
            .insert("tree".to_owned(), "my-own".to_owned());
    });
    let words = [
        ("linear", "linear-reasoning-v1"),
        ("tree", "my-own"),
        ("divergent", "divergent-reasoning-v1"),
        ("reflection", "reflection-v1"),
        ("auto", "mode-router-v1"),
        ("backtracking", "backtracking-reasoning-v1"),
        ("got_generate", "got-generate-v1"),
        ("got_score", "got-score-v1"),
        ("got_aggregate", "got-aggregate-v1"),
        ("got_refine", "got-refine-v1"),
        ("decision", "deliberate-decision-v1"),
    ];
    for (word, pipe) in words {
        let ask = ModelRequest {
            purpose: Purpose::new(word),
            ..thought_request()
        };
        let reply = langbase.complete(&ask, far_deadline()).await.unwrap();
        assert_eq!(reply.pipe.as_deref(), Some(pipe));
    }
    let names: Vec<_> = request_bodies(&server, RUN)
        .await
        .iter()
        .map(|body| body["name"].clone())
        .collect();
    assert_eq!(names, words.map(|(_, pipe)| json!(pipe)));
}

/// Starts a server without pipes. Creating one returns `status`; if it `works`, the pipe exists
/// from then on.
async fn without_pipes(status: u16, works: bool) -> MockServer {
    let server = MockServer::start().await;
    let there = Arc::new(AtomicBool::new(false));
    let refused = json!({"error": {"message": "a pipe key can't"}});
    let made = Arc::clone(&there);
    Mock::given(path(MAKE))
        .respond_with(move |_: &Request| {
            made.store(works, Ordering::SeqCst);
            ResponseTemplate::new(status).set_body_json(&refused)
        })
        .mount(&server)
        .await;
    Mock::given(path(RUN))
        .respond_with(move |_: &Request| {
            if there.load(Ordering::SeqCst) {
                return ProviderKind::Langbase.text_response("x");
            }
            // Delayed, so that concurrent calls all miss the pipe.
            ResponseTemplate::new(404)
                .set_body_json(json!({"error": {"message": "no such pipe"}}))
                .set_delay(Duration::from_millis(200))
        })
        .mount(&server)
        .await;
    server
}

#[tokio::test]
async fn a_missing_pipe_is_made_once_for_all_who_miss_it() {
    for status in [201, 409] {
        let server = without_pipes(status, true).await;
        let langbase = langbase(&server, |settings| {
            settings.model = "vendor:model".to_owned();
        });
        let ask = thought_request();
        let replies =
            futures::future::join_all((0..8).map(|_| langbase.complete(&ask, far_deadline())))
                .await;
        for reply in replies {
            assert_eq!(reply.unwrap().text, "x");
        }
        let made = request_bodies(&server, MAKE).await;
        assert_eq!(made.len(), 1);
        assert_eq!(
            made[0],
            json!({
                "name": "linear-reasoning-v1",
                "description": "Created by Deliberate for requests with the purpose linear",
                "model": "vendor:model",
                "upsert": false,
                "status": "private",
                "store": false,
                "stream": false,
                "json": true,
                "temperature": 0.5,
                "max_tokens": 400,
            })
        );
        assert!(request_bodies(&server, RUN).await.len() > 8);
    }
}

#[tokio::test]
async fn a_pipe_that_can_not_be_made_is_an_error() {
    let server = without_pipes(403, false).await;
    let error = langbase(&server, |_| {})
        .complete(&thought_request(), far_deadline())
        .await
        .unwrap_err();
    assert!(
        matches!(error, ModelError::Api { status: 403, .. }),
        "{error:?}"
    );
    assert_eq!(request_bodies(&server, RUN).await.len(), 1);
    assert_eq!(request_bodies(&server, MAKE).await.len(), 1);
}

#[tokio::test]
async fn a_pipe_that_is_still_missing_is_an_error() {
    let server = without_pipes(200, false).await;
    let thinker = langbase(&server, |settings| {
        settings.temperature = Some(0.25);
        settings.max_tokens = Some(77);
    });
    let error = thinker
        .complete(&thought_request(), far_deadline())
        .await
        .unwrap_err();
    assert_eq!(
        error,
        ModelError::Api {
            provider: "langbase".to_owned(),
            status: 404,
            message: "no such pipe".to_owned(),
        }
    );
    assert_eq!(request_bodies(&server, RUN).await.len(), 2);
    let made = request_bodies(&server, MAKE).await;
    assert_eq!(
        (made.len(), &made[0]["temperature"], &made[0]["max_tokens"]),
        (1, &json!(0.25), &json!(77))
    );
}
