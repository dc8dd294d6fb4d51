//! Tests of ids of every kind: strings and integers are accepted and echoed unchanged.

use serde_json::{Value, json};

use crate::support::{TestHome, error_code, serve, shut_down};

#[tokio::test]
async fn strings_and_whole_numbers_are_ids_and_come_back_unchanged() {
    let ids = [
        json!("a"),
        json!(""),
        json!("7"),
        json!("quote \" backslash \\ newline \n Ω"),
        json!(0),
        json!(-1),
        json!(7),
        json!(i64::MAX),
        json!(i64::MIN),
        json!("x".repeat(10_000)),
    ];
    let home = TestHome::new();
    let mut client = serve(&mut home.command()).await;
    for id in ids {
        client
            .send(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }))
            .await
            .unwrap();
        let answer = client.response(id.clone()).await.unwrap();
        assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
    }
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
}

#[tokio::test]
async fn other_ids_are_refused_and_echoed_if_they_are_numbers() {
    let cases = [
        ("1.5", json!(1.5)),
        ("1e3", json!(1e3)),
        ("18446744073709551615", json!(u64::MAX)),
        ("null", json!(null)),
        ("true", json!(null)),
        (r#"{"a":1}"#, json!(null)),
        ("[1]", json!(null)),
        (r#""\ud800""#, json!(null)),
    ];
    let home = TestHome::new();
    let mut client = serve(&mut home.command()).await;
    for (id, echoed) in cases {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        client.send_line(&line).await.unwrap();
        let answer = client.next_message().await.unwrap().unwrap();
        assert_eq!(error_code(&answer), -32_600, "{id}");
        assert_eq!(answer["id"], echoed, "{id}");
    }
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
}

#[tokio::test]
async fn a_number_and_the_same_number_as_text_are_two_ids() {
    let home = TestHome::new();
    let mut client = serve(&mut home.command()).await;
    client
        .send_line(
            r#"{"jsonrpc":"2.0","id":8,"method":"ping"}{"jsonrpc":"2.0","id":"8","method":"ping"}"#,
        )
        .await
        .unwrap();
    assert!(client.response(8).await.unwrap()["result"].is_object());
    assert!(client.response("8").await.unwrap()["result"].is_object());
    assert_eq!(shut_down(client).await, [] as [Value; 0]);
}
