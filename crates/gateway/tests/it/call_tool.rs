//! Tests of calls and their results.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use deliberate_gateway::Exposure;
use deliberate_mcp_client::transport::McpEra;
use deliberate_toolkit::{CallerContext, Principal, ToolScope, TraceContext};
use serde_json::json;

use super::{
    mock_upstream::MockUpstream,
    support::{
        GatewayFixture, open_store, progress_caller, server, temp_dir, text, tool, wait_until,
    },
};

#[tokio::test]
async fn a_result_is_handed_on_unharmed() {
    let folder = temp_dir();
    let (fixture, _) = GatewayFixture::with_one_server(&folder, &[tool("odd", "Odd")]);
    let result = fixture.call_upstream("far__odd", json!({})).await.unwrap();
    assert_eq!(
        result.to_string(),
        r#"{"zeta":1,"content":[{"text":"hi","new":{"b":2,"a":1},"type":"text"}],"alpha":[],"_meta":{"z/y":1,"deliberate/untrusted":{"server":"far"}}}"#
    );
}

#[tokio::test]
async fn a_failure_of_the_tool_is_a_result() {
    let folder = temp_dir();
    let (fixture, _) = GatewayFixture::with_one_server(
        &folder,
        &[tool("fail", "Fails"), tool("refuse", "Refuses")],
    );
    let result = fixture.call_upstream("far__fail", json!({})).await.unwrap();
    assert_eq!(result["isError"], true);
    let error = fixture
        .call_upstream("far__refuse", json!({}))
        .await
        .unwrap_err();
    assert_eq!(error.code(), "Rpc");
    assert!(error.to_string().contains("out of order"), "{error}");
}

#[tokio::test]
async fn arguments_are_checked_before_they_are_sent() {
    let folder = temp_dir();
    let add = json!({ "name": "add", "inputSchema": { "type": "object",
        "properties": { "a": { "type": "integer" } }, "required": ["a"] } });
    let (fixture, player) = GatewayFixture::with_one_server(&folder, &[add]);
    let error = fixture
        .call_upstream("far__add", json!({ "a": "x" }))
        .await
        .unwrap_err();
    assert_eq!(error.code(), "Validation");
    assert!(error.to_string().contains("arguments.a"), "{error}");
    assert!(player.requests("tools/call").is_empty());
    assert_eq!(
        text(
            &fixture
                .call_upstream("far__add", json!({ "a": 1 }))
                .await
                .unwrap()
        ),
        json!({ "a": 1 })
    );
}

#[tokio::test]
async fn arguments_beside_the_name_are_taken() {
    let folder = temp_dir();
    let (fixture, _) = GatewayFixture::with_one_server(&folder, &[tool("echo", "Echoes")]);
    let output = fixture
        .call("gateway_call", json!({ "tool": "far__echo", "x": 1 }))
        .await
        .unwrap();
    assert_eq!(text(&output["handed_on"]), json!({ "x": 1 }));
    let both = json!({ "tool": "far__echo", "arguments": {}, "x": 1 });
    let error = fixture.call("gateway_call", both).await.unwrap_err();
    assert!(error.to_string().contains("x: is not"), "{error}");
}

#[tokio::test]
async fn an_unknown_tool_is_answered_with_the_nearest() {
    let folder = temp_dir();
    let (fixture, _) = GatewayFixture::with_one_server(
        &folder,
        &[tool("read_file", "Reads"), tool("write_file", "Writes")],
    );
    fixture.search("file").await;
    for name in ["far__raed_file", "read_file", "far_read_file"] {
        let error = fixture.call_upstream(name, json!({})).await.unwrap_err();
        assert_eq!(error.code(), "UnknownTool", "{name}");
        assert!(
            error.hint().unwrap().contains("far__read_file"),
            "{name} {:?}",
            error.hint()
        );
    }
    let error = fixture
        .call_upstream("weather", json!({}))
        .await
        .unwrap_err();
    assert!(error.hint().unwrap().contains("gateway_search"));
}

