//! Notifications of changes in both eras.

use deliberate_reasoning::register;
use deliberate_server::SubscriptionLimits;
use serde_json::{Value, json};

use super::test_server::{TestClient, TestEra, TestServer};

const UPDATED: &str = "notifications/resources/updated";
const LIST_CHANGED: &str = "notifications/resources/list_changed";

async fn start_session(client: &mut TestClient) -> String {
    let step = client
        .call_tool("reasoning_linear", json!({ "content": "x" }))
        .await;
    step["session_id"].as_str().unwrap().to_owned()
}

async fn continue_session(client: &mut TestClient, session: &str) {
    let arguments = json!({ "content": "x", "session_id": session });
    client.call_tool("reasoning_linear", arguments).await;
}

fn with_method(told: &[Value], method: &str) -> Vec<Value> {
    let of_method = told.iter().filter(|it| it["method"] == method);
    of_method.cloned().collect()
}

#[tokio::test]
async fn who_subscribes_is_told_and_who_does_not_is_not() {
    let house = TestServer::new();
    let mut subscriber = house.client(TestEra::Legacy).await;
    let mut other = house.client(TestEra::Legacy).await;
    let session = start_session(&mut other).await;
    let uri = format!("deliberate://sessions/{session}/markdown");
    subscriber
        .request_ok("resources/subscribe", json!({ "uri": uri }))
        .await;

    continue_session(&mut other, &session).await;
    let told = subscriber.next_notification(UPDATED).await;
    assert_eq!(told["params"]["uri"], uri);
    assert!(told["params"]["_meta"].is_null(), "{told}");
    assert_eq!(
        with_method(&other.drain_notifications().await, UPDATED),
        [] as [Value; 0]
    );

    // Another session causes no notification.
    start_session(&mut other).await;
    assert_eq!(
        with_method(&subscriber.drain_notifications().await, UPDATED),
        [] as [Value; 0]
    );

    subscriber
        .request_ok("resources/unsubscribe", json!({ "uri": uri }))
        .await;
    continue_session(&mut other, &session).await;
    assert_eq!(
        with_method(&subscriber.drain_notifications().await, UPDATED),
        [] as [Value; 0]
    );
}

#[tokio::test]
async fn lists_that_change_are_told_to_everyone_who_is_ready() {
    let house = TestServer::new();
    let mut client = house.client(TestEra::Legacy).await;
    start_session(&mut client).await;
    // A list that was never requested causes no notification.
    assert_eq!(client.drain_notifications().await, [] as [Value; 0]);
    client.request_ok("resources/list", json!({})).await;
    start_session(&mut client).await;
    client.next_notification(LIST_CHANGED).await;
    house.subscriptions.tools_changed();
    client
        .next_notification("notifications/tools/list_changed")
        .await;
    house.subscriptions.prompts_changed();
    client
        .next_notification("notifications/prompts/list_changed")
        .await;
}

#[tokio::test]
async fn a_listener_hears_what_it_asked_for_until_it_cancels() {
    let house = TestServer::new();
    let mut other = house.client(TestEra::Modern).await;
    let session = start_session(&mut other).await;
    let uri = format!("deliberate://sessions/{session}");
    let mut listener = house.client(TestEra::Modern).await;
    let wanted = json!({ "notifications": {
        "resourcesListChanged": true,
        "resourceSubscriptions": [uri, "nonsense:x"],
    } });
    let id = listener.send_request("subscriptions/listen", wanted).await;
    let accepted = listener
        .next_notification("notifications/subscriptions/acknowledged")
        .await;
    assert_eq!(
        accepted["params"]["notifications"],
        json!({ "resourcesListChanged": true, "resourceSubscriptions": [uri] })
    );

    continue_session(&mut other, &session).await;
    let told = listener.next_notification(UPDATED).await;
    assert_eq!(told["params"]["uri"], uri);
    let subscription = "io.modelcontextprotocol/subscriptionId";
    assert_eq!(told["params"]["_meta"][subscription], id);
    start_session(&mut other).await;
    listener.next_notification(LIST_CHANGED).await;
    house.subscriptions.tools_changed();
    let told = listener.drain_notifications().await;
    assert_eq!(
        with_method(&told, "notifications/tools/list_changed"),
        [] as [Value; 0]
    );

    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                         "params": { "requestId": id } });
    listener.send(&cancel).await;
    listener.drain_notifications().await;
    continue_session(&mut other, &session).await;
    assert_eq!(listener.drain_notifications().await, [] as [Value; 0]);
    assert_eq!(house.subscriptions.subscriber_count(), 0);
}

