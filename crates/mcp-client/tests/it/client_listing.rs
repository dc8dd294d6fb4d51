//! Tests of listing: read to the end, cached while fresh, within limits.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use deliberate_mcp_client::{
    ClientErrorKind, ServerConfig,
    client::{CachePolicy, ClientHandler, McpClient, ServerEvent},
};
use serde_json::{Value, json};

use crate::client_support::{
    ScriptedServer, SpawnedServer, TEST_TIMEOUT, answer_handshake, answer_stateless, call,
    call_text, client, stdio, wait_until, with_deadline,
};

/// Lists one tool whose description is the number of the list.
fn counting_server(
    newer_era: bool,
    more: &'static (dyn Fn() -> Value + Sync),
) -> Arc<ScriptedServer> {
    let lists = AtomicUsize::new(0);
    ScriptedServer::new(move |stage, message| {
        let known = if newer_era {
            answer_stateless(stage, message)
        } else {
            answer_handshake(stage, message)
        };
        if known || message["method"] != "tools/list" {
            return;
        }
        let number = lists.fetch_add(1, Ordering::SeqCst).to_string();
        let tool = json!({ "name": "t", "description": number, "inputSchema": {} });
        let mut page = json!({ "tools": [tool] });
        for (name, value) in more().as_object().unwrap() {
            page[name] = value.clone();
        }
        stage.answer(message, &page);
    })
}