#[tokio::test]
async fn a_call_goes_on_in_the_trace_of_its_client() {
    let (trace, state) = (
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "vendor=state",
    );
    for era in [McpEra::Handshake, McpEra::Stateless] {
        let folder = temp_dir();
        let player = Arc::new(MockUpstream::new(era, vec![tool("echo", "Echoes")]));
        let far = vec![(server("far"), player.clone())];
        let fixture = GatewayFixture::new(open_store(folder.path()), far);
        let traced = CallerContext {
            trace: TraceContext::parse(trace, Some(state)),
            ..CallerContext::default()
        };
        for caller in [traced, CallerContext::default()] {
            let arguments = json!({ "tool": "far__echo" });
            fixture
                .call_as(caller, "gateway_call", arguments)
                .await
                .unwrap();
        }
        let calls = player.requests("tools/call");
        let metas: Vec<_> = calls.iter().map(|it| &it["params"]["_meta"]).collect();
        assert_eq!(metas[0]["traceparent"], trace, "{metas:?}");
        assert_eq!(metas[0]["tracestate"], state);
        assert!(metas[1].get("traceparent").is_none(), "{metas:?}");
    }
}

#[tokio::test]
async fn progress_is_told() {
    let folder = temp_dir();
    let (fixture, _) = GatewayFixture::with_one_server(&folder, &[tool("slow", "Slow")]);
    let heard = loop {
        let (caller, heard) = progress_caller();
        let arguments = json!({ "tool": "far__slow", "arguments": {} });
        let began = Instant::now();
        fixture
            .call_as(caller, "gateway_call", arguments)
            .await
            .unwrap();
        // A longer call also reports that it is alive, as the first one may, which connects.
        if began.elapsed() < Duration::from_secs(1) {
            break heard;
        }
    };
    let progress = heard.lock().unwrap();
    let messages: Vec<_> = progress
        .iter()
        .map(|it| (it.message.as_str(), it.total))
        .collect();
    assert_eq!(messages, [("step 1", Some(2.0)), ("step 2", Some(2.0))]);
}

#[tokio::test]
async fn a_call_that_is_taken_back_is_taken_back_there() {
    let folder = temp_dir();
    let (fixture, player) =
        GatewayFixture::with_one_server(&folder, &[tool("never", "Never ends")]);
    let caller = CallerContext::default();
    let stop = caller.cancellation.clone();
    let call = fixture.call_as(
        caller,
        "gateway_call",
        json!({ "tool": "far__never", "arguments": {} }),
    );
    let watch = async {
        wait_until(|| !player.requests("tools/call").is_empty()).await;
        stop.cancel();
    };
    let (outcome, ()) = tokio::join!(call, watch);
    assert_eq!(outcome.unwrap_err().code(), "Cancelled");
    wait_until(|| !player.requests("notifications/cancelled").is_empty()).await;
    let call = &player.requests("tools/call")[0];
    let cancelled = &player.requests("notifications/cancelled")[0];
    assert_eq!(cancelled["params"]["requestId"], call["id"]);
}

#[tokio::test]
async fn exposed_tools_are_guests_as_their_server_wrote_them() {
    let folder = temp_dir();
    let odd = json!({ "zeta": { "b": 1, "a": 2 }, "name": "odd", "inputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": true, "other": 1 }, "_meta": { "x": 1 } });
    let player = Arc::new(MockUpstream::new(
        McpEra::Handshake,
        vec![odd.clone(), tool("hidden", "Hidden")],
    ));
    let mut server = server("far");
    server.expose = Exposure::Only(vec!["od*".to_owned()]);
    let fixture = GatewayFixture::new(open_store(folder.path()), vec![(server, player.clone())]);
    let changed = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let hears = changed.clone();
    fixture.gateway.on_change(Box::new(move || {
        hears.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }));
    let tools = fixture.registry.external_tools().unwrap().clone();
    assert!(tools.list().is_empty());
    fixture.gateway.start();
    wait_until(|| !tools.list().is_empty()).await;
    let external_tools = tools.list();
    assert_eq!(external_tools.len(), 1);
    assert_eq!(&*external_tools[0].name, "far__odd");
    let expected = odd
        .to_string()
        .replace(r#""name":"odd""#, r#""name":"far__odd""#);
    assert_eq!(external_tools[0].definition.to_string(), expected);
    let output = fixture.call("far__odd", json!({})).await.unwrap();
    assert_eq!(output["handed_on"]["zeta"], 1);
    // A tool that is not exposed can be called by its name too.
    fixture.call("far__hidden", json!({})).await.unwrap();
    let error = fixture.call("far__none", json!({})).await.unwrap_err();
    assert_eq!(error.code(), "UnknownTool");

    player.set_tools(vec![odd, tool("odder", "Odder")]);
    wait_until(|| tools.list().len() == 2).await;
    wait_until(|| changed.load(std::sync::atomic::Ordering::Relaxed) == 2).await;
    fixture.gateway.stop().await;
}

