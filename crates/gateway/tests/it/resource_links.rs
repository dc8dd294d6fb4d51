//! Tests of resource links: who can read them, where they come from, and the mark of what is read.

use std::sync::Arc;

use deliberate_gateway::GatewayServer;
use deliberate_mcp_client::transport::McpEra;
use deliberate_toolkit::{
    CallerContext, Principal, ResourceBody, ResourceContext, ResourceData, ToolError, ToolScope,
};
use serde_json::{Value, json};

use super::{
    mock_upstream::MockUpstream,
    support::{GatewayFixture, modern_caller, open_store, server, temp_dir, tool},
};

fn fixture(folder: &tempfile::TempDir, settings: GatewayServer) -> GatewayFixture {
    let tools = vec![tool("link", "Links"), tool("links", "Links often")];
    let up = MockUpstream::new(McpEra::Handshake, tools);
    GatewayFixture::new(open_store(folder.path()), vec![(settings, Arc::new(up))])
}

fn caller(name: &str, patterns: &[&str]) -> CallerContext {
    let patterns = patterns.iter().map(|it| (*it).to_owned()).collect();
    CallerContext {
        principal: Principal {
            name: Some(name.into()),
            scope: ToolScope::Only(patterns),
        },
        ..CallerContext::default()
    }
}

/// Reads a resource from the families that the caller sees, like the server does.
async fn read(
    fixture: &GatewayFixture,
    caller: &CallerContext,
    uri: &str,
) -> Option<Result<ResourceData, ToolError>> {
    let context = ResourceContext {
        registry: &fixture.registry,
        caller,
    };
    let families = fixture.registry.resources();
    let mut families = families.filter(|it| it.matches(uri) && it.is_visible_to(&caller.principal));
    let read = families.next()?.read(uri, context).await?;
    Some(read.map(|mut contents| contents.pop().unwrap()))
}

fn text(data: &ResourceData) -> &str {
    match &data.body {
        ResourceBody::Text(text) => text,
        ResourceBody::Bytes(_) => panic!("{data:?}"),
    }
}

#[tokio::test]
async fn the_link_in_a_result_can_be_read_by_its_caller_alone() {
    let folder = temp_dir();
    let fixture = fixture(&folder, server("far"));
    let (ann, ben) = (caller("ann", &["far__*"]), caller("ben", &["far__*"]));
    assert_eq!(read(&fixture, &ann, "note://7").await, None);
    let call = fixture.call_as(ann.clone(), "far__link", json!({}));
    call.await.unwrap();
    let data = read(&fixture, &ann, "note://7").await.unwrap().unwrap();
    assert_eq!(text(&data), "text of \"note://7\"");
    assert_eq!(read(&fixture, &ben, "note://7").await, None);
}

#[tokio::test]
async fn reading_a_link_needs_the_scopes_of_a_call() {
    let folder = temp_dir();
    let fixture = fixture(&folder, server("far"));
    let all = caller("ann", &["*"]);
    fixture.call_as(all, "far__link", json!({})).await.unwrap();
    for (pattern, code) in [
        ("far__*", Some("ok")),
        ("gateway_call/far", Some("ok")),
        ("gateway_call", Some("ok")),
        ("far__link", Some("Forbidden")),
        ("gateway_search", None),
        ("near__*", None),
    ] {
        let outcome = read(&fixture, &caller("ann", &[pattern]), "note://7").await;
        let outcome = outcome
            .map(|read| read.map_or_else(|error| error.code().to_owned(), |_| "ok".to_owned()));
        assert_eq!(outcome.as_deref(), code, "{pattern}");
    }
}

#[tokio::test]
async fn a_result_full_of_links_costs_no_other_caller_theirs() {
    let folder = temp_dir();
    let fixture = fixture(&folder, server("far"));
    let (ann, ben) = (caller("ann", &["far__*"]), caller("ben", &["far__*"]));
    let call = fixture.call_as(ann.clone(), "far__link", json!({}));
    call.await.unwrap();
    let many = json!({ "first": 0, "count": 5_000 });
    let call = fixture.call_as(ben.clone(), "far__links", many);
    call.await.unwrap();
    assert!(read(&fixture, &ann, "note://7").await.is_some());
    // Of one result the first links are remembered.
    assert!(read(&fixture, &ben, "note://many/99").await.is_some());
    assert_eq!(read(&fixture, &ben, "note://many/100").await, None);
}

#[tokio::test]
async fn a_caller_keeps_the_newest_links() {
    let folder = temp_dir();
    let fixture = fixture(&folder, server("far"));
    let ann = caller("ann", &["far__*"]);
    // A link that comes again counts as new.
    for first in [0, 100, 200, 150, 300] {
        let some = json!({ "first": first, "count": 100 });
        let call = fixture.call_as(ann.clone(), "far__links", some);
        call.await.unwrap();
    }
    let expected = [
        (0, false),
        (149, false),
        (150, true),
        (249, true),
        (250, false),
        (300, true),
    ];
    for (at, known) in expected {
        let found = read(&fixture, &ann, &format!("note://many/{at}")).await;
        assert_eq!(found.is_some(), known, "{at}");
    }
}

#[tokio::test]
async fn the_link_in_a_prompt_can_be_read() {
    let folder = temp_dir();
    let fixture = fixture(&folder, server("far"));
    let ann = caller("ann", &["far__*"]);
    let prompt = json!({ "name": "greet", "arguments": { "who": "Ann" } });
    let call = fixture.call_as(ann.clone(), "far__prompts/get", prompt);
    call.await.unwrap();
    let data = read(&fixture, &ann, "note://8").await.unwrap().unwrap();
    assert_eq!(text(&data), "text of \"note://8\"");
}

#[tokio::test]
async fn a_question_during_the_read_of_a_link_is_declined_where_it_cannot_be_asked() {
    let folder = temp_dir();
    let fixture = fixture(&folder, server("far"));
    let ann = modern_caller("ann");
    let link = json!({ "uri": "note://ask" });
    let call = fixture.call_as(ann.clone(), "far__link", link);
    call.await.unwrap();
    let data = read(&fixture, &ann, "note://ask").await.unwrap().unwrap();
    assert_eq!(text(&data), r#"{"action":"cancel"}"#);
}

#[tokio::test]
async fn what_is_read_from_a_link_is_marked_unless_its_server_is_trusted() {
    for (trust, expected) in [(false, Some(json!({ "server": "far" }))), (true, None)] {
        let folder = temp_dir();
        let mut settings = server("far");
        settings.trust = trust;
        let fixture = fixture(&folder, settings);
        let ann = caller("ann", &["far__*"]);
        let call = fixture.call_as(ann.clone(), "far__link", json!({}));
        call.await.unwrap();
        let data = read(&fixture, &ann, "note://7").await.unwrap().unwrap();
        let mark = data
            .meta
            .map(|meta| Value::Object(meta)["deliberate/untrusted"].clone());
        assert_eq!(mark, expected);
    }
}