async fn list_number(client: &McpClient, fresh: CachePolicy) -> String {
    let list = with_deadline(client.tools(fresh)).await.unwrap();
    list.get("t").unwrap().description().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn tools_are_kept_until_the_server_says_that_they_changed() {
    let server = counting_server(false, &|| json!({}));
    let client = server.client();
    assert_eq!(list_number(&client, CachePolicy::Cached).await, "0");
    tokio::time::advance(Duration::from_hours(1)).await;
    assert_eq!(list_number(&client, CachePolicy::Cached).await, "0");
    assert_eq!(list_number(&client, CachePolicy::Refresh).await, "1");
    assert_eq!(list_number(&client, CachePolicy::Cached).await, "1");
    server
        .last_connection()
        .notify("notifications/tools/list_changed", &Value::Null);
    assert_eq!(list_number(&client, CachePolicy::Cached).await, "2");
    tokio::time::advance(Duration::from_mins(1)).await;
    server.last_connection().end("a restart");
    assert_eq!(list_number(&client, CachePolicy::Cached).await, "3");
    assert_eq!(server.received_of("tools/list").len(), 4);
}

#[tokio::test(start_paused = true)]
async fn what_the_server_says_of_freshness_counts() {
    for (ttl, kept) in [(60_000, true), (0, false)] {
        let server = if kept {
            counting_server(true, &|| json!({ "ttlMs": 60_000 }))
        } else {
            counting_server(true, &|| json!({ "ttlMs": 0 }))
        };
        let client = server.client();
        list_number(&client, CachePolicy::Cached).await;
        list_number(&client, CachePolicy::Cached).await;
        assert_eq!(server.received_of("tools/list").len() == 1, kept, "{ttl}");
        tokio::time::advance(Duration::from_secs(61)).await;
        list_number(&client, CachePolicy::Cached).await;
        assert_eq!(
            server.received_of("tools/list").len(),
            if kept { 2 } else { 3 }
        );
    }
}

#[tokio::test]
async fn many_who_want_the_list_ask_once() {
    let server = counting_server(false, &|| json!({}));
    let client = &server.client();
    futures::future::join_all((0..20).map(|_| list_number(client, CachePolicy::Cached))).await;
    assert_eq!(server.received_of("tools/list").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_list_that_does_not_come_waits_once() {
    let scripted_server = ScriptedServer::new(|stage, message| {
        answer_handshake(stage, message);
    });
    let client = &scripted_server.client();
    let begun = tokio::time::Instant::now();
    let each = (0..20).map(|_| async { client.tools(CachePolicy::Cached).await.unwrap_err() });
    let errors = futures::future::join_all(each).await;
    assert!(errors.iter().all(|error| error.code() == "Timeout"));
    assert_eq!(scripted_server.received_of("tools/list").len(), 1);
    assert!(begun.elapsed() < Duration::from_mins(2));
    // Later the server is asked again.
    client.tools(CachePolicy::Cached).await.unwrap_err();
    assert_eq!(scripted_server.received_of("tools/list").len(), 2);
}

struct ChangeCounter(AtomicUsize);

impl ClientHandler for ChangeCounter {
    fn on_server_event(&self, _: &str, event: ServerEvent) {
        if event == ServerEvent::ToolsChanged {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Returns whether a change after some calls is noticed within this time. It may happen before the
/// stream is open on which it would be reported.
async fn detects_change(config: ServerConfig, within: Duration) -> bool {
    let hears = Arc::new(ChangeCounter(AtomicUsize::new(0)));
    let client = McpClient::new(config, hears.clone()).unwrap();
    call_text(&client, "echo", json!({ "text": "x" })).await;
    let before = with_deadline(client.tools(CachePolicy::Cached))
        .await
        .unwrap();
    for _ in 0..20 {
        call_text(&client, "echo", json!({ "text": "x" })).await;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let heard = async {
        while hears.0.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let after = with_deadline(client.tools(CachePolicy::Cached))
            .await
            .unwrap();
        assert_ne!(before, after);
    };
    tokio::time::timeout(within, heard).await.is_ok()
}

#[tokio::test]
async fn a_real_change_is_heard_in_both_eras_and_on_every_transport() {
    for era in ["handshake", "stateless"] {
        let arguments = ["--era", era, "--fault", "change-after:20"];
        let program = stdio("stdio", &arguments);
        assert!(detects_change(program, TEST_TIMEOUT).await, "{era}");
        let socket = SpawnedServer::ws(&arguments);
        let socket = socket.socket_config("ws");
        assert!(detects_change(socket, TEST_TIMEOUT).await, "{era}");
        let mut heard = false;
        for _ in 0..5 {
            let web = SpawnedServer::http(&arguments);
            heard = heard || detects_change(web.config("http"), Duration::from_secs(5)).await;
        }
        assert!(heard, "{era}");
    }
}

#[tokio::test]
async fn what_changed_before_somebody_listened_is_not_missed() {
    let server = counting_server(true, &|| json!({}));
    let client = server.client();
    assert_eq!(list_number(&client, CachePolicy::Cached).await, "0");
    let params = json!({ "notifications": { "toolsListChanged": true } });
    let stage = server.last_connection();
    stage.notify("notifications/subscriptions/acknowledged", &params);
    assert_eq!(list_number(&client, CachePolicy::Cached).await, "1");
    assert_eq!(list_number(&client, CachePolicy::Cached).await, "1");
}

#[tokio::test]
async fn lists_are_read_to_the_end() {
    for era in ["handshake", "stateless"] {
        let client = client(stdio("pages", &["--era", era, "--pages"]));
        let tools = with_deadline(client.tools(CachePolicy::Cached))
            .await
            .unwrap();
        assert_eq!((tools.tools.len(), tools.warnings.len()), (15, 0));
        let echo = tools.get("echo").unwrap();
        assert_eq!(echo.raw["x-vendor"]["nested"], json!([1, null, "two"]));
        let fields: Vec<_> = echo.input_schema()["properties"]
            .as_object()
            .unwrap()
            .keys()
            .collect();
        assert_eq!(fields, ["zeta", "text", "alpha"]);
        assert_eq!(with_deadline(client.resources()).await.unwrap().len(), 3);
        assert_eq!(
            with_deadline(client.resource_templates())
                .await
                .unwrap()
                .len(),
            1
        );
        assert!(!with_deadline(client.prompts()).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn lists_that_never_end_are_cut() {
    let mut config = stdio("endless", &["--fault", "endless-pages"]);
    config.limits.max_items = 40;
    let client = client(config);
    let tools = with_deadline(client.tools(CachePolicy::Cached))
        .await
        .unwrap();
    assert_eq!(tools.tools.len(), 15);
    assert!(
        tools
            .warnings
            .iter()
            .any(|what| what.contains("more than 40"))
    );
    assert!(
        tools
            .warnings
            .iter()
            .any(|what| what.contains("two tools are named"))
    );
    assert_eq!(with_deadline(client.resources()).await.unwrap().len(), 40);
}

#[tokio::test]
async fn pages_that_go_round_or_hold_nothing_are_left() {
    for (next, warning, pages) in [
        ("same", "pages of the list repeat", 2),
        ("new", "more than 200 pages", 200),
    ] {
        let asked = AtomicUsize::new(0);
        let server = ScriptedServer::new(move |stage, message| {
            if answer_handshake(stage, message) {
                return;
            }
            let number = asked.fetch_add(1, Ordering::SeqCst);
            let cursor = match next {
                "same" => "again".to_owned(),
                _ => number.to_string(),
            };
            stage.answer(message, &json!({ "tools": [], "nextCursor": cursor }));
        });
        let list = with_deadline(server.client().tools(CachePolicy::Cached))
            .await
            .unwrap();
        assert!(list.warnings[0].contains(warning), "{:?}", list.warnings);
        assert_eq!(server.received_of("tools/list").len(), pages);
    }
}

/// Lists tools forever, with a description of 4,000 characters on each page.
fn server_of_large_pages() -> Arc<ScriptedServer> {
    let asked = AtomicUsize::new(0);
    ScriptedServer::new(move |stage, message| {
        if answer_handshake(stage, message) {
            return;
        }
        let name = asked.fetch_add(1, Ordering::SeqCst).to_string();
        let tool = json!({ "name": name, "description": "x".repeat(4_000), "inputSchema": {} });
        stage.answer(message, &json!({ "tools": [tool], "nextCursor": name }));
    })
}

#[tokio::test]
async fn all_pages_together_are_no_larger_than_one_message_may_be() {
    let server = server_of_large_pages();
    let mut config = stdio("puppet", &[]);
    config.limits.message_bytes = 50_000;
    let client = server.client_with(config);
    let error = with_deadline(client.tools(CachePolicy::Cached)).await;
    let error = error.unwrap_err();
    assert_eq!(error.code(), "AnswerTooLong");
    let text = error.to_string();
    assert!(
        text.contains("tools/list") && text.contains("50000 bytes"),
        "{text}"
    );
    assert!(error.hint().unwrap().contains("message_bytes"), "{error:?}");
    let pages = server.received_of("tools/list").len();
    assert_eq!(pages, 13);
}

#[tokio::test]
async fn tools_that_cannot_be_used_are_left_out_with_the_reason() {
    let client = client(stdio("twice", &["--fault", "dup-tools"]));
    let tools = with_deadline(client.tools(CachePolicy::Cached))
        .await
        .unwrap();
    assert_eq!((tools.tools.len(), tools.warnings.len()), (15, 1));
    let server = ScriptedServer::new(|stage, message| {
        if !answer_stateless(stage, message) {
            let header = json!({ "type": "object", "properties": { "a": { "x-mcp-header": "a b", "type": "string" } } });
            stage.answer(
                message,
                &json!({ "tools": [1, { "name": "" }, { "name": "h", "inputSchema": header }, { "name": "ok" }] }),
            );
        }
    });
    let list = with_deadline(server.client().tools(CachePolicy::Cached))
        .await
        .unwrap();
    assert_eq!((list.tools.len(), list.warnings.len()), (1, 3));
    let server = ScriptedServer::new(|stage, message| {
        if !answer_handshake(stage, message) {
            stage.answer(message, &json!({ "tools": "none" }));
        }
    });
    let error = with_deadline(server.client().tools(CachePolicy::Cached))
        .await
        .unwrap_err();
    assert!(matches!(error.kind, ClientErrorKind::Malformed { .. }));
}

#[tokio::test]
async fn resources_prompts_and_completion() {
    for era in ["handshake", "stateless"] {
        let client = client(stdio("rest", &["--era", era]));
        let read = with_deadline(client.read_resource("text://greeting"))
            .await
            .unwrap();
        assert_eq!(read["contents"][0]["text"], "Good day.");
        let error = with_deadline(client.read_resource("text://none"))
            .await
            .unwrap_err();
        assert_eq!(error.to_json()["about"], "text://none");
        let prompts = with_deadline(client.prompts()).await.unwrap();
        let name = prompts[0]["name"].as_str().unwrap();
        let prompt = with_deadline(client.get_prompt(name, json!({ "name": "Ada" })))
            .await
            .unwrap();
        assert!(prompt["messages"].is_array());
        let reference = json!({ "type": "ref/prompt", "name": name });
        let completed = with_deadline(client.complete(reference, "name", "a", None))
            .await
            .unwrap();
        assert_eq!(completed["completion"]["values"], json!(["Ada", "Alan"]));
        let older = era == "handshake";
        assert_eq!(
            with_deadline(client.subscribe("note://first"))
                .await
                .is_ok(),
            older
        );
        assert_eq!(
            with_deadline(client.set_log_level("debug")).await.is_ok(),
            older
        );
        with_deadline(client.notify_roots_changed()).await.unwrap();
    }
}

#[tokio::test]
async fn what_a_server_does_not_have_is_not_asked_for() {
    let server = ScriptedServer::new(|stage, message| {
        answer_handshake(stage, message);
    });
    let client = server.client();
    let error = with_deadline(client.prompts()).await.unwrap_err();
    assert_eq!(
        error.kind,
        ClientErrorKind::Unsupported {
            capability: "prompts"
        }
    );
    assert!(server.received_of("prompts/list").is_empty());
    wait_until(|| !server.received_of("notifications/initialized").is_empty()).await;
}

#[tokio::test]
async fn metadata_goes_along_but_does_not_replace_the_protocols() {
    let server = ScriptedServer::new(|stage, message| {
        if !answer_stateless(stage, message) {
            stage.answer_text(message, "ok");
        }
    });
    let client = server.client();
    call(&client, "any", json!({})).await.unwrap();
    let meta = json!({ "example.com/trace": 1, "progressToken": "mine",
        "io.modelcontextprotocol/protocolVersion": "1999" });
    let options = deliberate_mcp_client::CallOptions {
        meta: meta.as_object().unwrap().clone(),
        ..Default::default()
    };
    with_deadline(client.call("any", json!({}), options))
        .await
        .unwrap();
    let sent = &server.received_of("tools/call")[1];
    let meta = &sent["params"]["_meta"];
    assert_eq!(meta["example.com/trace"], 1);
    assert_eq!(meta["progressToken"], sent["id"]);
    assert_eq!(
        meta["io.modelcontextprotocol/protocolVersion"],
        "2026-07-28"
    );
}
