//! Tests of the set of servers: connections of single principals, reloading, and what servers offer
//! beside tools.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use deliberate_gateway::{GatewayServer, PrincipalCredentials, SessionMode};
use deliberate_mcp_client::transport::McpEra;
use deliberate_toolkit::{CallerContext, Principal, ToolScope};
use serde_json::{Value, json};

use super::{
    mock_upstream::MockUpstream,
    support::{GatewayFixture, open_store, server, temp_dir, text, tool, tool_names, wait_until},
};

fn caller(name: &str) -> CallerContext {
    CallerContext {
        principal: Principal {
            name: Some(name.into()),
            scope: ToolScope::All,
        },
        ..CallerContext::default()
    }
}

fn fixture(
    folder: &tempfile::TempDir,
    settings: Vec<GatewayServer>,
) -> (GatewayFixture, Vec<Arc<MockUpstream>>) {
    let servers: Vec<_> = settings
        .into_iter()
        .map(|settings| {
            let names = ["echo", "link", "never", "late_large"];
            let tools = names.iter().map(|name| tool(name, "")).collect();
            (
                settings,
                Arc::new(MockUpstream::new(McpEra::Handshake, tools)),
            )
        })
        .collect();
    let ups = servers.iter().map(|(_, up)| up.clone()).collect();
    (GatewayFixture::new(open_store(folder.path()), servers), ups)
}

#[tokio::test]
async fn principals_have_connections_of_their_own_if_the_server_says_so() {
    for (mode, expected) in [(SessionMode::Shared, 1), (SessionMode::PerClient, 3)] {
        let folder = temp_dir();
        let mut settings = server("far");
        settings.session = mode;
        let (fixture, ups) = fixture(&folder, vec![settings]);
        for name in ["ann", "ben", "ann"] {
            let call = fixture.call_as(caller(name), "far__echo", json!({}));
            call.await.unwrap();
        }
        fixture.call("far__echo", json!({})).await.unwrap();
        let opened = ups[0].open_count.load(Ordering::Relaxed);
        assert_eq!(opened, expected, "{mode:?}");
        fixture.gateway.stop().await;
    }
}

#[tokio::test]
async fn a_principal_with_credentials_has_a_connection_with_them() {
    let folder = temp_dir();
    let mut settings = server("far");
    let own = PrincipalCredentials {
        env: BTreeMap::from([("TOKEN".to_owned(), "of ann".into())]),
        ..PrincipalCredentials::default()
    };
    settings.principals = BTreeMap::from([("ann".to_owned(), own)]);
    let (fixture, ups) = fixture(&folder, vec![settings]);
    for (name, opened) in [("ben", 1), ("ann", 2), ("carl", 2)] {
        let call = fixture.call_as(caller(name), "far__echo", json!({}));
        call.await.unwrap();
        assert_eq!(ups[0].open_count.load(Ordering::Relaxed), opened, "{name}");
    }
}

#[test]
fn sessions_and_credentials_are_read_from_the_settings() {
    let entry = json!({ "far": { "command": "x", "session": "per-client",
        "principals": { "ann": { "env": { "TOKEN": "${ANN}" } } } } });
    let variables = |name: &str| (name == "ANN").then(|| "secret-of-ann".to_owned());
    let read = deliberate_mcp_client::config::read_servers(entry.as_object().unwrap(), &variables);
    let listed = read.unwrap().pop().unwrap();
    let server = GatewayServer::from_configured(listed.clone()).unwrap();
    assert_eq!(server.session, SessionMode::PerClient);
    assert!(server.principals["ann"].env.contains_key("TOKEN"));
    assert!(!format!("{listed:?} {server:?}").contains("secret-of-ann"));
    let mut wrong = listed;
    wrong
        .extra_fields
        .insert("session".to_owned(), json!("alone"));
    wrong
        .extra_fields
        .insert("principals".to_owned(), json!({ "ann": { "cookie": {} } }));
    let error = GatewayServer::from_configured(wrong).unwrap_err();
    assert_eq!(error.problems.len(), 2, "{error}");
}

