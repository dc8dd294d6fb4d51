//! Tests of upstream servers' requests during a call, for each pair of eras.

use std::sync::{Arc, Mutex};

use deliberate_core::{SystemClock, SystemIds};
use deliberate_gateway::register;
use deliberate_mcp_client::transport::McpEra;
use deliberate_toolkit::{
    CallLimits, CallOutcome, CallerContext, ClientFeatures, ClientRequestError, ClientRequests,
    FixedModel, RESUME_TOOL, Registry, RegistryDeps, TimedOutcome, Tool, ToolContext, ToolError,
    ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::{
    mock_upstream::MockUpstream,
    support::{
        GatewayFixture, modern_caller, open_store, resuming_caller, server, temp_dir, text, tool,
        wait_until,
    },
};

/// A client that is asked during its call, and answers `Ann`.
#[derive(Default)]
struct RecordingClient(Mutex<Vec<(String, Value)>>);

impl ClientRequests for RecordingClient {
    fn request(
        &self,
        method: &str,
        params: Value,
    ) -> BoxFuture<'_, Result<Value, ClientRequestError>> {
        self.0.lock().unwrap().push((method.to_owned(), params));
        let answer = match method {
            "elicitation/create" => Ok(json!({ "action": "accept", "content": { "name": "Ann" } })),
            "roots/list" => Ok(json!({ "roots": [{ "uri": "file:///a" }] })),
            _ => Err(ClientRequestError {
                code: -1,
                message: "no".to_owned(),
                data: None,
            }),
        };
        Box::pin(async { answer })
    }
}

fn handshake_caller(recording_client: &Arc<RecordingClient>) -> CallerContext {
    CallerContext {
        client: ClientFeatures {
            elicitation: true,
            sampling: true,
            roots: true,
            requests: Some(recording_client.clone()),
            ..ClientFeatures::default()
        },
        ..CallerContext::default()
    }
}

fn fixture(
    folder: &tempfile::TempDir,
    era: McpEra,
    sampling: bool,
) -> (GatewayFixture, Arc<MockUpstream>) {
    let tools = ["ask", "think", "where", "echo"].map(|name| tool(name, "Asks"));
    let player = Arc::new(MockUpstream::new(era, tools.to_vec()));
    let mut server = server("far");
    server.sampling = sampling;
    let fixture = GatewayFixture::new(open_store(folder.path()), vec![(server, player.clone())]);
    (fixture, player)
}

async fn call(
    fixture: &GatewayFixture,
    caller: CallerContext,
    tool: &str,
) -> Result<Value, String> {
    let arguments = json!({ "tool": tool, "arguments": {} });
    let output = fixture.call_as(caller, "gateway_call", arguments).await;
    output
        .map(|output| output["handed_on"].clone())
        .map_err(|error| error.code().to_owned())
}

#[tokio::test]
async fn a_client_of_the_handshake_era_is_asked_during_its_call() {
    for era in [McpEra::Handshake, McpEra::Stateless] {
        let folder = temp_dir();
        let (fixture, _) = fixture(&folder, era, false);
        let client = Arc::new(RecordingClient::default());
        let result = call(&fixture, handshake_caller(&client), "far__ask")
            .await
            .unwrap();
        assert!(
            text(&result).to_string().contains("Ann"),
            "{era:?} {result}"
        );
        let (method, params) = client.0.lock().unwrap()[0].clone();
        assert_eq!(method, "elicitation/create");
        assert_eq!(params["message"], "far asks: Who?");
        let result = call(&fixture, handshake_caller(&client), "far__where")
            .await
            .unwrap();
        assert!(
            text(&result).to_string().contains("file:///a"),
            "{era:?} {result}"
        );
    }
}

