//! Measures the search over the tools of 14 servers. The queries are 40 in which a person names the
//! thing ("Refund the last payment of this customer"), 40 in which a person describes the situation
//! ("give the customer their money back"), and 20 of key words. They were written before the search
//! was changed for them. Among the first five are then, by words alone and with vectors:
//! direct 33 and 38, indirect 10 and 19, key words 20 and 20.

use std::sync::Arc;

use deliberate_mcp_client::transport::McpEra;
use serde_json::{Map, Value, json};

use super::{
    mock_upstream::MockUpstream,
    support::{GatewayFixture, open_store, server, temp_dir, tool_names},
};

fn definition(tool: &Value) -> Value {
    let names = tool[2].as_array().unwrap().iter();
    let properties: Map<String, Value> = names
        .map(|name| {
            let name = name.as_str().unwrap().to_owned();
            (name, json!({ "type": "string" }))
        })
        .collect();
    json!({ "name": tool[0], "description": tool[1],
            "inputSchema": { "type": "object", "properties": properties } })
}

/// Returns how many queries of a list find a wanted tool first, and among the first five.
async fn measure(list: &str) -> (usize, usize) {
    let set: Value = serde_json::from_str(include_str!("fixtures/tool_search.json")).unwrap();
    let servers = set["servers"].as_object().unwrap().iter();
    let servers = servers.map(|(name, tools)| {
        let tools = tools.as_array().unwrap().iter().map(definition).collect();
        let up = MockUpstream::new(McpEra::Handshake, tools);
        (server(name), Arc::new(up))
    });
    let folder = temp_dir();
    let fixture = GatewayFixture::new(open_store(folder.path()), servers.collect());
    let (mut first, mut among_five) = (0, 0);
    for query in set[list].as_array().unwrap() {
        let found = fixture.search(query[0].as_str().unwrap()).await;
        let names = tool_names(&found);
        let wanted = query[1].as_array().unwrap();
        let rank = names
            .iter()
            .position(|name| wanted.iter().any(|it| it == name.as_str()));
        first += usize::from(rank == Some(0));
        among_five += usize::from(rank.is_some());
    }
    (first, among_five)
}

#[tokio::test]
async fn a_person_who_names_the_thing_finds_the_tool_among_the_first_five() {
    let (first, among_five) = measure("direct").await;
    assert!(first >= 27 && among_five >= 37, "{first} {among_five}");
}

#[tokio::test]
async fn a_person_who_describes_the_situation_finds_half_of_the_tools() {
    let (first, among_five) = measure("indirect").await;
    assert!(first >= 7 && among_five >= 19, "{first} {among_five}");
}

#[tokio::test]
async fn key_words_find_the_tool_as_with_words_alone() {
    assert_eq!(measure("keywords").await, (20, 20));
}