#[tokio::test]
async fn a_reload_keeps_what_is_unchanged_and_lets_running_calls_end() {
    let folder = temp_dir();
    let (fixture, ups) = fixture(&folder, vec![server("a"), server("b"), server("c")]);
    for name in ["a__echo", "b__echo", "c__echo"] {
        fixture.call(name, json!({})).await.unwrap();
    }
    let running = {
        let registry = fixture.registry.clone();
        let call = async move {
            registry
                .call("c__never", json!({}), CallerContext::default())
                .await
        };
        tokio::spawn(call)
    };
    wait_until(|| ups[2].requests("tools/call").len() == 2).await;
    let mut changed = server("b");
    changed.config.limits.max_concurrent = 7;
    let servers = vec![server("a"), changed];
    let report = fixture.gateway.reload(servers, BTreeMap::new()).await;
    assert_eq!(report.kept, ["a"]);
    assert_eq!(report.changed, ["b"]);
    assert_eq!(report.removed, ["c"]);
    assert!(report.added.is_empty() && report.problems.is_empty());
    for (name, outcome) in [
        ("a__echo", "ok"),
        ("b__echo", "ok"),
        ("c__echo", "UnknownTool"),
    ] {
        let answer = fixture.call(name, json!({})).await;
        let code = answer.map_or_else(|error| error.code().to_owned(), |_| "ok".to_owned());
        assert_eq!(code, outcome, "{name}");
    }
    assert_eq!(ups[0].open_count.load(Ordering::Relaxed), 1);
    assert_eq!(ups[1].open_count.load(Ordering::Relaxed), 2);
    assert!(!running.is_finished());
    running.abort();
    // The removed server can come back.
    let report = fixture.gateway.reload(vec![server("c")], BTreeMap::new());
    assert_eq!(report.await.added, ["c"]);
    fixture.call("c__echo", json!({})).await.unwrap();
}

