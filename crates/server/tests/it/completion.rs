//! What a person is offered while they type.

use serde_json::{Value, json};

use crate::wire::{ERAS, Era, House};

fn of_prompt(name: &str, argument: &str, value: &str) -> Value {
    json!({ "ref": { "type": "ref/prompt", "name": name },
            "argument": { "name": argument, "value": value } })
}

fn of_template(uri: &str, argument: &str, value: &str) -> Value {
    json!({ "ref": { "type": "ref/resource", "uri": uri },
            "argument": { "name": argument, "value": value } })
}

const SESSION: &str = "deliberate://sessions/{session_id}/markdown";

#[tokio::test]
async fn sessions_are_found_by_id_and_by_the_words_of_their_titles() {
    let house = House::new();
    house.has_sessions(3).await;
    for era in ERAS {
        let mut client = house.client(era).await;
        for params in [
            of_template(SESSION, "session_id", "s00"),
            of_prompt("recap", "session_id", "s00"),
        ] {
            let found = client.ask("completion/complete", params).await;
            let expected =
                json!({ "values": ["s002", "s001", "s000"], "total": 3, "hasMore": false });
            assert_eq!(found["completion"], expected);
        }
        for params in [
            of_template(SESSION, "session_id", "S001 about"),
            of_prompt("think", "session_id", "S001 about"),
        ] {
            let found = client.ask("completion/complete", params).await;
            assert_eq!(found["completion"]["values"], json!(["s001"]));
        }
    }
}

#[tokio::test]
async fn at_most_a_hundred_are_offered_and_that_there_are_more_is_said() {
    let house = House::new();
    house.has_sessions(170).await;
    let mut client = house.client(Era::Legacy).await;
    let params = of_template(SESSION, "session_id", "");
    let found = client.ask("completion/complete", params).await;
    let completion = &found["completion"];
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!(completion["hasMore"], true);
    assert!(completion["total"].is_null());
}

#[tokio::test]
async fn what_is_given_already_narrows_it() {
    let house = House::new();
    let mut client = house.client(Era::Modern).await;
    let mut thoughts = Vec::new();
    for _ in 0..2 {
        let step = client
            .call("reasoning_linear", json!({ "content": "x" }))
            .await;
        thoughts.push((step["session_id"].clone(), step["thought_id"].clone()));
    }
    let mut params = of_template("deliberate://thoughts/{thought_id}", "thought_id", "");
    let found = client.ask("completion/complete", params.clone()).await;
    assert_eq!(found["completion"]["values"].as_array().unwrap().len(), 2);
    let (session, thought) = &thoughts[0];
    params["context"] = json!({ "arguments": { "session_id": session } });
    let found = client.ask("completion/complete", params).await;
    assert_eq!(found["completion"]["values"], json!([thought]));
}

#[tokio::test]
async fn numbers_are_offered_and_nothing_where_nothing_is_known() {
    let house = House::new();
    let mut client = house.client(Era::Legacy).await;
    let cases = [
        (
            of_prompt("reflect", "rounds", ""),
            json!(["1", "2", "3", "4", "5"]),
        ),
        (
            of_prompt("think", "steps", "1"),
            json!([
                "1", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19"
            ]),
        ),
        (of_prompt("think", "problem", "x"), json!([])),
        (of_prompt("think", "nothing", "x"), json!([])),
        (of_template(SESSION, "graph_id", ""), json!([])),
        (
            of_template(SESSION, "session_id", &"x".repeat(100_000)),
            json!([]),
        ),
    ];
    for (params, expected) in cases {
        let found = client.ask("completion/complete", params).await;
        assert_eq!(found["completion"]["values"], expected);
    }
    for params in [
        of_prompt("weather", "x", ""),
        of_template("deliberate://sessions/s000", "session_id", ""),
    ] {
        assert_eq!(
            client.refused("completion/complete", params).await.0,
            -32_602
        );
    }
}
