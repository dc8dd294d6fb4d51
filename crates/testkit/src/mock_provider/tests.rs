//! Tests of the mock provider from its callers' point of view, over a raw connection.

use serde_json::json;

use super::*;
use crate::raw_http::{RawHttp, RawResponse};

async fn start_provider(settings: MockSettings) -> (MockProvider, RawHttp) {
    let standin = MockProvider::start_with(settings, 0).await.unwrap();
    let http = RawHttp::connect(standin.address()).await.unwrap();
    (standin, http)
}

fn run_body() -> Value {
    json!({ "name": "p", "messages": [{ "role": "user", "content": "Why?" }], "stream": false })
}

async fn run(http: &mut RawHttp, body: &Value) -> RawResponse {
    http.post("/v1/pipes/run", KEY, &body.to_string())
        .await
        .unwrap()
}

#[tokio::test]
async fn langbase_runs_a_pipe_and_continues_a_thread() {
    let settings = MockSettings {
        strict_threads: true,
        ..MockSettings::default()
    };
    let (standin, mut http) = start_provider(settings).await;
    let first = run(&mut http, &run_body()).await;
    assert_eq!(first.status, 200);
    assert_eq!(first.header("lb-thread-id"), Some("thread-1"));
    let answer = first.json().unwrap();
    assert_eq!(
        answer["completion"],
        r#"{"thought":"Thought 1 on “Why?”","confidence":0.85}"#
    );
    assert_eq!(answer["raw"]["choices"][0]["finish_reason"], "stop");
    assert!(answer.get("success").is_none());

    let mut next = run_body();
    next["threadId"] = json!("thread-1");
    assert_eq!(
        run(&mut http, &next).await.header("lb-thread-id"),
        Some("thread-1")
    );
    next["threadId"] = json!("invented");
    assert_eq!(run(&mut http, &next).await.status, 404);
    assert_eq!(standin.threads(), ["thread-1"]);

    let asks = standin.model_requests();
    assert_eq!(asks.len(), 3);
    assert_eq!(asks[0].body, run_body());
    assert_eq!(asks[0].outcome, RequestOutcome::Answered(200));
    assert!(!asks[0].headers.contains_key("authorization"));
}

#[tokio::test]
async fn langbase_knows_which_pipes_exist() {
    let settings = MockSettings {
        strict_pipes: true,
        ..MockSettings::default()
    };
    let (standin, mut http) = start_provider(settings).await;
    let missing = run(&mut http, &run_body()).await;
    assert_eq!(missing.status, 404);
    assert_eq!(missing.json().unwrap()["error"]["code"], "NOT_FOUND");

    let create = json!({ "name": "p", "status": "private", "model": "openai:m" });
    let created = http
        .post("/v1/pipes", KEY, &create.to_string())
        .await
        .unwrap();
    assert_eq!(created.status, 201);
    assert_eq!(created.json().unwrap()["status"], "private");
    let ran = run(&mut http, &run_body()).await.json().unwrap();
    assert_eq!(ran["raw"]["model"], "openai:m");

    let again = http
        .post("/v1/pipes", KEY, &create.to_string())
        .await
        .unwrap();
    assert_eq!(again.status, 409);
    assert_eq!(standin.overwritten_pipes(), 0);
    let upsert = json!({ "name": "p", "upsert": true });
    let upserted = http
        .post("/v1/pipes", KEY, &upsert.to_string())
        .await
        .unwrap();
    assert_eq!((upserted.status, standin.overwritten_pipes()), (200, 1));
    let listed = http.get("/v1/pipes", KEY).await.unwrap().json().unwrap();
    assert_eq!(listed[0]["status"], "public");
}

