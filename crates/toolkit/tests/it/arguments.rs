//! Tests of arguments: they are validated, corrected if the meaning is clear, and logged.

use deliberate_core::{Invocation, ModelUsage, Timestamp};
use deliberate_testkit::CountingIds;
use deliberate_toolkit::{CallLimits, ToolError};
use serde_json::{Value, json};

use super::registry_fixture::{ALL, RegistryFixture, expect_done};

#[tokio::test]
async fn an_unknown_tool_is_named_with_the_nearest() {
    let house = RegistryFixture::without_model();
    let error = house.call("Pondr", json!({})).await.unwrap_err();
    assert_eq!(
        error.to_json(),
        json!({
            "code": "UnknownTool",
            "message": "there is no tool named \"Pondr\"",
            "hint": "Did you mean ponder?",
        })
    );
    let far = house.call("xyzzy", json!({})).await.unwrap_err();
    assert_eq!(far.hint().unwrap(), "List the tools to see their names.");
    let long = house
        .call(&"ж".repeat(10_000), json!({}))
        .await
        .unwrap_err();
    assert!(long.to_string().chars().count() < 120, "{long}");
}

#[tokio::test]
async fn wrong_arguments_are_recorded_and_leave_nothing_else() {
    let house = RegistryFixture::without_model();
    let arguments = json!({ "content": 7 });
    let error = house.call("note", arguments.clone()).await.unwrap_err();
    assert_eq!(error.code(), "Validation");
    assert_eq!(
        house.records().await,
        [Invocation {
            id: CountingIds::nth(1).into(),
            session_id: None,
            tool_name: "note".to_owned(),
            principal: None,
            input: arguments,
            output: None,
            pipe_name: None,
            latency_ms: Some(0),
            success: false,
            error: Some("content: must be of type \"string\", got 7".to_owned()),
            error_code: Some("Validation".to_owned()),
            spent: ModelUsage::default(),
            created_at: Timestamp::parse("2026-01-01T00:00:00Z").unwrap(),
        }]
    );
    assert_eq!(house.store.sessions(ALL).await.unwrap(), []);
}

#[tokio::test]
async fn every_broken_rule_is_named_with_its_field_and_value() {
    let house = RegistryFixture::without_model();
    let arguments = json!({
        "content": "",
        "times": 9,
        "ratio": -0.5,
        "manner": "rude",
        "depth": "wide",
        "tags": ["a", "b", "c", "d"],
        "config": { "max_depth": 0 },
        "sesion_id": "s",
    });
    let error = house.call("echo", arguments).await.unwrap_err().to_json();
    let mut issues = error["issues"].as_array().unwrap().clone();
    issues.sort_by_key(|issue| issue["field"].as_str().unwrap().to_owned());
    assert_eq!(
        issues,
        [
            json!({ "field": "config.max_depth", "rule": "must be at least 1", "value": "0" }),
            json!({ "field": "content", "rule": "must not be empty", "value": "\"\"" }),
            json!({
                "field": "depth",
                "rule": "must be one of [\"shallow\",\"deep\"]",
                "value": "\"wide\"",
            }),
            json!({
                "field": "manner",
                "rule": "must be one of [\"plain\",\"fancy\"]",
                "value": "\"rude\"",
            }),
            json!({ "field": "ratio", "rule": "must be at least 0", "value": "-0.5" }),
            json!({
                "field": "sesion_id",
                "rule": "is not an argument of this tool",
                "value": "\"s\"",
                "did_you_mean": "session_id",
            }),
            json!({
                "field": "tags",
                "rule": "must have at most 3 item(s)",
                "value": "[\"a\",\"b\",\"c\",\"d\"]",
            }),
            json!({ "field": "times", "rule": "must be at most 5", "value": "9" }),
        ]
    );
    assert_eq!(error["hint"], "Correct the arguments and retry.");
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let house = RegistryFixture::without_model();
    for nothing in [json!({}), Value::Null] {
        let error = house.call("echo", nothing).await.unwrap_err();
        assert_eq!(error.to_string(), "content: is required");
    }
    for (wrong, shown) in [
        (json!(["x"]), "[\"x\"]"),
        (json!("x"), "\"x\""),
        (json!(1), "1"),
    ] {
        let error = house.call("echo", wrong).await.unwrap_err();
        let text = format!("arguments: must be of type \"object\", got {shown}");
        assert_eq!(error.to_string(), text);
    }
}

