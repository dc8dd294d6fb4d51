//! Tests of what reaches the client beside a result: log messages, questions among several calls,
//! invalid structured content, and the mark of untrusted results.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use deliberate_gateway::GatewayServer;
use deliberate_json_schema::{mark_large_integers, unmark_large_integers};
use deliberate_mcp_client::transport::McpEra;
use deliberate_store::Pagination;
use deliberate_toolkit::{
    CallerContext, ClientFeatures, LogForwarder, Principal, TimedOutcome, Tool, ToolContext,
    ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput, ToolScope,
};
use serde_json::{Value, json};

use super::{
    mock_upstream::MockUpstream,
    support::{
        GatewayFixture, named_user, open_store, progress_caller, server, temp_dir, text, tool,
        wait_until,
    },
};

fn fixture(
    folder: &tempfile::TempDir,
    tools: &[&str],
    settings: GatewayServer,
) -> (GatewayFixture, Arc<MockUpstream>) {
    let tools = tools.iter().map(|name| tool(name, "Does things"));
    let up = Arc::new(MockUpstream::new(McpEra::Handshake, tools.collect()));
    let fixture = GatewayFixture::new(open_store(folder.path()), vec![(settings, up.clone())]);
    (fixture, up)
}

#[tokio::test]
async fn a_question_among_several_calls_of_one_user_reaches_that_user_and_no_other() {
    for (other, answer) in [("ann", "Ann asks no one else"), ("ben", "")] {
        let folder = temp_dir();
        let (fixture, up) = fixture(&folder, &["ask", "never"], server("far"));
        let fixture = Arc::new(fixture);
        let running = {
            let fixture = fixture.clone();
            let caller = named_user(other);
            tokio::spawn(async move { fixture.call_as(caller, "far__never", json!({})).await })
        };
        wait_until(|| !up.requests("tools/call").is_empty()).await;
        let result = fixture
            .call_as(named_user("ann"), "far__ask", json!({}))
            .await;
        let result = text(&result.unwrap()["handed_on"]).to_string();
        let reached = result.contains("\"ann\"");
        assert_eq!(reached, !answer.is_empty(), "{other}: {result}");
        running.abort();
    }
}

#[tokio::test]
async fn log_messages_reach_the_client_of_the_call() {
    for era in [McpEra::Handshake, McpEra::Stateless] {
        let folder = temp_dir();
        let up = Arc::new(MockUpstream::new(era, vec![tool("chatty", "Logs")]));
        let fixture = GatewayFixture::new(open_store(folder.path()), vec![(server("far"), up)]);
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
        let called = fixture.call_as(caller, "far__chatty", json!({})).await;
        called.unwrap();
        let heard = heard.lock().unwrap();
        let expected = json!({ "level": "warning", "logger": "far/disk", "data": "nearly full" });
        assert_eq!(*heard, [expected], "{era:?}");
    }
}

#[tokio::test]
async fn a_server_is_not_asked_for_log_messages_that_nobody_wants() {
    let folder = temp_dir();
    let up = MockUpstream::new(McpEra::Stateless, vec![tool("chatty", "Logs")]);
    let up = Arc::new(up);
    let servers = vec![(server("far"), up.clone())];
    let fixture = GatewayFixture::new(open_store(folder.path()), servers);
    fixture
        .call_upstream("far__chatty", json!({}))
        .await
        .unwrap();
    let sent = up.requests("tools/call").pop().unwrap();
    let meta = sent["params"]["_meta"].as_object().unwrap();
    assert!(!meta.contains_key("io.modelcontextprotocol/logLevel"));
}

#[tokio::test]
async fn invalid_structured_content_costs_only_itself() {
    let folder = temp_dir();
    let mut definition = tool("structured", "Structured");
    definition["outputSchema"] =
        json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    let (fixture, _) = GatewayFixture::with_one_server(&folder, &[definition]);
    let result = fixture.call_upstream("far__structured", json!({})).await;
    let result = result.unwrap();
    assert_eq!(result["content"][0]["text"], "the text");
    let note = result["content"][1]["text"].as_str().unwrap();
    assert!(note.contains("violates its own output schema"), "{note}");
    assert!(result.get("structuredContent").is_none());
    assert_eq!(result["isError"], true);
}

