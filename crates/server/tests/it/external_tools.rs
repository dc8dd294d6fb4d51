//! External tools next to own tools, over a pipe: forwarded unchanged in both eras.

use std::time::Duration;

use deliberate_server::{McpHandler, McpOptions};
use serde_json::{Value, json};

use super::{
    external_tools_fixtures::{
        ECHO, INPUT_REQUIRED_RESULT, expected_result, register_with_external, server_with_external,
    },
    test_server::{ERAS, TestClient, TestEra, TestServer},
};

fn call_params(name: &str, arguments: &Value) -> Value {
    json!({ "name": name, "arguments": arguments })
}

fn result_text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[tokio::test]
async fn guests_are_listed_after_our_tools_as_they_describe_themselves() {
    let (house, without) = (server_with_external(), TestServer::new());
    for era in ERAS {
        let mut client = house.client(era).await;
        let mut listed = client.request_ok("tools/list", json!({})).await;
        let mut plain = without
            .client(era)
            .await
            .request_ok("tools/list", json!({}))
            .await;
        let Value::Array(tools) = listed["tools"].take() else {
            panic!("{listed}");
        };
        let echo = tools.iter().find(|tool| tool["name"] == "far__echo");
        assert_eq!(echo.unwrap().to_string(), ECHO);
        let own = tools.iter().filter(|tool| {
            let name = tool["name"].as_str().unwrap();
            !name.starts_with("far__") && name != "gateway_call"
        });
        let own: Vec<Value> = own.cloned().collect();
        assert_eq!(Value::Array(own), plain["tools"].take());
        assert_eq!(tools.last().unwrap()["name"], "far__big");
        // Everything else is the same as without external tools.
        assert_eq!(listed.to_string(), plain.to_string(), "{era:?}");
        assert_eq!(listed.get("resultType").is_some(), era == TestEra::Modern);
    }
}

#[tokio::test]
async fn what_a_guest_answers_is_told_as_it_is() {
    let house = server_with_external();
    for era in ERAS {
        let mut client = house.client(era).await;
        let params = call_params("far__echo", &json!({ "zz": "a" }));
        let result = client.request_ok("tools/call", params).await;
        assert_eq!(
            result.to_string(),
            expected_result(era == TestEra::Modern),
            "{era:?}"
        );
        // The call also works through the underlying tool.
        let params = call_params("gateway_call", &json!({ "tool": "far__echo" }));
        let result = client.request_ok("tools/call", params).await;
        assert_eq!(
            result.to_string(),
            expected_result(era == TestEra::Modern),
            "{era:?}"
        );
    }
}

#[tokio::test]
async fn a_guest_that_is_not_there_is_told_with_the_nearest() {
    let house = server_with_external();
    let mut client = house.client(TestEra::Legacy).await;
    let (code, message) = client
        .request_err("tools/call", call_params("far__ecko", &json!({})))
        .await;
    assert_eq!(code, -32_602);
    assert!(message.contains("far__echo"), "{message}");
}

#[tokio::test]
async fn a_guest_asks_a_client_of_the_later_era_by_its_answer() {
    let house = server_with_external();
    let offers = json!({ "elicitation": {} });
    let mut client =
        TestClient::connect_with_capabilities(house.handler.clone(), TestEra::Modern, offers).await;
    let result = client
        .request_ok("tools/call", call_params("far__ask", &json!({})))
        .await;
    assert_eq!(result.to_string(), INPUT_REQUIRED_RESULT);
    let mut again = call_params("far__ask", &json!({}));
    again["requestState"] = result["requestState"].clone();
    again["inputResponses"] =
        json!({ "who": { "action": "accept", "content": { "b": 1, "a": 2 } } });
    let result = client.request_ok("tools/call", again.clone()).await;
    assert_eq!(
        result_text(&result),
        r#"{"who":{"action":"accept","content":{"b":1,"a":2}}}"#
    );
    // A state of another call is looked up among our own calls.
    again["requestState"] = json!("another");
    let (code, message) = client.request_err("tools/call", again).await;
    assert_eq!(code, -32_602);
    assert!(message.contains("requestState"), "{message}");
}

