//! Tests of native tool calls, written and parsed.

use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::method};

use super::mock_servers::{PROVIDER_KINDS, ProviderKind, fast_retries, request_bodies, server};
use crate::support::{
    far_deadline, thought_request, tool_call, tool_request, tool_request_with_results,
};
use deliberate_llm::{ToolCall, ask_turn};

/// Returns a completion with tool calls.
fn completion_with_calls(kind: ProviderKind, text: &str, calls: &Value) -> ResponseTemplate {
    let chat = json!({
        "choices": [{
            "message": { "content": if text.is_empty() { Value::Null } else { json!(text) }, "tool_calls": calls },
            "finish_reason": "tool_calls",
        }],
    });
    ResponseTemplate::new(200).set_body_json(match kind {
        ProviderKind::OpenAi => chat,
        ProviderKind::Langbase => json!({ "success": true, "completion": null, "raw": chat }),
        ProviderKind::Anthropic => {
            let mut content = vec![json!({ "type": "text", "text": text })];
            for call in calls.as_array().unwrap() {
                let input = call["function"]["arguments"].as_str().unwrap();
                content.push(json!({
                    "type": "tool_use",
                    "id": call["id"],
                    "name": call["function"]["name"],
                    "input": serde_json::from_str::<Value>(input).unwrap_or(json!(input)),
                }));
            }
            json!({ "content": content, "stop_reason": "tool_use" })
        }
    })
}

fn tool_call_json(id: &str, name: &str, arguments: &str) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
}

#[tokio::test]
async fn functions_go_out_and_calls_come_back() {
    for kind in PROVIDER_KINDS {
        let calls = json!([
            tool_call_json("x1", "look_up", "{\"text\": \"a\"}"),
            tool_call_json("x2", "weather__today", "")
        ]);
        let server = server(vec![completion_with_calls(kind, "Hm.", &calls)]).await;
        let model = kind.build(&server.uri(), fast_retries());
        assert!(model.supports_tools());
        let turn = ask_turn(model.as_ref(), tool_request_with_results(), far_deadline())
            .await
            .unwrap();
        assert_eq!(
            turn.value.calls,
            [
                tool_call("x1", "look_up", json!({ "text": "a" })),
                tool_call("x2", "weather__today", json!({})),
            ],
            "{kind:?}"
        );
        assert!(!turn.replies[0].tools_in_prompt);
        let sent = request_bodies(&server, kind.path()).await.remove(0);
        insta::assert_json_snapshot!(format!("sent_{kind:?}"), sent);
    }
}

#[tokio::test]
async fn an_answer_without_calls_is_plain_text() {
    for kind in PROVIDER_KINDS {
        let server = server(vec![kind.text_response("{\"answer\": 1}")]).await;
        let model = kind.build(&server.uri(), fast_retries());
        let turn = ask_turn(model.as_ref(), tool_request(), far_deadline())
            .await
            .unwrap();
        assert_eq!(turn.value.text, "{\"answer\": 1}", "{kind:?}");
        assert_eq!(turn.value.calls, []);
    }
}

#[tokio::test]
async fn calls_that_a_server_leaves_in_the_text_are_found() {
    let texts = [
        r#"{"name": "look_up", "arguments": {"text": "a"}}"#,
        "<tool_call>\n{\"name\": \"look_up\", \"arguments\": {\"text\": \"a\"}}\n</tool_call>",
    ];
    for text in texts {
        let server = server(vec![ProviderKind::OpenAi.text_response(text)]).await;
        let model = ProviderKind::OpenAi.build(&server.uri(), fast_retries());
        let turn = ask_turn(model.as_ref(), tool_request(), far_deadline())
            .await
            .unwrap();
        assert_eq!(
            turn.value.calls,
            [tool_call("call_1", "look_up", json!({ "text": "a" }))]
        );
    }
}

