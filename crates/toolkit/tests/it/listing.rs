//! Tests of the tool list that a client sees.

use serde_json::json;

use super::registry_fixture::RegistryFixture;

#[test]
fn tools_are_listed_in_their_order_and_resuming_comes_last() {
    let house = RegistryFixture::without_model();
    let names: Vec<_> = house.registry.list().map(|it| it.meta.name).collect();
    assert_eq!(
        names,
        [
            "echo",
            "note",
            "ponder",
            "debate",
            "faulty",
            "reasoning_resume"
        ]
    );
    assert!(house.registry.get("ponder").is_some());
    assert!(house.registry.get("Ponder").is_none());
}

#[test]
fn schemas_are_small_and_whole() {
    let house = RegistryFixture::without_model();
    let echo = house.registry.get("echo").unwrap();
    assert_eq!(
        *echo.input_schema,
        json!({
            "type": "object",
            "properties": {
                "content": { "type": "string", "minLength": 1 },
                "session_id": { "type": "string" },
                "times": { "type": "integer", "minimum": 1, "maximum": 5 },
                "ratio": { "type": "number", "minimum": 0, "maximum": 1 },
                "loud": { "type": "boolean" },
                "manner": { "type": "string", "enum": ["plain", "fancy"] },
                "depth": {
                    "description": "An enum with documented variants, which has another form of schema.",
                    "type": "string",
                    "enum": ["shallow", "deep"],
                },
                "config": {
                    "type": "object",
                    "properties": { "max_depth": { "type": "integer", "minimum": 1 } },
                    "additionalProperties": false,
                },
                "tags": { "type": "array", "items": { "type": "string" }, "maxItems": 3 },
            },
            "required": ["content"],
            "additionalProperties": false,
        })
    );
}

#[test]
fn a_tool_that_thinks_may_answer_that_it_needs_a_reply() {
    let house = RegistryFixture::without_model();
    for (tool, thinks) in [("note", false), ("ponder", true)] {
        let listing = house.registry.get(tool).unwrap();
        assert_eq!(listing.meta.asks_model, thinks);
    }
    let resume = house.registry.get("reasoning_resume").unwrap();
    assert!(resume.meta.hints.idempotent);
    assert_eq!(resume.input_schema["required"], json!(["id"]));
    assert_eq!(
        resume.input_schema["properties"]["replies"]["type"],
        "array"
    );
}