#[tokio::test]
async fn wrong_keys_and_wrong_shapes_are_refused_as_each_provider_does() {
    let (standin, mut http) = start_provider(MockSettings::default()).await;
    let body = run_body().to_string();
    let wrong = http.post("/v1/pipes/run", "other", &body).await.unwrap();
    assert_eq!(wrong.status, 401);
    assert_eq!(wrong.json().unwrap()["error"]["code"], "UNAUTHORIZED");
    assert_eq!(standin.model_requests()[0].key, KeyCheck::Wrong);

    let mut with_map = run_body();
    with_map["variables"] = json!({ "a": "b" });
    assert_eq!(run(&mut http, &with_map).await.status, 400);
    let chat = http.post("/v1/chat/completions", KEY, &body).await.unwrap();
    assert_eq!((chat.status, chat.text().contains("model")), (400, true));
    let messages = http.post("/v1/messages", KEY, &body).await.unwrap();
    assert_eq!(
        (
            messages.status,
            messages.text().contains("anthropic-version")
        ),
        (400, true)
    );
    assert_eq!(http.get("/v1/other", KEY).await.unwrap().status, 404);
}

#[tokio::test]
async fn openai_follows_the_schema_and_streams() {
    let (_standin, mut http) = start_provider(MockSettings::default()).await;
    let schema = json!({ "type": "object", "properties": { "confidence": { "type": "integer" } } });
    let mut body = json!({
        "model": "m",
        "messages": [{ "role": "user", "content": "Why?" }],
        "response_format": { "type": "json_schema", "json_schema": { "schema": schema } },
    });
    let path = "/v1/chat/completions";
    let answer = http
        .post(path, KEY, &body.to_string())
        .await
        .unwrap()
        .json()
        .unwrap();
    assert_eq!(
        answer["choices"][0]["message"]["content"],
        r#"{"confidence":85}"#
    );
    body["stream"] = json!(true);
    let streamed = http.post(path, KEY, &body.to_string()).await.unwrap();
    assert_eq!(streamed.header("content-type"), Some("text/event-stream"));
    assert!(streamed.text().ends_with("data: [DONE]\n\n"));
}

#[tokio::test]
async fn anthropic_fills_the_forced_tool() {
    let (_standin, mut http) = start_provider(MockSettings::default()).await;
    let schema = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } } });
    let mut body = json!({
        "model": "m",
        "max_tokens": 100,
        "messages": [{ "role": "user", "content": "Why?" }],
        "tools": [{ "name": "answer", "input_schema": schema }],
        "tool_choice": { "type": "tool", "name": "answer" },
    });
    let headers = [("x-api-key", KEY), ("anthropic-version", "2023-06-01")];
    let send = async |http: &mut RawHttp, body: &Value| {
        http.request("POST", "/v1/messages", &headers, &body.to_string())
            .await
            .unwrap()
    };
    let answer = send(&mut http, &body).await.json().unwrap();
    assert_eq!(answer["content"][0]["input"], json!({ "ok": true }));
    assert_eq!(answer["stop_reason"], "tool_use");
    body["stream"] = json!(true);
    let streamed = send(&mut http, &body).await.text();
    assert!(streamed.starts_with("event: message_start\n"));
    assert!(streamed.contains("input_json_delta"));
}

/// Sends the same request in every provider format, with this system prompt, and returns the
/// answers.
async fn ask_every_format(http: &mut RawHttp, system: &str, question: &str) -> [String; 3] {
    let user = json!({ "role": "user", "content": question });
    let messages = json!([{ "role": "system", "content": system }, user]);
    let langbase = json!({ "name": "p", "messages": messages });
    let chat = json!({ "model": "m", "messages": messages });
    let anthropic = json!({ "model": "m", "max_tokens": 9, "system": system, "messages": [user] });
    let headers = [("x-api-key", KEY), ("anthropic-version", "2023-06-01")];
    let mut said = Vec::new();
    for (path, body, place) in [
        ("/v1/pipes/run", langbase, "/completion"),
        ("/v1/chat/completions", chat, "/choices/0/message/content"),
        ("/v1/messages", anthropic, "/content/0/text"),
    ] {
        let answer = http
            .request("POST", path, &headers, &body.to_string())
            .await
            .unwrap();
        let answer = answer.json().unwrap();
        said.push(answer.pointer(place).unwrap().as_str().unwrap().to_owned());
    }
    said.try_into().unwrap()
}

