//! Tests of `reasoning_got_generate` and of the graph's limits.

use deliberate_core::{EdgeKind, NodeKind, Score};
use deliberate_llm::ModelRequest;
use deliberate_store::Pagination;
use deliberate_toolkit::CallOutcome;
use serde_json::{Value, json};

use super::{
    graph_fixtures::{
        continuation_reply, current_edges, current_nodes, generate_nodes, init_graph, load_node,
        score_reply, stored_graph,
    },
    test_registry::{ReasoningTestRegistry, text_reply},
};

async fn generate(
    registry: &ReasoningTestRegistry,
    graph: &Value,
    node: &Value,
    k: Value,
) -> Value {
    let mut arguments = json!({ "graph_id": graph, "node_id": node });
    if !k.is_null() {
        arguments["k"] = k;
    }
    registry.call_ok("reasoning_got_generate", arguments).await
}

/// The angle that a request names; the first is free and has none.
fn requested_angle(ask: &ModelRequest) -> Option<String> {
    let text = &ask.messages[0].text;
    let (_, rest) = text.split_once("The way to go, if the problem allows several: ")?;
    Some(rest.lines().next().unwrap().to_owned())
}

/// A field of each item of a list.
fn array_field(output: &Value, list: &str, field: &str) -> Vec<Value> {
    let items = output[list].as_array().unwrap().iter();
    items.map(|it| it[field].clone()).collect()
}

