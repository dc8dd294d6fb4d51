//! Continuations that the caller brings: which are dropped, and JSON that is sent as a text.

use super::*;

/// A graph with these limits, and the arguments to continue its root.
async fn root_arguments(registry: &ReasoningTestRegistry, config: Value) -> Value {
    let graph = init_graph(registry, config).await;
    json!({ "graph_id": graph["graph_id"], "node_id": graph["root_node_id"] })
}

async fn bring(registry: &ReasoningTestRegistry, mut arguments: Value, reply: Value) -> Value {
    arguments["reply"] = reply;
    let output = registry.call_ok("reasoning_got_generate", arguments).await;
    assert_eq!(registry.requests(), [], "no model is asked");
    output
}

fn texts(output: &Value) -> Vec<&str> {
    let nodes = output["continuations"].as_array().unwrap().iter();
    nodes.map(|it| it["content"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn what_a_full_graph_has_no_room_for_is_counted() {
    let desk = ReasoningTestRegistry::new();
    let arguments = root_arguments(&desk, json!({ "max_nodes": 3 })).await;
    // A duplicate takes no room.
    let reply = json!(["one", "one", "two", "three", "four"]);
    let output = bring(&desk, arguments, reply).await;
    assert_eq!(texts(&output), ["one", "two"]);
    let note = "the graph has reached its limit of 3 nodes, so new continuations were dropped: 2";
    assert_eq!(output["note"], note);
}

#[tokio::test]
async fn continuations_beyond_k_are_counted() {
    let desk = ReasoningTestRegistry::new();
    let mut arguments = root_arguments(&desk, json!({})).await;
    arguments["k"] = json!(2);
    let output = bring(&desk, arguments, json!(["one", "two", "three"])).await;
    assert_eq!(texts(&output), ["one", "two"]);
    let note = "this call takes at most 2, so 1 of 3 continuations were dropped";
    assert_eq!(output["note"], note);
    let arguments = root_arguments(&desk, json!({ "max_branches": 1 })).await;
    let output = bring(&desk, arguments, json!(["one", "two"])).await;
    let note = "this call takes at most 1, so 1 of 2 continuations were dropped";
    assert_eq!(output["note"], note);
}

#[tokio::test]
async fn continuations_that_cannot_be_read_are_counted() {
    let desk = ReasoningTestRegistry::new();
    let arguments = root_arguments(&desk, json!({})).await;
    let reply = json!({ "continuations": [{ "thought": "one" }, { "thought": "" }, "no object"] });
    let output = bring(&desk, arguments, reply).await;
    assert_eq!(texts(&output), ["one"]);
    let note = "could not read 2 of 3 continuations: each needs a `thought`";
    assert_eq!(output["note"], note);
}

#[tokio::test]
async fn json_with_slips_is_read_and_never_becomes_a_thought() {
    for reply in [
        "{\"continuations\": [{\"thought\": \"one\"}, {\"thought\": \"two\",},]}",
        "[{'thought': 'one'}, {'thought': 'two'}]",
        "```json\n[{\"thought\": \"one\"}, {\"thought\": \"two\"},]\n```",
        "```json\n{\"continuations\": [{\"thought\": \"one\"}, {\"thought\": \"two\"}]}",
        "Two of them:\n{\"continuations\": [{\"thought\": \"one\"}, {\"thought\": \"two\"}]}",
    ] {
        let desk = ReasoningTestRegistry::new();
        let arguments = root_arguments(&desk, json!({})).await;
        let output = bring(&desk, arguments, json!(reply)).await;
        assert_eq!(texts(&output), ["one", "two"], "{reply}");
    }
    let desk = ReasoningTestRegistry::new();
    let arguments = root_arguments(&desk, json!({})).await;
    let before = stored_graph(&desk, &arguments["graph_id"]).await;
    for reply in [
        // Only a part of it can be read.
        r#"{"continuations": [{"thought": "one"}, {"thought": "two"#,
        r#"[{"thought": "one"}, {"thought": "two"}"#,
        r#"["one", "two",]"#,
        r#"{"thought": "#,
    ] {
        let mut arguments = arguments.clone();
        arguments["reply"] = json!(reply);
        let error = desk.call_err("reasoning_got_generate", arguments).await;
        assert_eq!(error.code(), "Validation", "{reply}: {error}");
        let message = error.to_string();
        let shape = "reply: must be an object with `continuations`";
        assert!(message.contains(shape), "{reply}: {message}");
    }
    assert_eq!(stored_graph(&desk, &arguments["graph_id"]).await, before);
    // What only looks like JSON is a thought.
    for reply in ["{x | x > 3} is a set", "[1] says so", "[Draft] an idea"] {
        let arguments = root_arguments(&desk, json!({})).await;
        let output = bring(&desk, arguments, json!(reply)).await;
        assert_eq!(texts(&output), [reply]);
    }
}