#[tokio::test]
async fn broken_arguments_are_mended_or_asked_for_again() {
    for kind in PROVIDER_KINDS {
        let mended = json!([tool_call_json("a", "look_up", "{'text': 'a',}")]);
        let half = json!([tool_call_json("a", "look_up", "{\"text\": \"a")]);
        let server = server(vec![
            completion_with_calls(kind, "", &mended),
            completion_with_calls(kind, "", &half),
            completion_with_calls(kind, "", &json!([tool_call_json("a", "look_up", "{}")])),
        ])
        .await;
        let model = kind.build(&server.uri(), fast_retries());
        let turn = async || {
            ask_turn(model.as_ref(), tool_request(), far_deadline())
                .await
                .unwrap()
        };
        assert_eq!(
            turn().await.value.calls,
            [tool_call("a", "look_up", json!({ "text": "a" }))]
        );
        let asked_again = turn().await;
        assert_eq!(
            asked_again.value.calls,
            [tool_call("a", "look_up", json!({}))]
        );
        assert_eq!(asked_again.replies.len(), 2);
        let sent = request_bodies(&server, kind.path()).await.remove(2);
        let told = sent["messages"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()
            .to_string();
        assert!(
            told.contains("the arguments of look_up are not one JSON object"),
            "{told}"
        );
    }
}

#[tokio::test]
async fn who_has_to_answer_now_is_told_so() {
    let mut now = tool_request_with_results();
    now.answer_now = true;
    for kind in PROVIDER_KINDS {
        let server = server(vec![kind.text_response("{\"answer\": \"Rain.\"}")]).await;
        let model = kind.build(&server.uri(), fast_retries());
        let turn = ask_turn(model.as_ref(), now.clone(), far_deadline())
            .await
            .unwrap();
        let sent = request_bodies(&server, kind.path()).await.remove(0);
        match kind {
            ProviderKind::OpenAi => assert_eq!(sent["tool_choice"], "none"),
            ProviderKind::Anthropic => assert_eq!(sent["tool_choice"], json!({ "type": "none" })),
            // A run has no such option, so the tools are in the prompt.
            ProviderKind::Langbase => {
                assert_eq!(sent.get("tools"), None);
                assert_eq!(turn.value.text, "Rain.");
            }
        }
    }
}

/// Starts a server that rejects tools with a message.
async fn refusing_server(kind: ProviderKind, status: u16, message: &'static str) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(move |request: &Request| {
            let body: Value = request.body_json().unwrap();
            if body.get("tools").is_some() {
                let error = json!({ "error": { "message": message } });
                ResponseTemplate::new(status).set_body_json(error)
            } else {
                kind.text_response(
                    r#"{"calls": [{"name": "look_up", "arguments": {}}], "answer": ""}"#,
                )
            }
        })
        .mount(&server)
        .await;
    server
}

#[tokio::test]
async fn who_refuses_functions_is_asked_in_words_from_then_on() {
    for kind in PROVIDER_KINDS {
        for (status, message) in [
            (400, "this model does not support tools"),
            (422, "tools: extra fields not permitted"),
            (500, "tools param requires --jinja flag"),
        ] {
            if kind == ProviderKind::Anthropic && status == 500 {
                continue;
            }
            let server = refusing_server(kind, status, message).await;
            let chat_model = kind.build(&server.uri(), fast_retries());
            for _ in 0..2 {
                let turn = ask_turn(
                    chat_model.as_ref(),
                    tool_request_with_results(),
                    far_deadline(),
                )
                .await
                .unwrap();
                assert_eq!(
                    turn.value.calls,
                    [tool_call("call_3", "look_up", json!({}))]
                );
                assert!(turn.replies[0].tools_in_prompt);
            }
            assert!(!chat_model.supports_tools());
            let sent = request_bodies(&server, kind.path()).await;
            let with_tools: Vec<bool> = sent.iter().map(|it| it.get("tools").is_some()).collect();
            assert_eq!(with_tools, [true, false, false], "{kind:?} {message}");
            if kind == ProviderKind::OpenAi {
                let last = sent.last().unwrap();
                assert_eq!(last["response_format"]["type"], "json_schema");
            }
        }
    }
}

