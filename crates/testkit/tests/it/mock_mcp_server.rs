//! The mock MCP server behaves as configured, with and without faults.

use deliberate_testkit::{StdioClient, bare_command, wait_until};
use serde_json::{Value, json};

fn start_server(arguments: &[&str]) -> StdioClient {
    let mut command = bare_command(env!("CARGO_BIN_EXE_mock_mcp_server"));
    command.args(arguments);
    StdioClient::spawn(&mut command).unwrap()
}

fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap()
}

/// Adds the metadata of the stateless revision to parameters.
fn with_stateless_meta(mut params: Value) -> Value {
    params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
    params
}

#[tokio::test]
async fn both_eras_are_served_side_by_side() {
    let mut client = start_server(&[]);
    let server = client.initialize().await.unwrap();
    assert!(!server.is_null());
    let echoed = client.call("echo", json!({ "text": "a\"b" })).await;
    assert_eq!(text(&echoed.unwrap()), "a\"b");
    let discovered = client
        .request("server/discover", with_stateless_meta(json!({})))
        .await;
    assert_eq!(
        discovered.unwrap()["result"]["supportedVersions"][0],
        "2026-07-28"
    );
    let params = json!({ "name": "echo", "arguments": { "text": "x" } });
    let echoed = client
        .request("tools/call", with_stateless_meta(params))
        .await
        .unwrap();
    assert_eq!(text(&echoed), "x");
    assert_eq!(echoed["result"]["resultType"], "complete");
    let ping = client
        .request("ping", with_stateless_meta(json!({})))
        .await
        .unwrap();
    assert_eq!(ping["error"]["code"], -32_601);
}

#[tokio::test]
async fn pages_lead_to_every_tool() {
    let mut client = start_server(&["--pages"]);
    client.initialize().await.unwrap();
    let (mut names, mut params) = (Vec::new(), json!({}));
    loop {
        let page = client.request("tools/list", params).await.unwrap();
        let tools = page["result"]["tools"].as_array().unwrap();
        names.extend(tools.iter().map(|tool| tool["name"].to_string()));
        match &page["result"]["nextCursor"] {
            Value::Null => break,
            cursor => params = json!({ "cursor": cursor }),
        }
    }
    assert_eq!(names.len(), 15);
    names.dedup();
    assert_eq!(names.len(), 15);
}

#[tokio::test]
async fn input_is_asked_for_as_each_era_does() {
    let mut client = start_server(&[]);
    client.initialize().await.unwrap();
    let call = json!({ "name": "ask", "arguments": { "message": "Well?" } });
    let id = client
        .send_request("tools/call", call.clone())
        .await
        .unwrap();
    let asked = client.next_message().await.unwrap().unwrap();
    assert_eq!(asked["method"], "elicitation/create");
    client
        .reply(&asked["id"], json!({ "action": "decline" }))
        .await
        .unwrap();
    let answered = client.response(id).await.unwrap();
    assert!(text(&answered).contains("decline"));

    let mut call = with_stateless_meta(call);
    let asked = client.request("tools/call", call.clone()).await.unwrap();
    assert_eq!(asked["result"]["resultType"], "input_required");
    call["inputResponses"] = json!({ "answer": { "action": "accept" } });
    let forgot = client.request("tools/call", call.clone()).await.unwrap();
    assert_eq!(forgot["error"]["code"], -32_602);
    call["requestState"] = asked["result"]["requestState"].clone();
    let answered = client.request("tools/call", call).await.unwrap();
    assert!(text(&answered).contains("accept"));
}

#[tokio::test]
async fn a_count_outlives_the_process() {
    let file = std::env::temp_dir().join(format!("upstream-count-{}", std::process::id()));
    for wanted in ["1", "2"] {
        let mut client = start_server(&["--state", &file.to_string_lossy()]);
        client.initialize().await.unwrap();
        let counted = client.call("count", json!({})).await.unwrap();
        assert_eq!(text(&counted), wanted);
    }
    std::fs::remove_file(file).unwrap();
}

#[tokio::test]
async fn faults_happen_when_they_are_wanted() {
    let mut client = start_server(&["--fault", "garbage", "--fault", "change-after:1"]);
    client.initialize().await.unwrap();
    let listed = client.request("tools/list", json!({})).await.unwrap();
    client.call("pid", json!({})).await.unwrap();
    assert!(!client.non_json_lines().is_empty());
    let kept = client.take_buffered();
    let told = "notifications/tools/list_changed";
    assert!(
        kept.iter().any(|message| message["method"] == told),
        "{kept:?}"
    );
    let again = client.request("tools/list", json!({})).await.unwrap();
    assert_ne!(listed["result"], again["result"]);

    let mut client = start_server(&["--fault", "die-after:2"]);
    client.initialize().await.unwrap();
    client.call("count", json!({})).await.unwrap();
    assert!(client.call("count", json!({})).await.is_err());
    assert_eq!(client.wait_exit().await.unwrap().code(), Some(3));

    let mut client = start_server(&["--fault", "no-such-fault"]);
    assert!(!client.wait_exit().await.unwrap().success());
    // Its output may be readable only a moment after it ended.
    wait_until(|| client.stderr().contains("no-such-fault")).await;
}
