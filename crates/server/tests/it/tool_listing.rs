//! Tests of the short schemas in `tools/list`.

use serde_json::{Value, json};

use super::test_server::{TestEra, TestServer};

#[tokio::test]
async fn short_ranges_show_both_ends_and_long_ones_only_what_callers_reach() {
    let server = TestServer::new();
    let mut client = server.client(TestEra::Legacy).await;
    let listed = client.request_ok("tools/list", json!({})).await;
    let tools = listed["tools"].as_array().unwrap();
    let property = |tool: &str, name: &str| -> Value {
        let tool = tools.iter().find(|it| it["name"] == tool).unwrap();
        tool["inputSchema"]["properties"][name].clone()
    };
    let ends = |it: Value| (it["minimum"].clone(), it["maximum"].clone());
    assert_eq!(
        ends(property("reasoning_reflection", "max_iterations")),
        (json!(1), json!(5))
    );
    assert_eq!(
        ends(property("reasoning_got_generate", "k")),
        (json!(1), json!(10))
    );
    assert_eq!(ends(property("reasoning_search", "limit")).0, Value::Null);
}
