//! Tests of searching tools by words.

use std::sync::Arc;

use deliberate_mcp_client::transport::McpEra;
use serde_json::{Value, json};

use super::{
    mock_upstream::MockUpstream,
    support::{GatewayFixture, open_store, server, temp_dir, tool, tool_names},
};

fn fixture(name: &str) -> Vec<Value> {
    super::real_definitions::fixture(name)["tools"]
        .as_array()
        .unwrap()
        .clone()
}

fn real_servers(folder: &tempfile::TempDir) -> GatewayFixture {
    let servers = ["filesystem", "memory", "git", "time", "fetch"].map(|name| {
        let player = MockUpstream::new(McpEra::Handshake, fixture(name));
        (server(name), Arc::new(player))
    });
    GatewayFixture::new(open_store(folder.path()), servers.into())
}

#[tokio::test]
async fn the_tool_that_is_meant_comes_first() {
    let folder = temp_dir();
    let fixture = real_servers(&folder);
    for (query, name) in [
        ("read a text file", "filesystem__read_text_file"),
        ("what time is it now in Tokyo", "time__get_current_time"),
        ("convert time between timezones", "time__convert_time"),
        ("fetch a web page", "fetch__fetch"),
        ("commit changes", "git__git_commit"),
        ("git diff of staged changes", "git__git_diff_staged"),
        ("add observations to an entity", "memory__add_observations"),
        ("rename or move a file", "filesystem__move_file"),
        ("list directory", "filesystem__list_directory"),
    ] {
        let found = fixture.search(query).await;
        assert_eq!(
            tool_names(&found)[0],
            name,
            "{query}: {:?}",
            tool_names(&found)
        );
    }
}

#[tokio::test]
async fn an_exact_name_comes_first() {
    let folder = temp_dir();
    let fixture = real_servers(&folder);
    for name in ["git_log", "git__git_log"] {
        assert_eq!(tool_names(&fixture.search(name).await)[0], "git__git_log");
    }
}

#[tokio::test]
async fn answers_are_small() {
    let folder = temp_dir();
    let fixture = real_servers(&folder);
    let found = fixture.search("file").await;
    let tools = found["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 5);
    assert!(
        tools[..3]
            .iter()
            .all(|tool| tool["input_schema"]["type"] == "object")
    );
    assert!(
        tools[3..]
            .iter()
            .all(|tool| tool.get("input_schema").is_none())
    );
    assert!(tools[3..].iter().all(|tool| tool["parameters"].is_array()));
    assert!(
        tools
            .iter()
            .all(|tool| tool["description"].as_str().unwrap().chars().count() <= 300)
    );
    assert!(found.get("unavailable").is_none());

    let one = fixture
        .call(
            "gateway_search",
            json!({ "query": "file", "limit": 1, "server": "git" }),
        )
        .await;
    let one = one.unwrap();
    assert_eq!(tool_names(&one).len(), 1);
    assert!(tool_names(&one)[0].starts_with("git__"));
}

#[tokio::test]
async fn no_words_list_the_servers() {
    let folder = temp_dir();
    let fixture = real_servers(&folder);
    let listed = fixture.call("gateway_search", json!({})).await.unwrap();
    let servers = listed["servers"].as_array().unwrap();
    assert_eq!(servers.len(), 5);
    assert_eq!(servers[0], json!({ "server": "fetch", "tools": 1 }));
    assert!(listed.get("tools").is_none());
    let error = fixture
        .call("gateway_search", json!({ "query": "x", "server": "gti" }))
        .await
        .unwrap_err();
    let hint = error.hint().unwrap();
    assert!(hint.starts_with("Did you mean git? "), "{hint}");
    assert!(hint.contains("fetch, filesystem, git"), "{hint}");
}

#[tokio::test]
async fn what_the_settings_leave_out_is_not_there() {
    let folder = temp_dir();
    let player = MockUpstream::new(
        McpEra::Handshake,
        vec![
            tool("read", "Files"),
            tool("read_all", "Files"),
            tool("write", "Files"),
        ],
    );
    let mut server = server("far");
    server.only = vec!["read*".to_owned()];
    server.except = vec!["read_*".to_owned()];
    let fixture = GatewayFixture::new(open_store(folder.path()), vec![(server, Arc::new(player))]);
    assert_eq!(tool_names(&fixture.search("files").await), ["far__read"]);
    assert_eq!(
        fixture
            .call_upstream("far__write", json!({}))
            .await
            .unwrap_err()
            .code(),
        "UnknownTool"
    );
    assert_eq!(fixture.gateway.inspect("far").await.unwrap().left_out, 2);
}