#[tokio::test]
async fn who_refuses_these_functions_is_asked_in_words_this_time() {
    for kind in PROVIDER_KINDS {
        let server = refusing_server(kind, 400, "Invalid schema for function 'look_up'").await;
        let model = kind.build(&server.uri(), fast_retries());
        let turn = ask_turn(model.as_ref(), tool_request(), far_deadline())
            .await
            .unwrap();
        assert!(turn.replies[0].tools_in_prompt);
        assert!(model.supports_tools());
    }
}

#[tokio::test]
async fn what_goes_with_functions_is_left_out_where_it_is_refused() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(|request: &Request| {
            let body: Value = request.body_json().unwrap();
            let refused = ["parallel_tool_calls", "tool_choice"]
                .into_iter()
                .find(|name| body.get(*name).is_some());
            match refused {
                Some(name) => ResponseTemplate::new(400).set_body_json(
                    json!({ "error": { "message": format!("unknown field {name}") } }),
                ),
                None => ProviderKind::OpenAi.text_response("Rain."),
            }
        })
        .mount(&server)
        .await;
    let model = ProviderKind::OpenAi.build(&server.uri(), fast_retries());
    ask_turn(model.as_ref(), tool_request(), far_deadline())
        .await
        .unwrap();
    let sent = request_bodies(&server, ProviderKind::OpenAi.path()).await;
    assert_eq!(sent.len(), 3);
    assert!(sent[2].get("tools").is_some());
    assert!(model.supports_tools());
}

#[tokio::test]
async fn what_a_provider_wants_back_goes_back() {
    let mut with_extra = tool_call_json("x1", "look_up", "{}");
    with_extra["extra_content"] = json!({ "google": { "thought_signature": "s" } });
    let server = server(vec![completion_with_calls(
        ProviderKind::OpenAi,
        "",
        &json!([with_extra]),
    )])
    .await;
    let model = ProviderKind::OpenAi.build(&server.uri(), fast_retries());
    let turn = ask_turn(model.as_ref(), tool_request(), far_deadline())
        .await
        .unwrap()
        .value;
    let mut next = tool_request();
    next.messages.push(turn.to_message());
    ask_turn(model.as_ref(), next, far_deadline())
        .await
        .unwrap();
    let sent = request_bodies(&server, ProviderKind::OpenAi.path())
        .await
        .remove(1);
    let sent = &sent["messages"][2]["tool_calls"][0];
    assert_eq!(sent["extra_content"]["google"]["thought_signature"], "s");
}

#[tokio::test]
async fn an_ask_without_functions_tells_calls_and_results_in_words() {
    for kind in PROVIDER_KINDS {
        let mut plain = tool_request_with_results();
        plain.functions.clear();
        plain.schema = thought_request().schema;
        let server = server(vec![kind.text_response("{}")]).await;
        let model = kind.build(&server.uri(), fast_retries());
        model.complete(&plain, far_deadline()).await.unwrap();
        let sent = request_bodies(&server, kind.path())
            .await
            .remove(0)
            .to_string();
        assert!(sent.contains("look_up answered"), "{sent}");
        assert!(
            !sent.contains("tool_calls") && !sent.contains("tool_use"),
            "{sent}"
        );
    }
}

#[test]
fn calls_are_kept_as_they_are() {
    let call = tool_call("a", "look_up", json!({ "b": 1, "a": 2 }));
    let kept = serde_json::to_string(&call).unwrap();
    assert_eq!(
        kept,
        r#"{"id":"a","name":"look_up","arguments":{"b":1,"a":2}}"#
    );
    assert_eq!(serde_json::from_str::<ToolCall>(&kept).unwrap(), call);
}
