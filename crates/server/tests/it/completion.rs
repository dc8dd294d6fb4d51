//! Tests of completion.

use serde_json::{Value, json};

use super::test_server::{ERAS, TestEra, TestServer};

fn prompt_params(name: &str, argument: &str, value: &str) -> Value {
    json!({ "ref": { "type": "ref/prompt", "name": name },
            "argument": { "name": argument, "value": value } })
}

fn template_params(uri: &str, argument: &str, value: &str) -> Value {
    json!({ "ref": { "type": "ref/resource", "uri": uri },
            "argument": { "name": argument, "value": value } })
}

const SESSION: &str = "deliberate://sessions/{session_id}/markdown";

#[tokio::test]
async fn sessions_are_found_by_id_and_by_the_words_of_their_titles() {
    let house = TestServer::new();
    house.add_sessions(3).await;
    for era in ERAS {
        let mut client = house.client(era).await;
        for params in [
            template_params(SESSION, "session_id", "s00"),
            prompt_params("recap", "session_id", "s00"),
        ] {
            let found = client.request_ok("completion/complete", params).await;
            let expected =
                json!({ "values": ["s002", "s001", "s000"], "total": 3, "hasMore": false });
            assert_eq!(found["completion"], expected);
        }
        for params in [
            template_params(SESSION, "session_id", "S001 about"),
            prompt_params("think", "session_id", "S001 about"),
        ] {
            let found = client.request_ok("completion/complete", params).await;
            assert_eq!(found["completion"]["values"], json!(["s001"]));
        }
    }
}

#[tokio::test]
async fn at_most_a_hundred_are_offered_and_that_there_are_more_is_said() {
    let house = TestServer::new();
    house.add_sessions(170).await;
    let mut client = house.client(TestEra::Legacy).await;
    let params = template_params(SESSION, "session_id", "");
    let found = client.request_ok("completion/complete", params).await;
    let completion = &found["completion"];
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!(completion["hasMore"], true);
    assert!(completion["total"].is_null());
}

#[tokio::test]
async fn what_is_given_already_narrows_it() {
    let house = TestServer::new();
    let mut client = house.client(TestEra::Modern).await;
    let mut thoughts = Vec::new();
    for _ in 0..2 {
        let step = client
            .call_tool("reasoning_linear", json!({ "content": "x" }))
            .await;
        thoughts.push((step["session_id"].clone(), step["thought_id"].clone()));
    }
    let mut params = template_params("deliberate://thoughts/{thought_id}", "thought_id", "");
    let found = client
        .request_ok("completion/complete", params.clone())
        .await;
    assert_eq!(found["completion"]["values"].as_array().unwrap().len(), 2);
    let (session, thought) = &thoughts[0];
    params["context"] = json!({ "arguments": { "session_id": session } });
    let found = client.request_ok("completion/complete", params).await;
    assert_eq!(found["completion"]["values"], json!([thought]));
}

#[tokio::test]
async fn numbers_are_offered_and_nothing_where_nothing_is_known() {
    let house = TestServer::new();
    let mut client = house.client(TestEra::Legacy).await;
    let cases = [
        (
            prompt_params("reflect", "rounds", ""),
            json!(["1", "2", "3", "4", "5"]),
        ),
        (
            prompt_params("think", "steps", "1"),
            json!([
                "1", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19"
            ]),
        ),
        (prompt_params("think", "problem", "x"), json!([])),
        (prompt_params("think", "nothing", "x"), json!([])),
        (template_params(SESSION, "graph_id", ""), json!([])),
        (
            template_params(SESSION, "session_id", &"x".repeat(100_000)),
            json!([]),
        ),
    ];
    for (params, expected) in cases {
        let found = client.request_ok("completion/complete", params).await;
        assert_eq!(found["completion"]["values"], expected);
    }
    for params in [
        prompt_params("weather", "x", ""),
        template_params("deliberate://sessions/s000", "session_id", ""),
    ] {
        assert_eq!(
            client.request_err("completion/complete", params).await.0,
            -32_602
        );
    }
}
