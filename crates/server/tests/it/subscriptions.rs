//! Being told of changes, in both eras.

use deliberate_reasoning::register;
use deliberate_server::SubscriptionLimits;
use serde_json::{Value, json};

use crate::wire::{Client, Era, House};

const UPDATED: &str = "notifications/resources/updated";
const LIST: &str = "notifications/resources/list_changed";

async fn begun(client: &mut Client) -> String {
    let step = client
        .call("reasoning_linear", json!({ "content": "x" }))
        .await;
    step["session_id"].as_str().unwrap().to_owned()
}

async fn goes_on(client: &mut Client, session: &str) {
    let arguments = json!({ "content": "x", "session_id": session });
    client.call("reasoning_linear", arguments).await;
}

fn of(told: &[Value], method: &str) -> Vec<Value> {
    let of_method = told.iter().filter(|it| it["method"] == method);
    of_method.cloned().collect()
}

#[tokio::test]
async fn who_subscribes_is_told_and_who_does_not_is_not() {
    let house = House::new();
    let mut subscriber = house.client(Era::Legacy).await;
    let mut other = house.client(Era::Legacy).await;
    let session = begun(&mut other).await;
    let uri = format!("deliberate://sessions/{session}/markdown");
    subscriber
        .ask("resources/subscribe", json!({ "uri": uri }))
        .await;

    goes_on(&mut other, &session).await;
    let told = subscriber.told(UPDATED).await;
    assert_eq!(told["params"]["uri"], uri);
    assert!(told["params"]["_meta"].is_null(), "{told}");
    assert_eq!(of(&other.all_told().await, UPDATED), [] as [Value; 0]);

    // Another session is no affair of theirs.
    begun(&mut other).await;
    assert_eq!(of(&subscriber.all_told().await, UPDATED), [] as [Value; 0]);

    subscriber
        .ask("resources/unsubscribe", json!({ "uri": uri }))
        .await;
    goes_on(&mut other, &session).await;
    assert_eq!(of(&subscriber.all_told().await, UPDATED), [] as [Value; 0]);
}

#[tokio::test]
async fn lists_that_change_are_told_to_everyone_who_is_ready() {
    let house = House::new();
    let mut client = house.client(Era::Legacy).await;
    begun(&mut client).await;
    // A list that was never looked at can't be out of date.
    assert_eq!(client.all_told().await, [] as [Value; 0]);
    client.ask("resources/list", json!({})).await;
    begun(&mut client).await;
    client.told(LIST).await;
    house.subscriptions.tools_changed();
    client.told("notifications/tools/list_changed").await;
    house.subscriptions.prompts_changed();
    client.told("notifications/prompts/list_changed").await;
}

#[tokio::test]
async fn a_listener_hears_what_it_asked_for_until_it_cancels() {
    let house = House::new();
    let mut other = house.client(Era::Modern).await;
    let session = begun(&mut other).await;
    let uri = format!("deliberate://sessions/{session}");
    let mut listener = house.client(Era::Modern).await;
    let wanted = json!({ "notifications": {
        "resourcesListChanged": true,
        "resourceSubscriptions": [uri, "nonsense:x"],
    } });
    let id = listener.begin("subscriptions/listen", wanted).await;
    let accepted = listener
        .told("notifications/subscriptions/acknowledged")
        .await;
    assert_eq!(
        accepted["params"]["notifications"],
        json!({ "resourcesListChanged": true, "resourceSubscriptions": [uri] })
    );

    goes_on(&mut other, &session).await;
    let told = listener.told(UPDATED).await;
    assert_eq!(told["params"]["uri"], uri);
    let subscription = "io.modelcontextprotocol/subscriptionId";
    assert_eq!(told["params"]["_meta"][subscription], id);
    begun(&mut other).await;
    listener.told(LIST).await;
    house.subscriptions.tools_changed();
    let told = listener.all_told().await;
    assert_eq!(
        of(&told, "notifications/tools/list_changed"),
        [] as [Value; 0]
    );

    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                         "params": { "requestId": id } });
    listener.send(&cancel).await;
    listener.all_told().await;
    goes_on(&mut other, &session).await;
    assert_eq!(listener.all_told().await, [] as [Value; 0]);
    assert_eq!(house.subscriptions.listeners(), 0);
}