#[tokio::test]
async fn a_guest_asks_a_client_of_the_handshake_revisions_during_the_call() {
    let house = server_with_external();
    let offers = json!({ "elicitation": {} });
    let mut client =
        TestClient::connect_with_capabilities(house.handler.clone(), TestEra::Legacy, offers).await;
    let id = client
        .send_request("tools/call", call_params("far__ask", &json!({})))
        .await;
    let asked = client.next_notification("elicitation/create").await;
    assert_eq!(asked["params"]["message"], "Who?");
    assert_eq!(asked["params"]["vendor"], 1);
    let reply = json!({ "action": "accept", "content": { "b": 1, "a": 2 } });
    client
        .send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": reply }))
        .await;
    let told = client.read_response(id).await;
    assert_eq!(result_text(&told["result"]), reply.to_string());

    let id = client
        .send_request("tools/call", call_params("far__ask", &json!({})))
        .await;
    let asked = client.next_notification("elicitation/create").await;
    let error = json!({ "code": -32_042, "message": "not now" });
    client
        .send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error }))
        .await;
    let told = client.read_response(id).await;
    assert_eq!(
        result_text(&told["result"]),
        "the client rejected the request: not now"
    );
}

#[tokio::test]
async fn a_client_that_takes_its_call_back_is_told_that_nobody_waits_for_its_answer() {
    let house = server_with_external();
    let offers = json!({ "elicitation": {} });
    let mut client =
        TestClient::connect_with_capabilities(house.handler.clone(), TestEra::Legacy, offers).await;
    let id = client
        .send_request("tools/call", call_params("far__ask", &json!({})))
        .await;
    let asked = client.next_notification("elicitation/create").await;
    let cancel = json!({ "requestId": id });
    client
        .send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel }))
        .await;
    let told = client.next_notification("notifications/cancelled").await;
    assert_eq!(told["params"]["requestId"], asked["id"]);
}

#[tokio::test]
async fn a_client_that_offers_nothing_is_not_asked() {
    let house = server_with_external();
    let mut client = house.client(TestEra::Legacy).await;
    let result = client
        .request_ok("tools/call", call_params("far__ask", &json!({})))
        .await;
    assert_eq!(result_text(&result), "nobody can be asked");
}

#[tokio::test]
async fn a_guest_that_takes_long_is_told_as_an_error_for_it_has_a_schema_of_its_own() {
    let house = TestServer::with_registry(
        deliberate_server::SubscriptionLimits::default(),
        register_with_external,
    );
    let options = McpOptions {
        background_after: Duration::from_millis(20),
        ..McpOptions::default()
    };
    let face = McpHandler::new(house.registry.clone(), options);
    for era in ERAS {
        let mut client = TestClient::connect(face.clone(), era).await;
        let result = client
            .request_ok("tools/call", call_params("far__never", &json!({})))
            .await;
        assert_eq!(result["isError"], true);
        let id = result["structuredContent"]["still_running"]["id"].as_str();
        assert!(result_text(&result).contains(id.unwrap()), "{result}");
        assert!(
            result_text(&result).contains("reasoning_resume"),
            "{result}"
        );
        let arguments = json!({ "tool": "far__never" });
        let result = client
            .request_ok("tools/call", call_params("gateway_call", &arguments))
            .await;
        assert_ne!(result["isError"], true, "{result}");
        assert!(result["structuredContent"]["still_running"].is_object());
    }
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_told_as_such() {
    let house = server_with_external();
    let mut client = house.client(TestEra::Modern).await;
    let result = client
        .request_ok("tools/call", call_params("far__big", &json!({})))
        .await;
    assert_eq!(result["isError"], true);
    assert!(result_text(&result).contains("AnswerTooLong"), "{result}");
}
