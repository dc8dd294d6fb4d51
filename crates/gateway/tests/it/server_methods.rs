//! Tests of resources, prompts and instructions, which are called like tools of their server.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use deliberate_json_schema::unmark_large_integers;
use deliberate_mcp_client::transport::McpEra;
use deliberate_toolkit::{CallerContext, ClientFeatures, LogForwarder};
use serde_json::{Value, json};

use super::{
    mock_upstream::MockUpstream,
    pass_through::LARGE,
    support::{
        GatewayFixture, modern_caller, named_user, open_store, resuming_caller, server, temp_dir,
        text, tool, wait_until,
    },
};

/// The methods in which the mock server asks who is there.
const ASKING: [(&str, &str, &str); 2] = [
    ("far__resources/read", "uri", "note://ask"),
    ("far__prompts/get", "name", "ask"),
];

fn fixture(folder: &tempfile::TempDir, era: McpEra) -> (GatewayFixture, Arc<MockUpstream>) {
    let tools = vec![tool("never", "Never ends")];
    let up = Arc::new(MockUpstream::new(era, tools));
    let servers = vec![(server("far"), up.clone())];
    (GatewayFixture::new(open_store(folder.path()), servers), up)
}

#[tokio::test]
async fn a_question_during_a_method_reaches_its_caller_and_no_other() {
    for (method, field, subject) in ASKING {
        for (other, reached) in [(None, true), (Some("ann"), true), (Some("ben"), false)] {
            let folder = temp_dir();
            let (fixture, up) = fixture(&folder, McpEra::Handshake);
            let fixture = Arc::new(fixture);
            let running = other.map(|other| {
                let fixture = fixture.clone();
                let call = async move {
                    let caller = named_user(other);
                    fixture.call_as(caller, "far__never", json!({})).await
                };
                tokio::spawn(call)
            });
            if running.is_some() {
                wait_until(|| !up.requests("tools/call").is_empty()).await;
            }
            let call = fixture.call_as(named_user("ann"), method, json!({ field: subject }));
            let result = call.await.unwrap().to_string();
            let names = ["ann", "ben"].map(|name| result.contains(name));
            assert_eq!(names, [reached, false], "{method} {other:?}: {result}");
            if let Some(running) = running {
                running.abort();
            }
        }
    }
}

#[tokio::test]
async fn a_modern_client_is_asked_by_the_answer_of_a_method() {
    for era in [McpEra::Handshake, McpEra::Stateless] {
        for (method, field, subject) in ASKING {
            let folder = temp_dir();
            let (fixture, _) = fixture(&folder, era);
            let call = fixture.call_as(modern_caller("ann"), method, json!({ field: subject }));
            let asked = call.await.unwrap()["handed_on"].clone();
            assert_eq!(asked["resultType"], "input_required", "{method} {asked}");
            let requests = asked["inputRequests"].as_object().unwrap();
            let (key, request) = requests.iter().next().unwrap();
            assert_eq!(request["params"]["message"], "far asks: Who?");
            let state = asked["requestState"].as_str().unwrap();
            let answer = json!({ key: { "action": "accept", "content": { "name": "Ann" } } });
            let again = resuming_caller("ann", state, answer);
            let call = fixture.call_as(again, method, json!({ field: subject }));
            let result = call.await.unwrap()["handed_on"].clone();
            assert!(
                result["content"].to_string().contains("Ann"),
                "{era:?} {result}"
            );
        }
    }
}

#[tokio::test]
async fn log_messages_during_a_method_reach_its_caller() {
    for era in [McpEra::Handshake, McpEra::Stateless] {
        let folder = temp_dir();
        let (fixture, _) = fixture(&folder, era);
        let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
        let hears = heard.clone();
        let log = LogForwarder {
            level: "info",
            send: Arc::new(move |message| hears.lock().unwrap().push(message)),
        };
        let caller = CallerContext {
            client: ClientFeatures {
                log: Some(log),
                ..ClientFeatures::default()
            },
            ..CallerContext::default()
        };
        let uri = json!({ "uri": "note://chatty" });
        let call = fixture.call_as(caller, "far__resources/read", uri);
        call.await.unwrap();
        let heard = heard.lock().unwrap();
        let expected = json!({ "level": "warning", "logger": "far/disk", "data": "nearly full" });
        assert_eq!(*heard, [expected], "{era:?}");
    }
}

#[tokio::test]
async fn methods_count_as_calls_of_their_server() {
    let folder = temp_dir();
    let up = Arc::new(MockUpstream::new(McpEra::Handshake, Vec::new()));
    let mut slow = server("far");
    slow.config.limits.per_minute = Some(4);
    let fixture = GatewayFixture::new(open_store(folder.path()), vec![(slow, up)]);
    for (method, arguments) in [
        ("far__resources/list", json!({})),
        ("far__resources/read", json!({ "uri": "note://1" })),
        ("far__prompts/list", json!({})),
        ("far__prompts/get", json!({ "name": "greet" })),
    ] {
        fixture.call_upstream(method, arguments).await.unwrap();
    }
    let error = fixture.call_upstream("far__prompts/list", json!({})).await;
    assert_eq!(error.unwrap_err().code(), "RateLimited");
    // What came with the connection costs the server nothing.
    let instructions = fixture.call_upstream("far__instructions", json!({})).await;
    instructions.unwrap();
    let status = fixture.gateway.status().remove(0);
    assert_eq!((status.calls, status.failures), (4, 0));
}

#[tokio::test]
async fn a_method_that_fails_counts_as_a_failure() {
    let folder = temp_dir();
    let (fixture, up) = fixture(&folder, McpEra::Handshake);
    let mut server = server("near");
    server.config.limits.response_timeout = Duration::from_millis(50);
    let servers = vec![(server, up)];
    let near = GatewayFixture::new(fixture.store.clone(), servers);
    let uri = json!({ "uri": "note://never" });
    let error = near.call_upstream("near__resources/read", uri).await;
    assert_eq!(error.unwrap_err().code(), "Timeout");
    let status = near.gateway.status().remove(0);
    assert_eq!((status.calls, status.failures), (1, 1));
}

#[tokio::test]
async fn integers_beyond_64_bits_pass_exactly_in_resources_and_prompts() {
    let folder = temp_dir();
    let (fixture, _) = fixture(&folder, McpEra::Handshake);
    let uri = json!({ "uri": "note://large" });
    let read = fixture
        .call_upstream("far__resources/read", uri)
        .await
        .unwrap();
    let read = unmark_large_integers(read.to_string());
    assert!(
        read.contains(&format!(r#""_meta":{{"n":{LARGE}}}"#)),
        "{read}"
    );
    let name = json!({ "name": "large" });
    let prompt = fixture
        .call_upstream("far__prompts/get", name)
        .await
        .unwrap();
    assert_eq!(
        text(&prompt)["_meta"].to_string(),
        json!({ "n": 1.844_674_407_370_955_2e22 }).to_string()
    );
    let prompt = prompt["content"][0]["text"].as_str().unwrap();
    assert!(prompt.contains(&format!(r#"{{"n":{LARGE}}}"#)), "{prompt}");
}
