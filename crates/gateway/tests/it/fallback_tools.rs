//! Tests of the tools of a server that never listed any, which are those of its fallback.

use std::sync::Arc;

use deliberate_gateway::Exposure;
use deliberate_mcp_client::transport::McpEra;
use serde_json::json;

use super::{
    mock_upstream::MockUpstream,
    support::{GatewayFixture, open_store, server, temp_dir, text, tool, tool_names, wait_until},
};

#[tokio::test]
async fn tools_of_a_server_that_was_never_there_are_found_by_its_name() {
    let folder = temp_dir();
    let mut dead = server("first");
    dead.fallback = Some("second".to_owned());
    dead.expose = Exposure::All;
    dead.except = vec!["erase".to_owned()];
    let tools = [tool("echo", "Echoes words"), tool("erase", "Erases words")];
    let servers = vec![
        (dead, Arc::new(MockUpstream::new_unreachable())),
        (
            server("second"),
            Arc::new(MockUpstream::new(McpEra::Handshake, tools.to_vec())),
        ),
    ];
    let fixture = GatewayFixture::new(open_store(folder.path()), servers);
    let external = fixture.registry.external_tools().unwrap().clone();
    let found = external.find("first__*").await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(&*found[0].name, "first__echo");
    assert_eq!(found[0].definition["name"], "first__echo");
    let query = json!({ "query": "echo words", "server": "first" });
    let found = fixture.call("gateway_search", query).await.unwrap();
    assert_eq!(tool_names(&found), ["first__echo"]);
    // A search of both servers finds each tool once.
    let found = fixture.search("echo words").await;
    assert_eq!(tool_names(&found), ["second__echo", "second__erase"]);
    fixture.gateway.start();
    wait_until(|| external.list().iter().any(|it| &*it.name == "first__echo")).await;
    assert_eq!(external.list().len(), 1);
    let result = fixture
        .call("first__echo", json!({ "x": 1 }))
        .await
        .unwrap();
    assert_eq!(text(&result["handed_on"]), json!({ "x": 1 }));
    // What the first server excludes is not reached through the second.
    let error = fixture.call_upstream("first__erase", json!({})).await;
    assert!(error.unwrap_err().to_string().contains("\"first\""));
    fixture.gateway.stop().await;
}