#[tokio::test]
async fn scopes_name_guests() {
    let folder = temp_dir();
    let player = Arc::new(MockUpstream::new(
        McpEra::Handshake,
        vec![tool("echo", "Echoes"), tool("odd", "Odd")],
    ));
    let mut server = server("far");
    server.expose = Exposure::All;
    let fixture = GatewayFixture::new(open_store(folder.path()), vec![(server, player)]);
    fixture.gateway.start();
    let tools = fixture.registry.external_tools().unwrap().clone();
    wait_until(|| tools.list().len() == 2).await;
    let caller = CallerContext {
        principal: Principal {
            name: Some("a".into()),
            scope: ToolScope::Only(Arc::from(["far__echo".to_owned()])),
        },
        ..CallerContext::default()
    };
    fixture
        .call_as(caller.clone(), "far__echo", json!({}))
        .await
        .unwrap();
    for (name, arguments) in [
        ("far__odd", json!({})),
        ("gateway_call", json!({ "tool": "far__odd" })),
    ] {
        let error = fixture
            .call_as(caller.clone(), name, arguments)
            .await
            .unwrap_err();
        assert_eq!(error.code(), "Forbidden", "{name}");
    }
}

#[tokio::test]
async fn nothing_of_the_request_goes_on_but_its_arguments() {
    let folder = temp_dir();
    let (fixture, player) = GatewayFixture::with_one_server(&folder, &[tool("echo", "Echoes")]);
    fixture
        .call_upstream("far__echo", json!({ "x": 1 }))
        .await
        .unwrap();
    let sent = &player.requests("tools/call")[0]["params"];
    assert_eq!(sent["arguments"], json!({ "x": 1 }));
    let meta: Vec<_> = sent["_meta"].as_object().unwrap().keys().collect();
    assert_eq!(meta, ["progressToken"]);
}

#[tokio::test]
async fn both_tools_take_little_room() {
    let folder = temp_dir();
    let (fixture, _) = GatewayFixture::with_one_server(&folder, &[]);
    let all: usize = fixture
        .registry
        .list()
        .filter(|listing| listing.meta.name.starts_with("gateway_"))
        .map(|listing| {
            let about = listing.meta;
            json!({ "name": about.name, "title": about.title, "description": about.description,
                    "inputSchema": listing.input_schema,
                    "annotations": { "readOnlyHint": true, "destructiveHint": true } })
            .to_string()
            .len()
        })
        .sum();
    assert!(all / 4 <= 260, "{} tokens", all / 4);
}

#[tokio::test]
async fn tools_are_found_by_their_names_for_who_puts_them_to_use() {
    let folder = temp_dir();
    let tools = [
        tool("read", "Reads"),
        tool("read_all", "Reads"),
        tool("bad", "x\u{200b}"),
    ];
    let (fixture, player) = GatewayFixture::with_one_server(&folder, &tools);
    let external_tools = fixture.registry.external_tools().unwrap().clone();
    for (pattern, found) in [
        ("far__read", vec!["far__read"]),
        ("far__read*", vec!["far__read", "far__read_all"]),
        ("far__*", vec!["far__read", "far__read_all"]),
        ("fa*", vec!["far__read", "far__read_all"]),
        ("*", vec!["far__read", "far__read_all"]),
        ("far__bad", vec![]),
        ("far", vec![]),
        ("near__*", vec![]),
    ] {
        let names = external_tools.find(pattern).await;
        let names: Vec<_> = names
            .iter()
            .map(|external_tool| &*external_tool.name)
            .collect();
        assert_eq!(names, found, "{pattern}");
    }
    assert!(external_tools.list().is_empty());
    assert_eq!(player.requests("tools/list").len(), 1);
    // A quarantined tool is not found, and a call of it reports the reason.
    let error = fixture.call("far__bad", json!({})).await.unwrap_err();
    assert_eq!(error.code(), "Quarantined");
}