#[tokio::test]
async fn a_call_at_a_removed_server_has_the_time_of_its_server() {
    let folder = temp_dir();
    let mut slow = server("far");
    slow.config.limits.response_timeout = Duration::from_mins(30);
    let (fixture, ups) = fixture(&folder, vec![slow]);
    let registry = fixture.registry.clone();
    let call = async move {
        let caller = CallerContext::default();
        registry.call("far__late_large", json!({}), caller).await
    };
    let running = tokio::spawn(call);
    wait_until(|| ups[0].requests("tools/call").len() == 1).await;
    tokio::time::pause();
    let report = fixture.gateway.reload(Vec::new(), BTreeMap::new()).await;
    assert_eq!(report.removed, ["far"]);
    for _ in 0..20 {
        tokio::time::advance(Duration::from_mins(1)).await;
    }
    tokio::time::resume();
    ups[0].late_answers.add_permits(1);
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_call_that_connects_to_a_removed_server_ends_before_the_connection_is_closed() {
    for name in ["far__echo", "far__resources/list"] {
        let folder = temp_dir();
        let (fixture, ups) = fixture(&folder, vec![server("far")]);
        ups[0].opening.forget_permits(1);
        let registry = fixture.registry.clone();
        let call = async move {
            let arguments = json!({ "tool": name, "arguments": {} });
            let caller = CallerContext::default();
            registry.call("gateway_call", arguments, caller).await
        };
        let running = tokio::spawn(call);
        wait_until(|| ups[0].open_count.load(Ordering::Relaxed) == 1).await;
        tokio::time::pause();
        let report = fixture.gateway.reload(Vec::new(), BTreeMap::new()).await;
        assert_eq!(report.removed, ["far"]);
        for _ in 0..5 {
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        tokio::time::resume();
        ups[0].opening.add_permits(1);
        let outcome = running.await.unwrap();
        assert!(outcome.is_ok(), "{name}: {:?}", outcome.err());
        wait_until(|| ups[0].closed_count.load(Ordering::Relaxed) == 1).await;
    }
}

#[tokio::test]
async fn resources_prompts_and_instructions_are_called_like_tools() {
    let folder = temp_dir();
    let (fixture, _) = fixture(&folder, vec![server("far")]);
    let call = |method: &str, arguments: Value| {
        let tool = format!("far__{method}");
        let fixture = &fixture;
        async move { fixture.call_upstream(&tool, arguments).await }
    };
    let listed = call("resources/list", json!({})).await.unwrap();
    assert_eq!(text(&listed)["resources"][0]["uri"], "note://1");
    let read = call("resources/read", json!({ "uri": "note://1" })).await;
    let read = read.unwrap();
    assert_eq!(
        read["content"][0]["resource"]["text"],
        "text of \"note://1\""
    );
    assert_eq!(read["_meta"]["deliberate/untrusted"]["server"], "far");
    let prompts = call("prompts/list", json!({})).await.unwrap();
    assert_eq!(text(&prompts)["prompts"][0]["name"], "greet");
    let arguments = json!({ "name": "greet", "arguments": { "who": "Ann" } });
    let prompt = call("prompts/get", arguments).await.unwrap();
    assert!(text(&prompt).to_string().contains("Greet"), "{prompt}");
    let told = call("instructions", json!({})).await.unwrap();
    assert_eq!(text(&told), "Ask for one thing at a time.");
    let error = call("resources/read", json!({})).await.unwrap_err();
    assert_eq!(error.code(), "Validation");

    let mut closed = server("far");
    closed.except = vec!["resources/*".to_owned()];
    let report = fixture.gateway.reload(vec![closed], BTreeMap::new()).await;
    assert_eq!(report.changed, ["far"]);
    let error = call("resources/list", json!({})).await.unwrap_err();
    assert_eq!(error.code(), "UnknownTool");
}

#[tokio::test]
async fn the_gateways_own_tools_are_listed_while_there_are_servers() {
    let folder = temp_dir();
    let (fixture, _) = fixture(&folder, Vec::new());
    let operator = Principal::default();
    let listed = || {
        let registry = &fixture.registry;
        let names: Vec<_> = registry.list().map(|it| it.meta.name).collect();
        let visible = registry.is_visible_to(&operator, "gateway_search");
        assert_eq!(names.contains(&"gateway_search"), visible);
        assert_eq!(names.contains(&"gateway_call"), visible);
        visible
    };
    let told = Arc::new(AtomicUsize::new(0));
    let hears = told.clone();
    fixture.gateway.on_change(Box::new(move || {
        hears.fetch_add(1, Ordering::Relaxed);
    }));
    assert!(!listed());
    let excluded = BTreeMap::from([("far".to_owned(), "it has no command".to_owned())]);
    fixture.gateway.reload(Vec::new(), excluded).await;
    assert!(listed());
    assert_eq!(told.load(Ordering::Relaxed), 1);
    fixture.gateway.reload(Vec::new(), BTreeMap::new()).await;
    assert!(!listed());
    assert_eq!(told.load(Ordering::Relaxed), 2);
}

fn caller_with_scope(patterns: &[&str]) -> CallerContext {
    let patterns = patterns.iter().map(|it| (*it).to_owned()).collect();
    let mut caller = caller("ann");
    caller.principal.scope = ToolScope::Only(patterns);
    caller
}

#[tokio::test]
async fn callers_see_the_servers_and_tools_that_they_may_call() {
    let folder = temp_dir();
    let (fixture, _) = fixture(&folder, vec![server("far"), server("near")]);
    for (patterns, servers, tools) in [
        (&["gateway_*"][..], &["far", "near"][..], 2),
        (&["gateway_search", "gateway_call/far"], &["far"], 1),
        (&["gateway_search", "near__echo"], &["near"], 1),
        (&["gateway_search", "near__link"], &["near"], 0),
        (&["gateway_search"], &[], 0),
    ] {
        let call = |arguments: Value| {
            fixture.call_as(caller_with_scope(patterns), "gateway_search", arguments)
        };
        let listed = call(json!({ "query": "" })).await.unwrap();
        let names = listed["servers"].as_array().unwrap().iter();
        let names: Vec<_> = names.map(|it| it["server"].as_str().unwrap()).collect();
        assert_eq!(names, servers, "{patterns:?}");
        let found = call(json!({ "query": "echo" })).await.unwrap();
        let found = tool_names(&found);
        let echoes = found.iter().filter(|it| it.ends_with("__echo"));
        assert_eq!(echoes.count(), tools, "{patterns:?} {found:?}");
    }
    let narrow = caller_with_scope(&["gateway_search", "gateway_call/far"]);
    let named = json!({ "query": "echo", "server": "near" });
    let error = fixture
        .call_as(narrow.clone(), "gateway_search", named)
        .await;
    let error = error.unwrap_err();
    assert_eq!(error.code(), "UnknownServer");
    assert!(!format!("{:?}", error.hint()).contains("near"), "{error:?}");
    let wrong = json!({ "tool": "far__ech" });
    let error = fixture
        .call_as(narrow, "gateway_call", wrong)
        .await
        .unwrap_err();
    let hint = format!("{:?}", error.hint());
    assert!(
        hint.contains("far__echo") && !hint.contains("near"),
        "{hint}"
    );
}

#[tokio::test]
async fn only_restricts_resources_and_prompts_too() {
    let folder = temp_dir();
    for (only, allowed) in [
        (&["echo"][..], false),
        (&["echo", "resources/*"], true),
        (&[], true),
    ] {
        let mut settings = server("far");
        settings.only = only.iter().map(|it| (*it).to_owned()).collect();
        let (fixture, _) = fixture(&folder, vec![settings]);
        let read = fixture
            .call_upstream("far__resources/list", json!({}))
            .await;
        assert_eq!(read.is_ok(), allowed, "{only:?}");
    }
}