#[tokio::test]
async fn a_burst_of_changes_is_told_in_a_few_words_and_the_last_one_is_told() {
    let house = TestServer::new();
    let mut client = house.client(TestEra::Legacy).await;
    let mut other = house.client(TestEra::Legacy).await;
    let session = start_session(&mut other).await;
    let uri = format!("deliberate://sessions/{session}");
    client.drain_notifications().await;
    client
        .request_ok("resources/subscribe", json!({ "uri": uri }))
        .await;
    for _ in 0..1_000 {
        house.subscriptions.resource_updated(&uri);
    }
    let told = with_method(&client.drain_notifications().await, UPDATED);
    assert!((1..20).contains(&told.len()), "{} times", told.len());
    house.subscriptions.resource_updated(&uri);
    client.next_notification(UPDATED).await;
}

#[tokio::test]
async fn whoever_leaves_is_forgotten_and_nobody_who_listens_holds_up_the_end() {
    let house = TestServer::new();
    for _ in 0..20 {
        let mut old = house.client(TestEra::Legacy).await;
        let uri = json!({ "uri": "deliberate://sessions" });
        old.request_ok("resources/subscribe", uri).await;
        let mut new = house.client(TestEra::Modern).await;
        let wanted = json!({ "notifications": { "resourcesListChanged": true } });
        let id = new.send_request("subscriptions/listen", wanted).await;
        new.next_notification("notifications/subscriptions/acknowledged")
            .await;
        assert_eq!(house.subscriptions.subscriber_count(), 2);
        old.disconnect().await;
        // It would wait for a minute if the listening request counted as work.
        let last = new.disconnect().await;
        let ended = last
            .iter()
            .any(|it| it["id"] == id && it["result"].is_object());
        assert!(ended, "{last:?}");
        assert_eq!(house.subscriptions.subscriber_count(), 0);
    }
}

#[tokio::test]
async fn a_server_that_stops_ends_what_listens_in_good_order() {
    let house = TestServer::new();
    let mut client = house.client(TestEra::Modern).await;
    let wanted = json!({ "notifications": { "toolsListChanged": true } });
    let id = client.send_request("subscriptions/listen", wanted).await;
    client
        .next_notification("notifications/subscriptions/acknowledged")
        .await;
    house.subscriptions.close();
    assert!(client.read_response(id).await["result"].is_object());
}

#[tokio::test]
async fn there_is_an_end_to_what_one_may_subscribe_to() {
    let limits = SubscriptionLimits {
        subscribers: 1,
        uris: 2,
    };
    let house = TestServer::with_registry(limits, register);
    let mut first = house.client(TestEra::Legacy).await;
    let uri = |id: &str| json!({ "uri": format!("deliberate://sessions/{id}") });
    for id in ["a", "b", "a"] {
        first.request_ok("resources/subscribe", uri(id)).await;
    }
    assert_eq!(
        first.request_err("resources/subscribe", uri("c")).await.0,
        -32_000
    );
    first.request_ok("resources/unsubscribe", uri("a")).await;
    first.request_ok("resources/subscribe", uri("c")).await;
    let mut second = house.client(TestEra::Legacy).await;
    assert_eq!(
        second.request_err("resources/subscribe", uri("a")).await.0,
        -32_000
    );
    assert_eq!(
        first
            .request_err("resources/subscribe", json!({ "uri": "x:y" }))
            .await
            .0,
        -32_002
    );
}

#[tokio::test]
async fn whatever_changes_a_session_is_told() {
    let house = TestServer::new();
    let mut client = house.client(TestEra::Legacy).await;
    client.request_ok("resources/list", json!({})).await;
    let tree = client
        .call_tool("reasoning_tree", json!({ "content": "x" }))
        .await;
    let session = tree["session_id"].as_str().unwrap().to_owned();
    let branch = tree["branches"][0]["id"].as_str().unwrap().to_owned();
    for uri in [
        format!("deliberate://sessions/{session}"),
        format!("deliberate://branches/{branch}/markdown"),
    ] {
        client
            .request_ok("resources/subscribe", json!({ "uri": uri }))
            .await;
    }
    client.drain_notifications().await;
    let arguments = json!({ "session_id": session, "branch_id": branch, "state": "completed" });
    client.call_tool("reasoning_tree_complete", arguments).await;
    assert_eq!(
        with_method(&client.drain_notifications().await, UPDATED).len(),
        2
    );
    let arguments = json!({ "session_id": session, "name": "here" });
    let made = client
        .call_tool("reasoning_checkpoint_create", arguments)
        .await;
    assert_eq!(
        with_method(&client.drain_notifications().await, UPDATED).len(),
        1
    );
    let back = json!({ "checkpoint_id": made["checkpoint_id"] });
    client.call_tool("reasoning_backtrack", back).await;
    assert_eq!(
        with_method(&client.drain_notifications().await, UPDATED).len(),
        2
    );
    let arguments = json!({ "action": "delete", "session_id": session, "confirm": true });
    client.call_tool("reasoning_sessions", arguments).await;
    let told = client.drain_notifications().await;
    assert_eq!(with_method(&told, UPDATED).len(), 2);
    assert_eq!(with_method(&told, LIST_CHANGED).len(), 1);
}