#[tokio::test]
async fn who_cannot_be_asked_has_declined() {
    for era in [McpEra::Handshake, McpEra::Stateless] {
        let folder = temp_dir();
        let (fixture, _) = fixture(&folder, era, false);
        let mute = CallerContext {
            client: ClientFeatures {
                modern: true,
                ..ClientFeatures::default()
            },
            ..CallerContext::default()
        };
        for caller in [CallerContext::default(), mute] {
            let result = call(&fixture, caller.clone(), "far__ask").await.unwrap();
            assert!(
                text(&result).to_string().contains("cancel"),
                "{era:?} {result}"
            );
            let result = call(&fixture, caller, "far__where").await.unwrap();
            assert!(
                text(&result).to_string().contains(r#""roots":[]"#),
                "{era:?} {result}"
            );
        }
    }
}

#[tokio::test]
async fn a_modern_client_is_asked_by_the_answer() {
    for era in [McpEra::Handshake, McpEra::Stateless] {
        let folder = temp_dir();
        let (fixture, player) = fixture(&folder, era, false);
        let asked = call(&fixture, modern_caller("a"), "far__ask")
            .await
            .unwrap();
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let (key, request) = asked["inputRequests"]
            .as_object()
            .unwrap()
            .iter()
            .next()
            .unwrap();
        assert_eq!(request["method"], "elicitation/create");
        assert_eq!(request["params"]["message"], "far asks: Who?");
        let state = asked["requestState"].as_str().unwrap();
        assert!(!state.contains("upstream"), "{state}");
        let answer = json!({ key: { "action": "accept", "content": { "name": "Ann" } } });
        let result = call(
            &fixture,
            resuming_caller("a", state, answer.clone()),
            "far__ask",
        )
        .await
        .unwrap();
        assert!(
            text(&result).to_string().contains("Ann"),
            "{era:?} {result}"
        );
        if era == McpEra::Stateless {
            assert_eq!(text(&result)["state"], "upstream state");
        } else {
            assert_eq!(player.requests("tools/call").len(), 1);
        }
        // A state can be used only once.
        let error = call(&fixture, resuming_caller("a", state, answer), "far__ask")
            .await
            .unwrap_err();
        assert_eq!(error, "NotWaiting");
    }
}

#[tokio::test]
async fn what_waits_belongs_to_who_called_and_to_what_was_called() {
    let folder = temp_dir();
    let (fixture, _) = fixture(&folder, McpEra::Handshake, false);
    let asked = call(&fixture, modern_caller("a"), "far__ask")
        .await
        .unwrap();
    let state = asked["requestState"].as_str().unwrap();
    let answer = json!({ "ask-1": { "action": "decline" } });
    let foreign = resuming_caller("b", state, answer.clone());
    assert_eq!(
        call(&fixture, foreign, "far__ask").await.unwrap_err(),
        "NotWaiting"
    );
    let other = resuming_caller("a", state, answer.clone());
    assert_eq!(
        call(&fixture, other, "far__echo").await.unwrap_err(),
        "NotWaiting"
    );
    let more = json!({ "tool": "far__ask", "arguments": { "x": 1 } });
    let other = fixture
        .call_as(
            resuming_caller("a", state, answer.clone()),
            "gateway_call",
            more,
        )
        .await;
    assert_eq!(other.unwrap_err().code(), "NotWaiting");
    let never = resuming_caller("a", "gw-0123456789abcdef0123456789abcdef", answer.clone());
    assert_eq!(
        call(&fixture, never, "far__ask").await.unwrap_err(),
        "NotWaiting"
    );
    let result = call(&fixture, resuming_caller("a", state, answer), "far__ask")
        .await
        .unwrap();
    assert!(text(&result).to_string().contains("decline"));
}

#[tokio::test]
async fn what_was_not_answered_is_asked_again() {
    let folder = temp_dir();
    let (fixture, _) = fixture(&folder, McpEra::Handshake, false);
    let asked = call(&fixture, modern_caller("a"), "far__ask")
        .await
        .unwrap();
    let state = asked["requestState"].as_str().unwrap();
    let once_more = call(&fixture, resuming_caller("a", state, json!({})), "far__ask")
        .await
        .unwrap();
    assert_eq!(once_more["inputRequests"], asked["inputRequests"]);
    assert_ne!(once_more["requestState"], asked["requestState"]);
}

#[tokio::test]
async fn models_are_asked_only_where_the_settings_allow_it() {
    for era in [McpEra::Handshake, McpEra::Stateless] {
        let folder = temp_dir();
        let (refusing, player) = fixture(&folder, era, false);
        match call(&refusing, modern_caller("a"), "far__think").await {
            Ok(result) => assert!(
                text(&result).to_string().contains("does not support"),
                "{result}"
            ),
            Err(code) => assert_eq!(code, "Rpc"),
        }
        let declared = player
            .messages
            .lock()
            .unwrap()
            .iter()
            .map(Value::to_string)
            .collect::<String>();
        assert!(!declared.contains(r#""sampling":{}"#), "{declared}");
        let folder = super::support::temp_dir();
        let (allowing, _) = fixture(&folder, era, true);
        let asked = call(&allowing, modern_caller("a"), "far__think")
            .await
            .unwrap();
        let request = asked["inputRequests"]
            .as_object()
            .unwrap()
            .values()
            .next()
            .unwrap();
        assert_eq!(request["method"], "sampling/createMessage");
    }
}

#[tokio::test]
async fn no_more_wait_than_may() {
    let folder = temp_dir();
    let (fixture, player) = fixture(&folder, McpEra::Stateless, false);
    for name in ["a", "b"] {
        // A caller with more suspended calls loses its oldest.
        for _ in 0..10 {
            let asked = call(&fixture, modern_caller(name), "far__ask")
                .await
                .unwrap();
            assert_eq!(asked["resultType"], "input_required");
        }
    }
    assert_eq!(
        call(&fixture, modern_caller("c"), "far__ask")
            .await
            .unwrap_err(),
        "Resting"
    );
    assert_eq!(
        call(&fixture, modern_caller("c"), "far__echo")
            .await
            .map(|it| text(&it)),
        Ok(json!({}))
    );
    assert_eq!(player.requests("tools/call").len(), 22);
}

#[tokio::test]
async fn a_person_may_think_longer_than_a_server_may_be_silent() {
    let folder = temp_dir();
    let player = Arc::new(MockUpstream::new(
        McpEra::Handshake,
        vec![tool("ask", "Asks")],
    ));
    let mut server = server("far");
    server.config.limits.response_timeout = std::time::Duration::from_millis(1_500);
    let fixture = GatewayFixture::new(open_store(folder.path()), vec![(server, player)]);
    let asked = call(&fixture, modern_caller("a"), "far__ask")
        .await
        .unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    let state = asked["requestState"].as_str().unwrap();
    let answer = json!({ "ask-1": { "action": "decline" } });
    let result = call(&fixture, resuming_caller("a", state, answer), "far__ask").await;
    assert!(result.is_ok(), "{result:?}");
}

/// A tool that runs another one.
struct NestedCallTool;

impl Tool for NestedCallTool {
    type Input = Value;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "outer",
            title: "Outer",
            description: "Runs another tool",
            hints: ToolHints::READ_ONLY,
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, _: Value, call: &ToolContext) -> Result<ToolOutput<Value>, ToolError> {
        call.run_tool("inner", "far__ask", json!({})).await
    }
}

#[tokio::test]
async fn a_tool_that_is_run_by_another_does_not_answer_with_a_question() {
    let folder = temp_dir();
    let (fixture, _) = fixture(&folder, McpEra::Handshake, false);
    let registry = Registry::new(RegistryDeps {
        store: fixture.store.clone(),
        models: Arc::new(FixedModel(None)),
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        limits: CallLimits::default(),
    });
    let registry = register(registry, &fixture.gateway).with(NestedCallTool);
    let answer = registry.call("outer", json!({}), modern_caller("a")).await;
    let Ok(CallOutcome::Done(output)) = answer else {
        panic!("{answer:?}");
    };
    assert!(
        output["said"].as_str().unwrap().contains("cancel"),
        "{output}"
    );
}

#[tokio::test]
async fn nobody_waits_for_ever() {
    let folder = temp_dir();
    let (fixture, player) = fixture(&folder, McpEra::Handshake, false);
    let asked = call(&fixture, modern_caller("a"), "far__ask")
        .await
        .unwrap();
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_mins(11)).await;
    tokio::time::resume();
    wait_until(|| !player.requests("notifications/cancelled").is_empty()).await;
    let cancelled = player.requests("notifications/cancelled");
    assert_eq!(cancelled.len(), 1, "{cancelled:?}");
    let state = asked["requestState"].as_str().unwrap();
    let answer = json!({ "ask-1": { "action": "decline" } });
    assert_eq!(
        call(&fixture, resuming_caller("a", state, answer), "far__ask")
            .await
            .unwrap_err(),
        "NotWaiting"
    );
}

#[tokio::test]
async fn a_call_that_was_handed_over_has_nobody_to_ask() {
    for era in [McpEra::Handshake, McpEra::Stateless] {
        let folder = temp_dir();
        let player = Arc::new(MockUpstream::new(era, vec![tool("ask_later", "Asks")]));
        let fixture = GatewayFixture::new(
            open_store(folder.path()),
            vec![(server("far"), player.clone())],
        );
        let arguments = json!({ "tool": "far__ask_later", "arguments": {} });
        let left = fixture.registry.call_with_timeout(
            "gateway_call",
            arguments,
            modern_caller("a"),
            std::time::Duration::ZERO,
        );
        let TimedOutcome::StillRunning(running) = left.await.unwrap() else {
            panic!("it was answered");
        };
        wait_until(|| !player.requests("tools/call").is_empty()).await;
        player.resume_calls();
        let resumed = fixture
            .call_as(modern_caller("a"), RESUME_TOOL, json!({ "id": running.id }))
            .await
            .unwrap();
        let result = &resumed["handed_on"];
        assert_ne!(result["resultType"], "input_required", "{era:?}");
        assert!(
            text(result).to_string().contains("cancel"),
            "{era:?} {result}"
        );
    }
}

#[tokio::test]
async fn a_call_that_waits_does_not_keep_the_gateway() {
    let folder = temp_dir();
    let (fixture, _) = fixture(&folder, McpEra::Handshake, false);
    let asked = call(&fixture, modern_caller("a"), "far__ask")
        .await
        .unwrap();
    assert_eq!(asked["resultType"], "input_required");
    let gateway = Arc::downgrade(&fixture.gateway);
    drop(fixture);
    wait_until(|| gateway.upgrade().is_none()).await;
}

#[tokio::test]
async fn who_stands_in_asks_models_only_if_it_may_itself() {
    let folder = temp_dir();
    let mut think = tool("think", "Thinks");
    think["annotations"] = json!({ "readOnlyHint": true });
    let second = Arc::new(MockUpstream::new(McpEra::Handshake, vec![think.clone()]));
    let first = Arc::new(MockUpstream::new_refusing(vec![think]));
    let mut failing = server("first");
    failing.fallback = Some("second".to_owned());
    failing.sampling = true;
    let fixture = GatewayFixture::new(
        open_store(folder.path()),
        vec![(failing, first), (server("second"), second.clone())],
    );
    let client = Arc::new(RecordingClient::default());
    let result = call(&fixture, handshake_caller(&client), "first__think").await;
    assert_eq!(second.requests("tools/call").len(), 1);
    assert!(client.0.lock().unwrap().is_empty());
    assert!(
        text(&result.unwrap())
            .to_string()
            .contains("does not support"),
        "it was let in"
    );
}