#[tokio::test]
async fn results_are_marked_unless_their_server_is_trusted() {
    let folder = temp_dir();
    let names = ["echo", "sly", "sly_structure"];
    let (far, _) = fixture(&folder, &names, server("far"));
    let mark = |result: &Value| result["_meta"]["deliberate/untrusted"].clone();
    let result = far.call_upstream("far__echo", json!({})).await.unwrap();
    assert_eq!(mark(&result), json!({ "server": "far" }));
    for sly in ["far__sly", "far__sly_structure"] {
        let result = far.call_upstream(sly, json!({})).await.unwrap();
        assert_eq!(
            mark(&result),
            json!({ "server": "far", "suspicious": ["override"] }),
            "{sly}"
        );
    }
    let folder = temp_dir();
    let mut trusted = server("far");
    trusted.trust = true;
    let (far, _) = fixture(&folder, &["echo"], trusted);
    let result = far.call_upstream("far__echo", json!({})).await.unwrap();
    assert!(result.get("_meta").is_none(), "{result}");
}

#[tokio::test]
async fn a_server_decides_when_its_calls_go_to_the_background_and_progress_delays_it() {
    let folder = temp_dir();
    let mut quick = server("far");
    quick.background_after = Some(Duration::from_millis(300));
    let (fixture, _) = fixture(&folder, &["never", "ticking"], quick);
    let hour = Duration::from_hours(1);
    let call = |name: &'static str, caller| {
        let registry = fixture.registry.clone();
        async move {
            registry
                .call_with_timeout(name, json!({}), caller, hour)
                .await
        }
    };
    let outcome = call("far__never", CallerContext::default()).await.unwrap();
    assert!(
        matches!(outcome, TimedOutcome::StillRunning(_)),
        "{outcome:?}"
    );
    // Without a client that hears the progress, it does not count.
    let outcome = call("far__ticking", CallerContext::default())
        .await
        .unwrap();
    assert!(
        matches!(outcome, TimedOutcome::StillRunning(_)),
        "{outcome:?}"
    );
    let (caller, heard) = progress_caller();
    let outcome = call("far__ticking", caller).await.unwrap();
    assert!(matches!(outcome, TimedOutcome::Outcome(_)), "{outcome:?}");
    assert!(heard.lock().unwrap().len() > 5);
}

#[tokio::test]
async fn a_scope_allows_one_server() {
    let folder = temp_dir();
    let up = || Arc::new(MockUpstream::new(McpEra::Handshake, vec![tool("echo", "")]));
    let servers = vec![(server("far"), up()), (server("near"), up())];
    let fixture = GatewayFixture::new(open_store(folder.path()), servers);
    let scope = |pattern: &str| Principal {
        name: Some("ann".into()),
        scope: ToolScope::Only([pattern.to_owned()].into()),
    };
    for (pattern, far, near) in [
        ("gateway_call/far", true, false),
        ("far__*", true, false),
        ("gateway_call", true, true),
        ("gateway_search", false, false),
    ] {
        for (server, allowed) in [("far", far), ("near", near)] {
            let caller = CallerContext {
                principal: scope(pattern),
                ..CallerContext::default()
            };
            let name = format!("{server}__echo");
            let arguments = json!({ "tool": name, "arguments": {} });
            let expected = (!allowed).then(|| "Forbidden".to_owned());
            for (called, arguments) in [("gateway_call", arguments), (&name, json!({}))] {
                let outcome = fixture.call_as(caller.clone(), called, arguments).await;
                let code = outcome.err().map(|error| error.code().to_owned());
                assert_eq!(code, expected, "{pattern} {called} {server}");
            }
            let listed = fixture.registry.is_visible_to(&caller.principal, &name);
            assert_eq!(listed, allowed, "{pattern} {server}");
        }
    }
    let sees = |pattern| {
        fixture
            .registry
            .is_visible_to(&scope(pattern), "gateway_call")
    };
    assert!(sees("gateway_call/far") && sees("gateway_call"));
    assert!(!sees("gateway_search"));
}

pub(crate) const LARGE: &str = "18446744073709551617123";

/// The definition of a tool that takes and returns an integer.
fn integer_tool(name: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    json!({ "name": name, "description": "", "inputSchema": schema, "outputSchema": schema })
}

