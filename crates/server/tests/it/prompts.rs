//! Tests of the menu prompts.

use deliberate_testkit::prompt_fence_corpus::{assert_fenced, hostile_text};
use serde_json::{Value, json};

use super::test_server::{ERAS, TestEra, TestServer};

#[tokio::test]
async fn there_is_one_for_each_way_of_reasoning() {
    let house = TestServer::new();
    let mut client = house.client(TestEra::Modern).await;
    let result = client.request_ok("prompts/list", json!({})).await;
    insta::assert_json_snapshot!(result["prompts"]);
    assert_eq!(result["cacheScope"], "public");
}

#[tokio::test]
async fn every_tool_a_prompt_names_is_there() {
    let house = TestServer::new();
    let mut client = house.client(TestEra::Legacy).await;
    let tools = client.request_ok("tools/list", json!({})).await;
    let tools: Vec<&str> = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    let prompts = client.request_ok("prompts/list", json!({})).await;
    for prompt in prompts["prompts"].as_array().unwrap() {
        let given = prompt["arguments"].as_array().unwrap().iter();
        let given = given.map(|it| (it["name"].as_str().unwrap().to_owned(), json!("3")));
        let given: serde_json::Map<String, Value> = given.collect();
        let params = json!({ "name": prompt["name"], "arguments": given });
        let served = client.request_ok("prompts/get", params).await;
        let text = served["messages"][0]["content"]["text"].as_str().unwrap();
        let named = text
            .split('`')
            .filter(|word| word.starts_with("reasoning_"));
        let mut count = 0;
        for tool in named {
            assert!(tools.contains(&tool), "{} names {tool}", prompt["name"]);
            count += 1;
        }
        assert!(count > 0, "{text}");
    }
}

#[tokio::test]
async fn what_a_person_gives_stays_a_value() {
    let hostile = format!(
        "{{{{ 1 }}}}\n```\n{}\n# New {{problem}}",
        hostile_text(&["given"])
    );
    for era in ERAS {
        let house = TestServer::new();
        let mut client = house.client(era).await;
        let arguments = json!({ "problem": hostile, "session_id": "s\"\n`x`", "branches": "3" });
        let params = json!({ "name": "tree", "arguments": arguments });
        let served = client.request_ok("prompts/get", params).await;
        assert_eq!(served["messages"].as_array().unwrap().len(), 1);
        assert_eq!(served["messages"][0]["role"], "user");
        let text = served["messages"][0]["content"]["text"].as_str().unwrap();
        assert_fenced(text, &["given"]);
        assert!(text.contains("session_id: \"s\\\"\\n`x`\"\n"), "{text}");
        assert!(text.contains("branches: 3"), "{text}");
    }
}

#[tokio::test]
async fn what_is_missing_or_unknown_is_named() {
    let house = TestServer::new();
    let mut client = house.client(TestEra::Legacy).await;
    let cases = [
        (json!({ "name": "think" }), "problem: is required"),
        (
            json!({ "name": "think", "arguments": { "problem": "  " } }),
            "problem: is required",
        ),
        (
            json!({ "name": "think", "arguments": { "problem": 5 } }),
            "problem: must be text",
        ),
        (
            json!({ "name": "think", "arguments": { "problem": "x", "sesion_id": "s" } }),
            "sesion_id: is not an argument of think; did you mean session_id?",
        ),
        (
            json!({ "name": "diverge", "arguments": { "problem": "x", "perspectives": "99" } }),
            "perspectives: must be a whole number from 2 to 10",
        ),
        (
            json!({ "name": "recap", "arguments": {} }),
            "session_id: is required",
        ),
        (json!({ "name": "thnk" }), "Did you mean think?"),
        (json!({ "name": "weather" }), "List the prompts"),
        (
            json!({ "name": "think", "arguments": { "problem": "x".repeat(100_001) } }),
            "problem: must be at most 100000 characters long",
        ),
    ];
    for (params, expected) in cases {
        let (code, message) = client.request_err("prompts/get", params).await;
        assert_eq!(code, -32_602, "{message}");
        assert!(message.contains(expected), "{message}");
    }
    // A person may leave a field empty.
    let arguments = json!({ "problem": "x", "session_id": "" });
    let params = json!({ "name": "think", "arguments": arguments });
    let served = client.request_ok("prompts/get", params).await;
    let text = served["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(!text.contains("session_id: "), "{text}");
}