#[tokio::test]
async fn a_node_gets_its_continuations() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    desk.script_replies([
        continuation_reply("one"),
        text_reply(
            r#"{"thought": "two", "kind": "poem", "answer": 2, "confidence_percent": "85%"}"#,
        ),
        text_reply(
            r#"```json
            {"content": "three", "kind": "Conclusion", "confidence": 0.4, "rationale": "it may lead on"}
            ```"#,
        ),
    ]);
    let output = generate(&desk, id, root, Value::Null).await;
    assert_eq!(output["session_id"], graph["session_id"]);
    assert_eq!(output["source_node_id"], *root);
    assert_eq!(output["count"], 3);
    assert_eq!(output["duplicates_dropped"], 0);
    assert_eq!(output.get("note"), None);
    let seen: Vec<_> = output["continuations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            (
                it["content"].as_str(),
                it["node_type"].as_str(),
                it["confidence"].as_f64(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (Some("one"), Some("hypothesis"), Some(0.5)),
            (Some("two"), Some("thought"), Some(0.85)),
            (Some("three"), Some("conclusion"), Some(0.4)),
        ]
    );
    assert_eq!(output["continuations"][0]["weakest_point"], "untested");
    let answers = array_field(&output, "continuations", "answer");
    assert_eq!(answers, [Value::Null, json!("2"), Value::Null]);
    let rationales = array_field(&output, "continuations", "rationale");
    assert_eq!(
        rationales,
        [Value::Null, Value::Null, json!("it may lead on")]
    );
    let one = load_node(&desk, &output["continuations"][0]["node_id"]).await;
    assert_eq!(
        (one.node_type, one.depth, one.score),
        (NodeKind::Hypothesis, 1, None)
    );
    assert!(one.is_active && !one.is_terminal);
    assert_eq!(
        one.metadata,
        Some(json!({ "confidence": 0.5, "weakest_point": "untested" }))
    );
    let all = current_edges(&desk, id).await;
    assert_eq!(all.len(), 3);
    assert!(all.iter().all(|edge| edge.edge_type == EdgeKind::Generates));
    assert_eq!(all[1].weight, Score::new(0.85).unwrap());
    assert!(!load_node(&desk, root).await.is_active);

    // A node can be continued again, from other angles.
    let before = desk.requests();
    generate_nodes(&desk, id, root, &["four"]).await;
    let again = desk.requests().pop().unwrap();
    assert!(requested_angle(&again).is_some());
    assert!(
        before
            .iter()
            .all(|ask| requested_angle(ask) != requested_angle(&again))
    );
    assert!(
        again.messages[0]
            .text
            .contains("<node-7e57ed>three</node-7e57ed>")
    );
    assert_eq!(current_nodes(&desk, id).await.len(), 5);
}

#[tokio::test]
async fn ten_continuations_are_asked_in_ten_ways() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let output = generate(&desk, &graph["graph_id"], &graph["root_node_id"], json!(10)).await;
    assert_eq!(output["count"], 10);
    let asked = desk.requests();
    let texts: std::collections::HashSet<_> =
        asked.iter().map(|ask| &ask.messages[0].text).collect();
    let keys: std::collections::HashSet<_> = asked.iter().map(|ask| &ask.key).collect();
    assert_eq!((texts.len(), keys.len()), (10, 10));
    assert!(keys.contains(&"got_generate_10".to_owned()));
}

#[tokio::test]
async fn what_was_said_before_is_dropped() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    generate_nodes(&desk, id, root, &["Known already"]).await;
    desk.script_replies([
        continuation_reply("new"),
        continuation_reply("New!"),
        continuation_reply("known   ALREADY."),
        continuation_reply("The root"),
    ]);
    let output = generate(&desk, id, root, json!(4)).await;
    assert_eq!(output["count"], 1);
    assert_eq!(output["duplicates_dropped"], 3);
    assert_eq!(current_nodes(&desk, id).await.len(), 3);
}

#[tokio::test]
async fn nothing_new_changes_nothing() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let before = stored_graph(&desk, id).await;
    desk.script_replies([
        continuation_reply("the root"),
        continuation_reply("THE ROOT"),
    ]);
    let output = generate(&desk, id, root, json!(2)).await;
    assert_eq!(output["count"], 0);
    assert_eq!(output["continuations"], json!([]));
    assert_eq!(output["duplicates_dropped"], 2);
    assert!(output["note"].as_str().unwrap().contains("nothing changed"));
    assert_eq!(stored_graph(&desk, id).await, before);
    assert!(load_node(&desk, root).await.is_active);

    // Empty answers do not become thoughts.
    desk.script_replies(["", "{}", r#"{"thought": " "}"#, "[]"].map(text_reply));
    let arguments = json!({ "graph_id": id, "node_id": root, "k": 2 });
    let error = desk.call_err("reasoning_got_generate", arguments).await;
    assert_eq!(error.code(), "InvalidResponse");
    assert_eq!(stored_graph(&desk, id).await, before);
}

#[tokio::test]
async fn what_fails_does_not_cost_the_rest() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    desk.script_replies([
        text_reply("{}"),
        text_reply("{}"),
        continuation_reply("good"),
    ]);
    let output = generate(&desk, &graph["graph_id"], &graph["root_node_id"], json!(2)).await;
    assert_eq!(output["count"], 1);
    assert_eq!(
        output["note"],
        "1 of 2 model requests failed (InvalidResponse)"
    );
}

#[tokio::test]
async fn limits_are_obeyed() {
    let desk = ReasoningTestRegistry::new();
    let config = json!({ "max_depth": 1, "max_branches": 2, "max_nodes": 4 });
    let graph = init_graph(&desk, config).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let refused = |node: Value, k: u32| {
        let arguments = json!({ "graph_id": id, "node_id": node, "k": k });
        desk.call_err("reasoning_got_generate", arguments)
    };
    let error = refused(root.clone(), 3).await;
    assert_eq!(error.code(), "LimitReached");
    assert!(
        error.to_string().contains("allows 2 continuations"),
        "{error}"
    );
    assert_eq!(desk.requests(), []);

    let output = generate(&desk, id, root, Value::Null).await;
    assert_eq!(output["count"], 2, "max_branches is the default too");
    let child = &output["continuations"][0]["node_id"];
    let error = refused(child.clone(), 1).await;
    assert_eq!(error.code(), "LimitReached");
    assert!(error.to_string().contains("depth 2"), "{error}");

    let output = generate(&desk, id, root, Value::Null).await;
    assert_eq!(output["count"], 1, "room for one is left");
    assert!(
        output["note"]
            .as_str()
            .unwrap()
            .contains("limit of 4 nodes")
    );
    let error = refused(root.clone(), 1).await;
    assert_eq!(error.code(), "LimitReached");
    assert!(error.to_string().contains("its limit is 4"), "{error}");
    for tool in ["reasoning_got_refine"] {
        let error = desk
            .call_err(tool, json!({ "graph_id": id, "node_id": child }))
            .await;
        assert_eq!(error.code(), "LimitReached");
    }
    assert_eq!(current_nodes(&desk, id).await.len(), 4);

    // Pruned nodes do not count against the limit.
    desk.script_replies([score_reply(5)]);
    desk.call_ok(
        "reasoning_got_score",
        json!({ "graph_id": id, "node_id": child }),
    )
    .await;
    desk.call_ok("reasoning_got_prune", json!({ "graph_id": id }))
        .await;
    assert_eq!(generate(&desk, id, root, json!(1)).await["count"], 1);
}

#[tokio::test]
async fn three_continuations_are_usual_where_they_are_allowed() {
    let desk = ReasoningTestRegistry::new();
    for (most, usual) in [(1, 1), (2, 2), (3, 3), (5, 3), (10, 3)] {
        let graph = init_graph(&desk, json!({ "max_branches": most })).await;
        let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
        assert_eq!(generate(&desk, id, root, Value::Null).await["count"], usual);
        let output = generate(&desk, id, root, json!(most)).await;
        assert_eq!(output["count"], most);
    }
}

#[tokio::test]
async fn what_was_given_up_is_not_offered_again() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let long = format!("Long {}", "and longer ".repeat(200));
    let children = generate_nodes(&desk, id, root, &["Weak", &long, "good"]).await;
    for child in &children[..2] {
        desk.script_replies([score_reply(5)]);
        let arguments = json!({ "graph_id": id, "node_id": child });
        desk.call_ok("reasoning_got_score", arguments).await;
    }
    desk.call_ok("reasoning_got_prune", json!({ "graph_id": id }))
        .await;
    let first: Vec<_> = desk
        .requests()
        .iter()
        .take(3)
        .map(requested_angle)
        .collect();
    desk.script_replies([
        continuation_reply("weak!"),
        continuation_reply(&long),
        continuation_reply("fresh"),
    ]);
    let output = generate(&desk, id, root, json!(3)).await;
    assert_eq!(output["count"], 1);
    assert_eq!(output["duplicates_dropped"], 2);
    assert_eq!(output["continuations"][0]["content"], "fresh");
    let again = desk.requests().split_off(5);
    assert!(
        again
            .iter()
            .all(|ask| !first.contains(&requested_angle(ask)))
    );
    let text = &again[0].messages[0].text;
    let (before, given_up) = text.split_once("These were tried and given up").unwrap();
    assert!(before.contains("<node-7e57ed>good</node-7e57ed>") && !before.contains("Weak"));
    assert!(
        given_up.contains("<node-7e57ed>Weak</node-7e57ed>")
            && !given_up.contains("<node-7e57ed>good</node-7e57ed>")
    );
}

#[tokio::test]
async fn a_conclusion_is_not_continued() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let children = generate_nodes(&desk, id, root, &["a", "b"]).await;
    let end = json!({ "graph_id": id, "terminal_node_ids": [children[0]] });
    desk.call_ok("reasoning_got_finalize", end).await;
    let arguments = json!({ "graph_id": id, "node_id": children[0] });
    let error = desk.call_err("reasoning_got_generate", arguments).await;
    assert_eq!(error.code(), "LimitReached");
    assert!(error.to_string().contains("is a conclusion"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_at_the_same_time_never_exceed_the_limit_of_nodes() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({ "max_nodes": 50 })).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let calls = (0..64).map(|_| {
        let arguments = json!({ "graph_id": id, "node_id": root });
        desk.call_tool("reasoning_got_generate", arguments)
    });
    let mut answered = 0;
    for outcome in futures::future::join_all(calls).await {
        match outcome {
            Ok(CallOutcome::Done(output)) => answered += output["count"].as_u64().unwrap(),
            Ok(other) => panic!("{other:?}"),
            Err(error) => assert!(
                ["Conflict", "LimitReached"].contains(&error.code()),
                "{error}"
            ),
        }
    }
    let all = current_nodes(&desk, id).await;
    assert!(all.len() <= 50, "{}", all.len());
    assert_eq!(all.len() as u64, answered + 1);
    assert_eq!(current_edges(&desk, id).await.len() as u64, answered);
}

#[tokio::test]
async fn a_long_line_is_shown_within_bounds() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({ "max_depth": 100 })).await;
    let id = &graph["graph_id"];
    let mut at = graph["root_node_id"].clone();
    for number in 0..40 {
        let text = format!("step {number} {}", "word ".repeat(300));
        at = generate_nodes(&desk, id, &at, &[&text]).await.remove(0);
    }
    let text = &desk.last_request().messages[0].text;
    assert!(deliberate_core::approximate_tokens(text) < 6_000);
    assert!(
        text.contains("<node-7e57ed>the root</node-7e57ed>") && text.contains("step 37"),
        "{text}"
    );
    assert!(text.contains("(nodes in between are left out: "));
    let records = desk
        .store
        .invocations(None, Pagination::limit(1))
        .await
        .unwrap();
    assert_eq!(records[0].spent.model_calls, 1);
    assert_eq!(current_nodes(&desk, id).await.last().unwrap().depth, 40);
}
