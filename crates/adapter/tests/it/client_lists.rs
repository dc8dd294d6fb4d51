//! What a server has: read to the end, kept while it is fresh, within limits.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use deliberate_adapter::{
    ErrorKind, ServerConfig,
    client::{Changed, Client, Fresh, Handler},
};
use serde_json::{Value, json};

use crate::client_support::{
    PATIENCE, Puppet, Served, call, client, newer, older, said, soon, stdio, until,
};

/// Lists one tool, whose description is the number of the list.
fn counting(newer_era: bool, more: &'static (dyn Fn() -> Value + Sync)) -> Arc<Puppet> {
    let lists = AtomicUsize::new(0);
    Puppet::new(move |stage, message| {
        let known = if newer_era {
            newer(stage, message)
        } else {
            older(stage, message)
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

async fn number(client: &Client, fresh: Fresh) -> String {
    let list = soon(client.tools(fresh)).await.unwrap();
    list.get("t").unwrap().description().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn tools_are_kept_until_the_server_says_that_they_changed() {
    let puppet = counting(false, &|| json!({}));
    let client = puppet.client();
    assert_eq!(number(&client, Fresh::Cached).await, "0");
    tokio::time::advance(Duration::from_hours(1)).await;
    assert_eq!(number(&client, Fresh::Cached).await, "0");
    assert_eq!(number(&client, Fresh::Anew).await, "1");
    assert_eq!(number(&client, Fresh::Cached).await, "1");
    puppet
        .stage()
        .tell("notifications/tools/list_changed", &Value::Null);
    assert_eq!(number(&client, Fresh::Cached).await, "2");
    tokio::time::advance(Duration::from_mins(1)).await;
    puppet.stage().end("a restart");
    assert_eq!(number(&client, Fresh::Cached).await, "3");
    assert_eq!(puppet.heard("tools/list").len(), 4);
}

#[tokio::test(start_paused = true)]
async fn what_the_server_says_of_freshness_counts() {
    for (ttl, kept) in [(60_000, true), (0, false)] {
        let puppet = if kept {
            counting(true, &|| json!({ "ttlMs": 60_000 }))
        } else {
            counting(true, &|| json!({ "ttlMs": 0 }))
        };
        let client = puppet.client();
        number(&client, Fresh::Cached).await;
        number(&client, Fresh::Cached).await;
        assert_eq!(puppet.heard("tools/list").len() == 1, kept, "{ttl}");
        tokio::time::advance(Duration::from_secs(61)).await;
        number(&client, Fresh::Cached).await;
        assert_eq!(puppet.heard("tools/list").len(), if kept { 2 } else { 3 });
    }
}

#[tokio::test]
async fn many_who_want_the_list_ask_once() {
    let puppet = counting(false, &|| json!({}));
    let client = &puppet.client();
    futures::future::join_all((0..20).map(|_| number(client, Fresh::Cached))).await;
    assert_eq!(puppet.heard("tools/list").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_list_that_does_not_come_waits_once() {
    let puppet = Puppet::new(|stage, message| {
        older(stage, message);
    });
    let client = &puppet.client();
    let begun = tokio::time::Instant::now();
    let each = (0..20).map(|_| async { client.tools(Fresh::Cached).await.unwrap_err() });
    let errors = futures::future::join_all(each).await;
    assert!(errors.iter().all(|error| error.code() == "Timeout"));
    assert_eq!(puppet.heard("tools/list").len(), 1);
    assert!(begun.elapsed() < Duration::from_mins(2));
    // Later it is asked again.
    client.tools(Fresh::Cached).await.unwrap_err();
    assert_eq!(puppet.heard("tools/list").len(), 2);
}

struct Hears(AtomicUsize);

impl Handler for Hears {
    fn changed(&self, _: &str, what: Changed) {
        if what == Changed::Tools {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Whether a change after some calls is heard within that time. It may come before the stream is
/// open on which it would be told.
async fn hears_change(config: ServerConfig, within: Duration) -> bool {
    let hears = Arc::new(Hears(AtomicUsize::new(0)));
    let client = Client::new(config, hears.clone()).unwrap();
    said(&client, "echo", json!({ "text": "x" })).await;
    let before = soon(client.tools(Fresh::Cached)).await.unwrap();
    for _ in 0..20 {
        said(&client, "echo", json!({ "text": "x" })).await;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let heard = async {
        while hears.0.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let after = soon(client.tools(Fresh::Cached)).await.unwrap();
        assert_ne!(before, after);
    };
    tokio::time::timeout(within, heard).await.is_ok()
}

#[tokio::test]
async fn a_real_change_is_heard_in_both_eras_and_on_every_transport() {
    for era in ["handshake", "stateless"] {
        let arguments = ["--era", era, "--fault", "change-after:20"];
        let program = stdio("stdio", &arguments);
        assert!(hears_change(program, PATIENCE).await, "{era}");
        let socket = Served::ws(&arguments);
        let socket = socket.socket_config("ws");
        assert!(hears_change(socket, PATIENCE).await, "{era}");
        let mut heard = false;
        for _ in 0..5 {
            let web = Served::http(&arguments);
            heard = heard || hears_change(web.config("http"), Duration::from_secs(5)).await;
        }
        assert!(heard, "{era}");
    }
}

#[tokio::test]
async fn what_changed_before_somebody_listened_is_not_missed() {
    let puppet = counting(true, &|| json!({}));
    let client = puppet.client();
    assert_eq!(number(&client, Fresh::Cached).await, "0");
    let params = json!({ "notifications": { "toolsListChanged": true } });
    let stage = puppet.stage();
    stage.tell("notifications/subscriptions/acknowledged", &params);
    assert_eq!(number(&client, Fresh::Cached).await, "1");
    assert_eq!(number(&client, Fresh::Cached).await, "1");
}

#[tokio::test]
async fn lists_are_read_to_the_end() {
    for era in ["handshake", "stateless"] {
        let client = client(stdio("pages", &["--era", era, "--pages"]));
        let tools = soon(client.tools(Fresh::Cached)).await.unwrap();
        assert_eq!((tools.tools.len(), tools.warnings.len()), (15, 0));
        let echo = tools.get("echo").unwrap();
        assert_eq!(echo.raw["x-vendor"]["nested"], json!([1, null, "two"]));
        let fields: Vec<_> = echo.input_schema()["properties"]
            .as_object()
            .unwrap()
            .keys()
            .collect();
        assert_eq!(fields, ["zeta", "text", "alpha"]);
        assert_eq!(soon(client.resources()).await.unwrap().len(), 3);
        assert_eq!(soon(client.resource_templates()).await.unwrap().len(), 1);
        assert!(!soon(client.prompts()).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn lists_that_never_end_are_cut() {
    let mut config = stdio("endless", &["--fault", "endless-pages"]);
    config.limits.items = 40;
    let client = client(config);
    let tools = soon(client.tools(Fresh::Cached)).await.unwrap();
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
            .any(|what| what.contains("two tools named"))
    );
    assert_eq!(soon(client.resources()).await.unwrap().len(), 40);
}

#[tokio::test]
async fn pages_that_go_round_or_hold_nothing_are_left() {
    for (next, warning, pages) in [
        ("same", "go round in a circle", 2),
        ("new", "more than 200 pages", 200),
    ] {
        let asked = AtomicUsize::new(0);
        let puppet = Puppet::new(move |stage, message| {
            if older(stage, message) {
                return;
            }
            let number = asked.fetch_add(1, Ordering::SeqCst);
            let cursor = match next {
                "same" => "again".to_owned(),
                _ => number.to_string(),
            };
            stage.answer(message, &json!({ "tools": [], "nextCursor": cursor }));
        });
        let list = soon(puppet.client().tools(Fresh::Cached)).await.unwrap();
        assert!(list.warnings[0].contains(warning), "{:?}", list.warnings);
        assert_eq!(puppet.heard("tools/list").len(), pages);
    }
}

#[tokio::test]
async fn tools_that_cannot_be_used_are_left_out_with_the_reason() {
    let client = client(stdio("twice", &["--fault", "dup-tools"]));
    let tools = soon(client.tools(Fresh::Cached)).await.unwrap();
    assert_eq!((tools.tools.len(), tools.warnings.len()), (15, 1));
    let puppet = Puppet::new(|stage, message| {
        if !newer(stage, message) {
            let header = json!({ "type": "object", "properties": { "a": { "x-mcp-header": "a b", "type": "string" } } });
            stage.answer(
                message,
                &json!({ "tools": [1, { "name": "" }, { "name": "h", "inputSchema": header }, { "name": "ok" }] }),
            );
        }
    });
    let list = soon(puppet.client().tools(Fresh::Cached)).await.unwrap();
    assert_eq!((list.tools.len(), list.warnings.len()), (1, 3));
    let puppet = Puppet::new(|stage, message| {
        if !older(stage, message) {
            stage.answer(message, &json!({ "tools": "none" }));
        }
    });
    let error = soon(puppet.client().tools(Fresh::Cached))
        .await
        .unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Malformed { .. }));
}

#[tokio::test]
async fn resources_prompts_and_completion() {
    for era in ["handshake", "stateless"] {
        let client = client(stdio("rest", &["--era", era]));
        let read = soon(client.read_resource("text://greeting")).await.unwrap();
        assert_eq!(read["contents"][0]["text"], "Good day.");
        let error = soon(client.read_resource("text://none")).await.unwrap_err();
        assert_eq!(error.to_json()["about"], "text://none");
        let prompts = soon(client.prompts()).await.unwrap();
        let name = prompts[0]["name"].as_str().unwrap();
        let prompt = soon(client.prompt(name, json!({ "name": "Ada" })))
            .await
            .unwrap();
        assert!(prompt["messages"].is_array());
        let reference = json!({ "type": "ref/prompt", "name": name });
        let completed = soon(client.complete(reference, "name", "a", None))
            .await
            .unwrap();
        assert_eq!(completed["completion"]["values"], json!(["Ada", "Alan"]));
        let older = era == "handshake";
        assert_eq!(soon(client.subscribe("note://first")).await.is_ok(), older);
        assert_eq!(soon(client.set_log_level("debug")).await.is_ok(), older);
        soon(client.roots_changed()).await.unwrap();
    }
}

#[tokio::test]
async fn what_a_server_does_not_have_is_not_asked_for() {
    let puppet = Puppet::new(|stage, message| {
        older(stage, message);
    });
    let client = puppet.client();
    let error = soon(client.prompts()).await.unwrap_err();
    assert_eq!(
        error.kind,
        ErrorKind::Unsupported {
            capability: "prompts"
        }
    );
    assert!(puppet.heard("prompts/list").is_empty());
    until(|| !puppet.heard("notifications/initialized").is_empty()).await;
}

#[tokio::test]
async fn metadata_goes_along_but_does_not_replace_the_protocols() {
    let puppet = Puppet::new(|stage, message| {
        if !newer(stage, message) {
            stage.say(message, "ok");
        }
    });
    let client = puppet.client();
    call(&client, "any", json!({})).await.unwrap();
    let meta = json!({ "example.com/trace": 1, "progressToken": "mine",
        "io.modelcontextprotocol/protocolVersion": "1999" });
    let options = deliberate_adapter::CallOptions {
        meta: meta.as_object().unwrap().clone(),
        ..Default::default()
    };
    soon(client.call("any", json!({}), options)).await.unwrap();
    let sent = &puppet.heard("tools/call")[1];
    let meta = &sent["params"]["_meta"];
    assert_eq!(meta["example.com/trace"], 1);
    assert_eq!(meta["progressToken"], sent["id"]);
    assert_eq!(
        meta["io.modelcontextprotocol/protocolVersion"],
        "2026-07-28"
    );
}