#[tokio::test]
async fn a_burst_of_changes_is_told_in_a_few_words_and_the_last_one_is_told() {
    let house = House::new();
    let mut client = house.client(Era::Legacy).await;
    let mut other = house.client(Era::Legacy).await;
    let session = begun(&mut other).await;
    let uri = format!("deliberate://sessions/{session}");
    client.all_told().await;
    client
        .ask("resources/subscribe", json!({ "uri": uri }))
        .await;
    for _ in 0..1_000 {
        house.subscriptions.updated(&uri);
    }
    let told = of(&client.all_told().await, UPDATED);
    assert!((1..20).contains(&told.len()), "{} times", told.len());
    house.subscriptions.updated(&uri);
    client.told(UPDATED).await;
}

#[tokio::test]
async fn whoever_leaves_is_forgotten_and_nobody_who_listens_holds_up_the_end() {
    let house = House::new();
    for _ in 0..20 {
        let mut old = house.client(Era::Legacy).await;
        let uri = json!({ "uri": "deliberate://sessions" });
        old.ask("resources/subscribe", uri).await;
        let mut new = house.client(Era::Modern).await;
        let wanted = json!({ "notifications": { "resourcesListChanged": true } });
        let id = new.begin("subscriptions/listen", wanted).await;
        new.told("notifications/subscriptions/acknowledged").await;
        assert_eq!(house.subscriptions.listeners(), 2);
        old.leave().await;
        // It would wait for a minute if the request counted as work.
        let last = new.leave().await;
        let ended = last
            .iter()
            .any(|it| it["id"] == id && it["result"].is_object());
        assert!(ended, "{last:?}");
        assert_eq!(house.subscriptions.listeners(), 0);
    }
}

#[tokio::test]
async fn a_server_that_stops_ends_what_listens_in_good_order() {
    let house = House::new();
    let mut client = house.client(Era::Modern).await;
    let wanted = json!({ "notifications": { "toolsListChanged": true } });
    let id = client.begin("subscriptions/listen", wanted).await;
    client
        .told("notifications/subscriptions/acknowledged")
        .await;
    house.subscriptions.close();
    assert!(client.answer(id).await["result"].is_object());
}

#[tokio::test]
async fn there_is_an_end_to_what_one_may_subscribe_to() {
    let limits = SubscriptionLimits {
        lines: 1,
        addresses: 2,
    };
    let house = House::with(limits, register);
    let mut first = house.client(Era::Legacy).await;
    let uri = |id: &str| json!({ "uri": format!("deliberate://sessions/{id}") });
    for id in ["a", "b", "a"] {
        first.ask("resources/subscribe", uri(id)).await;
    }
    assert_eq!(
        first.refused("resources/subscribe", uri("c")).await.0,
        -32_000
    );
    first.ask("resources/unsubscribe", uri("a")).await;
    first.ask("resources/subscribe", uri("c")).await;
    let mut second = house.client(Era::Legacy).await;
    assert_eq!(
        second.refused("resources/subscribe", uri("a")).await.0,
        -32_000
    );
    assert_eq!(
        first
            .refused("resources/subscribe", json!({ "uri": "x:y" }))
            .await
            .0,
        -32_002
    );
}

#[tokio::test]
async fn whatever_changes_a_session_is_told() {
    let house = House::new();
    let mut client = house.client(Era::Legacy).await;
    client.ask("resources/list", json!({})).await;
    let tree = client
        .call("reasoning_tree", json!({ "content": "x" }))
        .await;
    let session = tree["session_id"].as_str().unwrap().to_owned();
    let branch = tree["branches"][0]["id"].as_str().unwrap().to_owned();
    for uri in [
        format!("deliberate://sessions/{session}"),
        format!("deliberate://branches/{branch}/markdown"),
    ] {
        client
            .ask("resources/subscribe", json!({ "uri": uri }))
            .await;
    }
    client.all_told().await;
    let arguments = json!({ "session_id": session, "branch_id": branch, "state": "completed" });
    client.call("reasoning_tree_complete", arguments).await;
    assert_eq!(of(&client.all_told().await, UPDATED).len(), 2);
    let arguments = json!({ "session_id": session, "name": "here" });
    let made = client.call("reasoning_checkpoint_create", arguments).await;
    assert_eq!(of(&client.all_told().await, UPDATED).len(), 1);
    let back = json!({ "checkpoint_id": made["checkpoint_id"] });
    client.call("reasoning_backtrack", back).await;
    assert_eq!(of(&client.all_told().await, UPDATED).len(), 2);
    let arguments = json!({ "action": "delete", "session_id": session, "confirm": true });
    client.call("reasoning_sessions", arguments).await;
    let told = client.all_told().await;
    assert_eq!(of(&told, UPDATED).len(), 2);
    assert_eq!(of(&told, LIST).len(), 1);
}
