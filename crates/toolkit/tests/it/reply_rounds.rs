//! Tests of suspended calls with several requests, together or one after the other.

use serde_json::{Value, json};

use super::registry_fixture::{RegistryFixture, expect_done, expect_needs_reply};

fn view(text: &str) -> Value {
    json!({ "view": text, "percent": 70 })
}

fn keys(needs: &deliberate_toolkit::NeedsReply) -> Vec<&str> {
    needs.asks.iter().map(|ask| ask.key.as_str()).collect()
}

#[tokio::test]
async fn independent_asks_are_asked_together_and_the_next_with_their_answers() {
    let house = RegistryFixture::without_model();
    let first = expect_needs_reply(house.call("debate", json!({ "content": "tea" })).await);
    assert_eq!(keys(&first), ["for", "against"]);

    let replies = json!([view("it warms"), view("it stains")]);
    let second = expect_needs_reply(house.resume(&first.id, replies).await);
    assert_eq!(second.id, first.id);
    assert_eq!(keys(&second), ["verdict"]);
    assert_eq!(second.asks[0].messages[0].text, "it warms or it stains?");
    let kept = house
        .store
        .suspended_call(&first.id.as_str().into())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(kept.asks, json!(["verdict"]));
    assert_eq!(kept.arguments, json!({ "content": "tea" }));

    let output = expect_done(house.resume(&first.id, json!([view("drink it")])).await);
    assert_eq!(output["content"], "drink it");
    assert_eq!(house.thoughts().await.len(), 1);
}

#[tokio::test]
async fn replies_may_come_one_by_one() {
    let house = RegistryFixture::without_model();
    let first = expect_needs_reply(house.call("debate", json!({ "content": "tea" })).await);
    let second = expect_needs_reply(house.resume(&first.id, json!([view("it warms")])).await);
    assert_eq!(keys(&second), ["against"]);
    let third = expect_needs_reply(house.resume(&first.id, json!([view("it stains")])).await);
    assert_eq!(third.asks[0].messages[0].text, "it warms or it stains?");
}

#[tokio::test]
async fn only_the_bad_one_of_several_replies_is_asked_for_again() {
    let house = RegistryFixture::without_model();
    let first = expect_needs_reply(house.call("debate", json!({ "content": "tea" })).await);
    let replies = json!([view("it warms"), { "view": "" }]);
    let second = expect_needs_reply(house.resume(&first.id, replies).await);
    assert_eq!(keys(&second), ["against/again"]);
    let third = expect_needs_reply(house.resume(&first.id, json!([view("it stains")])).await);
    assert_eq!(keys(&third), ["verdict"]);
    assert_eq!(third.asks[0].messages[0].text, "it warms or it stains?");
}

#[tokio::test]
async fn a_later_round_survives_a_restart() {
    let house = RegistryFixture::without_model();
    let first = expect_needs_reply(house.call("debate", json!({ "content": "tea" })).await);
    expect_needs_reply(house.resume(&first.id, json!([view("a"), view("b")])).await);
    let house = house.restart().await;
    let output = expect_done(house.resume(&first.id, json!([view("c")])).await);
    assert_eq!(output["content"], "c");
}
