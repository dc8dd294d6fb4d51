//! Tests of tools whose schemas would take very long to check.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::support::{GatewayFixture, temp_dir, text};

/// Far less than such a check would take, and far more than an answer takes on a busy machine.
const PROMPTLY: Duration = Duration::from_secs(20);

/// A tool whose schema evaluates one part twice, `doublings` times over.
fn doubling_tool(doublings: usize) -> Value {
    let mut definitions = json!({ "d0": { "type": "object", "minProperties": 1 } });
    for number in 1..=doublings {
        let before = json!({ "$ref": format!("#/$defs/d{}", number - 1) });
        definitions[format!("d{number}")] = json!({ "allOf": [before, before] });
    }
    let schema = json!({
        "type": "object",
        "allOf": [{ "$ref": format!("#/$defs/d{doublings}") }],
        "$defs": definitions,
    });
    json!({ "name": "doubling", "description": "", "inputSchema": schema })
}

/// A tool that takes a list of which each item is one of many constants.
fn constants_tool(constants: usize) -> Value {
    let each: Vec<Value> = (0..constants).map(|at| json!({ "const": at })).collect();
    let items = json!({ "type": "array", "items": { "anyOf": each } });
    let schema = json!({ "type": "object", "properties": { "items": items } });
    json!({ "name": "constants", "description": "", "inputSchema": schema })
}

/// A tool of which each argument has a pattern of its own.
fn patterns_tool(patterns: usize) -> Value {
    let properties: Map<String, Value> = (0..patterns)
        .map(|at| (format!("p{at}"), json!({ "pattern": format!("^x{at}$") })))
        .collect();
    let schema = json!({ "type": "object", "properties": properties });
    json!({ "name": "patterns", "description": "", "inputSchema": schema })
}

fn echo_tool() -> Value {
    json!({ "name": "echo", "description": "", "inputSchema": { "type": "object" } })
}

#[tokio::test]
async fn a_schema_that_doubles_holds_up_nothing() {
    let folder = temp_dir();
    let tools = [doubling_tool(34), echo_tool()];
    let (fixture, _) = GatewayFixture::with_one_server(&folder, &tools);
    let started = Instant::now();
    let (doubling, echo) = tokio::join!(
        fixture.call("far__doubling", json!({ "a": 1 })),
        fixture.call_upstream("far__echo", json!({ "b": 2 })),
    );
    // What can't be checked here is the server's to check.
    assert_eq!(text(&doubling.unwrap()["handed_on"]), json!({ "a": 1 }));
    assert_eq!(text(&echo.unwrap()), json!({ "b": 2 }));
    assert!(started.elapsed() < PROMPTLY, "{:?}", started.elapsed());
}

#[tokio::test]
async fn many_alternatives_for_many_items_are_refused_promptly() {
    let folder = temp_dir();
    let (fixture, upstream) =
        GatewayFixture::with_one_server(&folder, &[constants_tool(1_000), echo_tool()]);
    let items: Vec<Value> = (0..5_000).map(|_| json!("none of them")).collect();
    let started = Instant::now();
    let (constants, echo) = tokio::join!(
        fixture.call("far__constants", json!({ "items": items })),
        fixture.call_upstream("far__echo", json!({ "b": 2 })),
    );
    let error = constants.unwrap_err().to_string();
    assert!(error.contains("schema"), "{error}");
    assert_eq!(text(&echo.unwrap()), json!({ "b": 2 }));
    assert_eq!(upstream.requests("tools/call").len(), 1);
    assert!(started.elapsed() < PROMPTLY, "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_schema_with_very_many_patterns_is_not_compiled() {
    let folder = temp_dir();
    let (fixture, upstream) =
        GatewayFixture::with_one_server(&folder, &[patterns_tool(1_000), echo_tool()]);
    // What can't be checked here is the server's to check.
    let answer = fixture.call("far__patterns", json!({ "p7": "x8" })).await;
    assert_eq!(text(&answer.unwrap()["handed_on"]), json!({ "p7": "x8" }));

    let folder = temp_dir();
    let few = GatewayFixture::with_one_server(&folder, &[patterns_tool(20)]).0;
    let error = few.call("far__patterns", json!({ "p7": "x8" })).await;
    assert!(error.unwrap_err().to_string().contains("pattern"));
    assert_eq!(upstream.requests("tools/call").len(), 1);
}