#[tokio::test]
async fn null_means_left_out_and_plain_values_may_be_written_as_text() {
    let house = RegistryFixture::without_model();
    let given = json!({
        "content": "12",
        "session_id": null,
        "times": "3",
        "ratio": " 0.25 ",
        "loud": "true",
        "manner": "fancy",
        "depth": null,
        "config": { "max_depth": "7" },
        "tags": ["1", "2"],
    });
    assert_eq!(
        expect_done(house.call("echo", given.clone()).await),
        json!({
            "content": "12",
            "session_id": null,
            "times": 3,
            "ratio": 0.25,
            "loud": true,
            "manner": "fancy",
            "depth": null,
            "config": { "max_depth": 7 },
            "tags": ["1", "2"],
        })
    );
    // The record has the arguments as they were sent, not the corrected ones.
    assert_eq!(house.last_record().await.input, given);
}

#[tokio::test]
async fn a_whole_number_may_be_written_with_a_decimal_point() {
    let house = RegistryFixture::without_model();
    for times in [json!(3.0), json!("3.0"), json!(3)] {
        let given = json!({ "content": "x", "times": times, "config": { "max_depth": 7.0 } });
        let answer = expect_done(house.call("echo", given).await);
        assert_eq!(answer["times"], json!(3), "{times}");
        assert_eq!(answer["config"], json!({ "max_depth": 7 }), "{times}");
    }
}

#[tokio::test]
async fn what_can_not_be_meant_is_not_mended() {
    let house = RegistryFixture::without_model();
    for (arguments, text) in [
        (
            json!({ "content": null }),
            "content: must be of type \"string\", got null",
        ),
        (
            json!({ "content": "x", "times": "three" }),
            "times: must be of type \"integer\", got \"three\"",
        ),
        (
            json!({ "content": "x", "times": "9" }),
            "times: must be at most 5, got 9",
        ),
        (
            json!({ "content": "x", "times": 2.5 }),
            "times: must be of type \"integer\", got 2.5",
        ),
        (
            json!({ "content": "x", "times": 9.0 }),
            "times: must be at most 5, got 9",
        ),
        (
            json!({ "content": "x", "loud": 1 }),
            "loud: must be of type \"boolean\", got 1",
        ),
        (
            json!({ "content": "x", "ratio": 1e308 }),
            "ratio: must be at most 1, got 1e+308",
        ),
    ] {
        let error = house.call("echo", arguments).await.unwrap_err();
        assert_eq!(error.to_string(), text);
    }
}

#[tokio::test]
async fn a_huge_wrong_value_is_shown_short() {
    let house = RegistryFixture::without_model();
    let error = house
        .call("echo", json!({ "content": { "x": "ж".repeat(1_000_000) } }))
        .await
        .unwrap_err();
    let ToolError::Invalid(issues) = error else {
        panic!("{error:?}");
    };
    let shown = issues[0].value.as_ref().unwrap();
    assert_eq!(shown.chars().count(), 80);
    assert!(shown.ends_with(" […]"), "{shown}");
}

#[tokio::test]
async fn of_a_million_wrong_items_only_the_first_is_looked_at() {
    let house = RegistryFixture::without_model();
    let issues = async |tags: Vec<Value>| {
        let error = house.call("echo", json!({ "content": "x", "tags": tags }));
        match error.await.unwrap_err() {
            ToolError::Invalid(issues) => issues,
            error => panic!("{error:?}"),
        }
    };
    let few = issues(vec![json!(1); 100]).await;
    assert_eq!(few.len(), 9, "{few:?}");
    let many = issues(vec![json!(1); 1_000_000]).await;
    assert_eq!(many.len(), 2, "{many:?}");
    assert!(many[0].field.starts_with("tags"), "{many:?}");
    assert!(many[1].rule.contains("send fewer"), "{many:?}");
    // One wrong value among very many is found.
    let mut tags = vec![json!("x"); 20_000];
    tags[9_999] = json!(1);
    let one = issues(tags).await;
    assert!(one[0].field.starts_with("tags"), "{one:?}");
}

#[tokio::test]
async fn a_record_keeps_only_so_much_of_arguments_and_answer() {
    let bounds = CallLimits {
        record_bytes: 1_000,
        ..CallLimits::default()
    };
    let house = RegistryFixture::with_limits(None, bounds);
    let long = "思考".repeat(50_000);
    let output = expect_done(
        house
            .call("echo", json!({ "content": long, "times": 3 }))
            .await,
    );
    assert!(
        output["content"] == long.as_str(),
        "the answer itself is whole"
    );
    let record = house.last_record().await;
    for kept in [record.input, record.output.unwrap()] {
        assert!(
            kept.to_string().len() <= 1_100,
            "{} bytes",
            kept.to_string().len()
        );
        assert_eq!(kept["times"], 3);
        let content = kept["content"].as_str().unwrap();
        assert!(
            content.starts_with("思考思考") && content.ends_with(" […]"),
            "{content}"
        );
    }
}