#[tokio::test]
async fn a_schema_in_the_instructions_is_followed_on_every_wire() {
    let (_standin, mut http) = start_provider(MockSettings::default()).await;
    let system = r#"Think. Answer with one JSON object that fits this JSON Schema: {"type": "object", "properties": {"recommended": {"type": "integer", "minimum": 1}}}
Write nothing else."#;
    let said = ask_every_format(&mut http, system, "Why?").await;
    assert_eq!(said, [r#"{"recommended":1}"#; 3]);
}

#[tokio::test]
async fn rules_answer_by_what_is_asked_on_every_wire_but_not_in_place_of_faults() {
    let (standin, mut http) = start_provider(MockSettings::default()).await;
    standin.set_scripted_answers(vec![
        ScriptedAnswer::new(&["Mars", "moons"], json!({ "thought": "Two." })),
        ScriptedAnswer::new(&["moons"], "It depends."),
    ]);
    let system = "Think of moons.";
    let said = ask_every_format(&mut http, system, "How many has Mars?").await;
    assert_eq!(said, [r#"{"thought":"Two."}"#; 3]);
    let said = ask_every_format(&mut http, system, "How many has mars?").await;
    assert_eq!(said, ["It depends."; 3]);
    let said = ask_every_format(&mut http, "Think.", "How many has Mars?").await;
    assert!(said.iter().all(|text| text.contains("Thought ")));

    standin.push_fault(MockFault::Text("Mars has moons.".to_owned()));
    standin.push_fault(MockFault::Delay(1));
    let said = ask_every_format(&mut http, system, "How many has Mars?").await;
    assert_eq!(said[0], "Mars has moons.");
    assert_eq!(said[1..], [r#"{"thought":"Two."}"#; 2]);
}

#[tokio::test]
async fn rules_are_set_over_http_and_cleared_by_a_reset() {
    let (_standin, mut http) = start_provider(MockSettings::default()).await;
    let rules = json!([{ "words": [], "text": "Always." }]);
    let control = json!({ "reset": true, "rules": rules }).to_string();
    let unrelated = json!({ "delay_ms": 0 }).to_string();
    let cleared = [json!({ "reset": true }), json!({ "rules": null })];
    for clear in cleared {
        for change in [&control, &unrelated] {
            let done = http.post("/_control", "", change).await.unwrap();
            assert_eq!(done.status, 200);
        }
        let ruled = run(&mut http, &run_body()).await.json().unwrap();
        assert_eq!(ruled["completion"], "Always.");
        let done = http.post("/_control", "", &clear.to_string()).await;
        assert_eq!(done.unwrap().status, 200);
        let usual = run(&mut http, &run_body()).await.json().unwrap();
        assert_ne!(usual["completion"], "Always.");
    }
}

#[tokio::test]
async fn faults_come_in_order_and_then_it_is_well_again() {
    let (standin, mut http) = start_provider(MockSettings::default()).await;
    standin.push_fault(MockFault::status_with(503, "retry-after", "1"));
    standin.push_fault(MockFault::Text("plain".to_owned()));
    standin.push_fault(MockFault::Html200);
    standin.push_fault(MockFault::Truncated("{\"thou".to_owned()));
    let down = run(&mut http, &run_body()).await;
    assert_eq!((down.status, down.header("retry-after")), (503, Some("1")));
    assert_eq!(
        run(&mut http, &run_body()).await.json().unwrap()["completion"],
        "plain"
    );
    assert!(
        run(&mut http, &run_body())
            .await
            .text()
            .starts_with("<!DOCTYPE")
    );
    let cut_off = run(&mut http, &run_body()).await.json().unwrap();
    assert_eq!(cut_off["raw"]["choices"][0]["finish_reason"], "length");
    assert_eq!(run(&mut http, &run_body()).await.status, 200);
}

#[tokio::test]
async fn connections_are_cut_before_or_within_the_answer() {
    let (standin, mut http) = start_provider(MockSettings::default()).await;
    let body = run_body().to_string();
    standin.push_fault(MockFault::CutConnection);
    let error = http.post("/v1/pipes/run", KEY, &body).await.unwrap_err();
    assert_eq!(error.to_string(), "the connection ended");
    let mut http = RawHttp::connect(standin.address()).await.unwrap();
    standin.push_fault(MockFault::CutBody);
    let error = http.post("/v1/pipes/run", KEY, &body).await.unwrap_err();
    assert_ne!(error.to_string(), "the connection ended");
    assert_eq!(standin.model_requests()[0].outcome, RequestOutcome::Cut);
}

#[tokio::test]
async fn a_caller_that_goes_away_is_noticed() {
    let (standin, mut http) = start_provider(MockSettings::default()).await;
    standin.set_default_fault(MockFault::Hang);
    let body = run_body().to_string();
    {
        let asking = http.post("/v1/pipes/run", KEY, &body);
        tokio::pin!(asking);
        while standin.in_flight() == 0 {
            tokio::select! {
                _ = &mut asking => panic!("answered"),
                () = tokio::time::sleep(std::time::Duration::from_millis(5)) => {}
            }
        }
    }
    drop(http);
    while standin.in_flight() > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(standin.model_requests()[0].outcome, RequestOutcome::Dropped);
    assert_eq!(standin.peak_concurrency(), 1);
}

#[tokio::test]
async fn a_rate_limit_counts_and_refuses() {
    let (first, third) = loop {
        let settings = MockSettings {
            rate: Some(2),
            ..MockSettings::default()
        };
        let (_standin, mut http) = start_provider(settings).await;
        let began = std::time::Instant::now();
        let first = run(&mut http, &run_body()).await;
        run(&mut http, &run_body()).await;
        let third = run(&mut http, &run_body()).await;
        // The limit applies to one second, which a busy machine may exceed.
        if began.elapsed() < std::time::Duration::from_secs(1) {
            break (first, third);
        }
    };
    assert_eq!(first.header("lb-ratelimit-remaining"), Some("1"));
    assert_eq!(
        (third.status, third.header("lb-ratelimit-reset")),
        (429, Some("1"))
    );
}

#[tokio::test]
async fn is_controlled_over_http() {
    let (standin, mut http) = start_provider(MockSettings::default()).await;
    let control = json!({
        "push": ["html200", { "delay": 1 }, { "status": { "code": 500 } }],
        "always": { "text": "no" },
        "key": null,
        "rate": 7,
    });
    let path = "/_control";
    assert_eq!(
        http.post(path, "", &control.to_string())
            .await
            .unwrap()
            .status,
        200
    );
    assert_eq!(standin.key(), "");
    assert_eq!(run(&mut http, &run_body()).await.text().get(..1), Some("<"));
    let shown = http.get("/_requests", "").await.unwrap().json().unwrap();
    assert_eq!(shown["requests"][0]["outcome"], json!({ "answered": 200 }));
    assert_eq!(shown["requests"][0]["kind"], "ask");
    let misspelt = http.post(path, "", r#"{"pushed": []}"#).await.unwrap();
    assert_eq!(misspelt.status, 400);
    let reset = http
        .post(path, "", r#"{"reset": true, "rate": null}"#)
        .await
        .unwrap();
    assert_eq!((reset.status, standin.requests().len()), (200, 0));
}

#[tokio::test]
async fn is_gone_when_dropped() {
    let (standin, mut http) = start_provider(MockSettings::default()).await;
    run(&mut http, &run_body()).await;
    let address = standin.address();
    drop(standin);
    let body = run_body().to_string();
    assert!(http.post("/v1/pipes/run", KEY, &body).await.is_err());
    while RawHttp::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
}
