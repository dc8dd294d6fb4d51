//! Tests that the calls of one user leave room at a server for those of others.

use std::{sync::Arc, time::Duration};

use deliberate_mcp_client::transport::McpEra;
use serde_json::json;

use super::{
    mock_upstream::MockUpstream,
    support::{GatewayFixture, named_user, open_store, server, temp_dir, text, tool, wait_until},
};

#[tokio::test]
async fn one_users_calls_that_hang_leave_room_for_those_of_others() {
    let folder = temp_dir();
    let up = MockUpstream::new(McpEra::Handshake, vec![tool("never", ""), tool("echo", "")]);
    let up = Arc::new(up);
    let mut small = server("far");
    small.config.limits.max_concurrent = 2;
    let servers = vec![(small, up.clone())];
    let fixture = Arc::new(GatewayFixture::new(open_store(folder.path()), servers));
    // More than may run and wait.
    let hanging: Vec<_> = (0..10)
        .map(|at| {
            let fixture = fixture.clone();
            let (name, arguments) = match at % 2 {
                0 => ("far__never", json!({})),
                _ => ("far__resources/read", json!({ "uri": "note://never" })),
            };
            tokio::spawn(async move { fixture.call_as(named_user("ann"), name, arguments).await })
        })
        .collect();
    // Those beyond her share are refused.
    wait_until(|| hanging.iter().filter(|it| it.is_finished()).count() >= 4).await;
    let call = fixture.call_as(named_user("ben"), "far__echo", json!({ "x": 1 }));
    let result = tokio::time::timeout(Duration::from_secs(10), call).await;
    let result = result.unwrap().unwrap();
    assert_eq!(text(&result["handed_on"]), json!({ "x": 1 }));
    for call in hanging {
        call.abort();
    }
}
