//! Tests of invalid requests, and of notifications that look like requests.

use deliberate_testkit::MockProvider;
use serde_json::{Value, json};

use crate::support::{TestHome, error_code, output, serve, shut_down, think};

#[tokio::test]
async fn requests_without_an_id_get_no_answer_and_cause_nothing() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let call = json!({ "name": "reasoning_linear", "arguments": { "content": "quietly" } });
    client.notify("ping", json!({})).await.unwrap();
    client.notify("tools/list", json!({})).await.unwrap();
    client.notify("tools/call", call.clone()).await.unwrap();
    client.notify("initialize", json!({})).await.unwrap();
    client
        .notify("no/such/method", json!({ "a": 1 }))
        .await
        .unwrap();
    client.notify("tools/call", json!([call])).await.unwrap();
    output(&think(&mut client, "aloud").await);
    assert_eq!(standin.model_requests().len(), 1);
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
    assert_eq!(home.stored_counts().await, (1, 1));
}

#[tokio::test]
async fn a_batch_is_refused_for_each_id_in_it_and_for_nobody_once() {
    let home = TestHome::new();
    let mut client = serve(&mut home.command()).await;
    let batch = r#"[{"jsonrpc":"2.0","id":11,"method":"ping"},{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":"b","method":"ping"}]"#;
    client.send_line(batch).await.unwrap();
    assert_eq!(error_code(&client.response(11).await.unwrap()), -32_600);
    assert_eq!(error_code(&client.response("b").await.unwrap()), -32_600);
    for nobody in [
        "[]",
        "[1,2]",
        r#"["2.0",23,"ping",null]"#,
        r#"[{"jsonrpc":"2.0","method":"x"}]"#,
    ] {
        client.send_line(nobody).await.unwrap();
        assert_eq!(
            error_code(&client.response(Value::Null).await.unwrap()),
            -32_600,
            "{nobody}"
        );
    }
    client.request("ping", json!({})).await.unwrap();
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
}

#[tokio::test]
async fn wrong_requests_are_told_so_under_their_own_id() {
    let cases = [
        (r#"{"jsonrpc":"2.0","id":1}"#, -32_600),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, -32_600),
        (r#"{"jsonrpc":"2.0","id":1,"method":null}"#, -32_600),
        (r#"{"jsonrpc":"2.0","id":1,"method":["ping"]}"#, -32_600),
        (r#"{"id":1,"method":"ping"}"#, -32_600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32_600),
        (r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, -32_600),
        (r#"{"jsonrpc":null,"id":1,"method":"ping"}"#, -32_600),
        (r#"{"JSONRPC":"2.0","id":1,"method":"ping"}"#, -32_600),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#,
            -32_600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#,
            -32_602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["reasoning_linear",{"content":"x"}]}"#,
            -32_602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#,
            -32_602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"x"}"#,
            -32_602,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, -32_602),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#,
            -32_602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}"#,
            -32_602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"reasoning_linear","arguments":["x"]}}"#,
            -32_602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"reasoning_linear","arguments":"x"}}"#,
            -32_602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"made up"}}"#,
            -32_602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}}"#,
            -32_602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"no/such/method"}"#,
            -32_601,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":""}"#, -32_601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"Ping"}"#, -32_601),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get"}"#,
            -32_602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x"}}"#,
            -32_602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":5}}"#,
            -32_602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x:y"}}"#,
            -32_002,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{}}}"#,
            -32_601,
        ),
    ];
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let mut wrong = Vec::new();
    for (line, expected) in cases {
        client.send_line(line).await.unwrap();
        let answer = client.response(1).await.unwrap();
        if answer["error"]["code"] != expected {
            wrong.push(format!("{line}\n  wanted {expected}, got {answer}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    output(&think(&mut client, "still here?").await);
    assert_eq!(standin.model_requests().len(), 1);
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
}

#[tokio::test]
async fn an_unknown_tool_is_an_error_that_names_the_nearest() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let answer = client
        .call("reasoning_liner", json!({ "content": "x" }))
        .await
        .unwrap();
    assert_eq!(error_code(&answer), -32_602);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("reasoning_liner") && message.contains("reasoning_linear"),
        "{message}"
    );
    for name in [
        "",
        "zzz",
        "reasoning.linear",
        "a\u{0}b",
        &"x".repeat(100_000),
    ] {
        let answer = client.call(name, json!({})).await.unwrap();
        assert_eq!(error_code(&answer), -32_602, "{}", name.len());
        assert!(
            answer.to_string().len() < 2_000,
            "a long name is not repeated in full"
        );
    }
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
}

#[tokio::test]
async fn arguments_that_break_the_schema_are_named_and_cost_nothing() {
    let cases = [
        (json!({}), "content"),
        (json!({ "content": "" }), "content"),
        (json!({ "content": "  \n" }), "content"),
        (json!({ "content": 5 }), "content"),
        (json!({ "content": null }), "content"),
        (json!({ "content": ["x"] }), "content"),
        (json!({ "content": "x", "confidence": 5 }), "confidence"),
        (json!({ "content": "x", "confidence": -1 }), "confidence"),
        (json!({ "content": "x", "confidence": 1e308 }), "confidence"),
        (
            json!({ "content": "x", "confidence": "high" }),
            "confidence",
        ),
        (json!({ "content": "x", "sesion_id": "y" }), "session_id"),
        (json!({ "content": "x", "extra": 1 }), "extra"),
        (json!({ "content": "x", "session_id": 7 }), "session_id"),
        (json!({ "content": "x".repeat(100_001) }), "content"),
    ];
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    for (arguments, named) in cases {
        let answer = client
            .call("reasoning_linear", arguments.clone())
            .await
            .unwrap();
        let failure = crate::support::tool_failure(&answer);
        assert_eq!(failure.code, "Validation", "{failure:?}");
        assert!(failure.text.contains(named), "{failure:?}");
        assert!(failure.text.len() < 1_000, "the value is shown shortened");
    }
    assert_eq!(
        standin.requests(),
        [] as [deliberate_testkit::RequestRecord; 0]
    );
    shut_down(client).await;
    assert_eq!(home.stored_counts().await, (0, 0));
}