/// Arguments with an integer beyond 64 bits, as the server's transports read them.
fn large_arguments() -> Value {
    let arguments = format!(r#"{{"n":{LARGE}}}"#);
    serde_json::from_str(&mark_large_integers(&arguments)).unwrap()
}

#[tokio::test]
async fn integers_beyond_64_bits_pass_exactly_and_count_as_integers() {
    let folder = temp_dir();
    let (far, upstream) = GatewayFixture::with_one_server(&folder, &[integer_tool("large")]);
    let result = far.call_upstream("far__large", large_arguments()).await;
    let result = unmark_large_integers(result.unwrap()["structuredContent"].to_string());
    assert_eq!(result, format!(r#"{{"n":{LARGE}}}"#));
    let sent = upstream.last_text.lock().unwrap().clone();
    assert!(sent.contains(&format!(r#""n":{LARGE}"#)), "{sent}");
}

#[tokio::test]
async fn the_invocation_log_has_the_digits_of_large_integers() {
    let folder = temp_dir();
    let (far, _) = GatewayFixture::with_one_server(&folder, &[integer_tool("large")]);
    let called = far.call_upstream("far__large", large_arguments()).await;
    called.unwrap();
    far.registry.flush_log().await;
    let found = far
        .store
        .tool_invocations("far__large", None, Pagination::limit(1))
        .await;
    let record = found.unwrap().pop().unwrap();
    assert_eq!(record.input["arguments"]["n"], LARGE);
    let output = record.output.unwrap();
    assert_eq!(output["handed_on"]["structuredContent"]["n"], LARGE);
}

#[tokio::test]
async fn a_stored_call_keeps_every_digit_of_large_integers() {
    let folder = temp_dir();
    let mut quick = server("far");
    quick.background_after = Some(Duration::from_millis(20));
    let up = MockUpstream::new(McpEra::Handshake, vec![integer_tool("late_large")]);
    let up = Arc::new(up);
    let far = GatewayFixture::new(open_store(folder.path()), vec![(quick, up.clone())]);
    let call = far.registry.call_with_timeout(
        "far__late_large",
        large_arguments(),
        CallerContext::default(),
        Duration::from_hours(1),
    );
    let TimedOutcome::StillRunning(running) = call.await.unwrap() else {
        panic!("it has ended");
    };
    up.late_answers.add_permits(1);
    far.registry.wait_background_calls().await;
    let id = running.id.as_str().into();
    let stored = far.store.suspended_call(&id).await.unwrap().unwrap();
    // The numbers are rounded, as every reader of JSON takes them; the digits are beside them.
    let rounded = json!(1.844_674_407_370_955_2e22);
    assert_eq!(stored.arguments["arguments"]["n"], rounded);
    let outcome = stored.outcome.unwrap();
    assert_eq!(outcome["handed_on"]["structuredContent"]["n"], rounded);
    assert_eq!(stored.journal["large_integers"]["arguments"]["n"], LARGE);
    assert_eq!(outcome["large_integers"]["structuredContent"]["n"], LARGE);
    let operator = Principal::default();
    let left = far.registry.background_call(&running.id, &operator);
    assert_eq!(
        left.await.unwrap().arguments["arguments"],
        large_arguments()
    );
    let answer = far
        .call("reasoning_resume", json!({ "id": running.id }))
        .await;
    let answer = unmark_large_integers(answer.unwrap().to_string());
    assert!(
        answer.contains(&format!(r#""structuredContent":{{"n":{LARGE}}}"#)),
        "{answer}"
    );
    assert!(!answer.contains("large_integers"), "{answer}");
}

/// Runs an upstream server's tool inside its own call.
struct OuterTool;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct OuterInput {}

impl Tool for OuterTool {
    type Input = OuterInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "outer",
            title: "Outer",
            description: "Runs another tool.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, _: OuterInput, call: &ToolContext) -> Result<ToolOutput<Value>, ToolError> {
        call.run_tool("a", "far__large", json!({})).await
    }
}

#[tokio::test]
async fn a_tool_that_runs_another_gets_the_digits_of_large_integers() {
    let folder = temp_dir();
    let (mut far, _) = GatewayFixture::with_one_server(&folder, &[integer_tool("large")]);
    far.add_tool(OuterTool);
    let output = far.call("outer", json!({})).await.unwrap();
    assert_eq!(output["said"], json!({ "n": LARGE }).to_string());
    assert_eq!(output["structured"]["n"], LARGE);
}
