//! `reasoning_got_prune`: what falls, and what stays.

use deliberate_core::{
    EdgeKind::{Aggregates, Contradicts, Generates, Refines},
    GraphEdge, GraphNode,
};
use serde_json::{Value, json};

use crate::{
    desk::Desk,
    graph_kit::{begun, edge, nodes, plant, planted},
};

fn terminal(node: GraphNode) -> GraphNode {
    GraphNode {
        is_terminal: true,
        ..node
    }
}

/// What a prune of these nodes takes away.
async fn pruned(nodes: Vec<GraphNode>, edges: Vec<GraphEdge>) -> (Desk, Value) {
    let desk = Desk::new();
    plant(&desk, nodes, edges).await;
    let output = desk
        .done("reasoning_got_prune", json!({ "graph_id": "g" }))
        .await;
    (desk, output)
}

#[tokio::test]
async fn weak_nodes_fall_with_what_grew_from_them_alone() {
    // r -> weak -> x -> y; r -> good; x and good meet in a diamond; weak -> end, a conclusion.
    let (desk, output) = pruned(
        vec![
            planted("r", 0, Some(0.0)),
            planted("weak", 1, Some(0.29)),
            planted("good", 1, Some(0.3)),
            planted("x", 2, None),
            planted("y", 3, Some(0.9)),
            planted("both", 3, None),
            terminal(planted("end", 2, Some(0.1))),
            planted("after-end", 3, None),
            planted("orphan", 1, None),
        ],
        vec![
            edge("r", Generates, "weak"),
            edge("r", Generates, "good"),
            edge("weak", Generates, "x"),
            edge("x", Generates, "y"),
            edge("x", Aggregates, "both"),
            edge("good", Aggregates, "both"),
            edge("weak", Generates, "end"),
            edge("end", Generates, "after-end"),
            edge("good", Contradicts, "y"),
        ],
    )
    .await;
    assert_eq!(output["pruned_node_ids"], json!(["weak", "x", "y"]));
    assert_eq!(output["pruned_count"], 3);
    assert_eq!(output["remaining_count"], 6);
    assert_eq!(output["threshold_used"], 0.3);
    assert_eq!(output["unscored_count"], 3, "both, after-end, orphan");
    assert!(
        output["note"]
            .as_str()
            .unwrap()
            .contains("reasoning_backtrack")
    );
    let left = nodes(&desk, &json!("g")).await;
    assert_eq!(left.len(), 9, "nothing is deleted");
    assert!(
        left.iter()
            .filter(|node| node.pruned)
            .all(|node| !node.is_active)
    );
    let again = desk
        .done("reasoning_got_prune", json!({ "graph_id": "g" }))
        .await;
    assert_eq!(again["pruned_count"], 0);
    assert_eq!(again.get("note"), None);
    let state = desk
        .done("reasoning_got_state", json!({ "graph_id": "g" }))
        .await;
    assert_eq!(state["node_count"], 6);
    assert_eq!(state["pruned_nodes"], 3);
    assert_eq!(state["edge_count"], 3);
}

#[tokio::test]
async fn both_sides_of_a_diamond_must_fall() {
    let (_, output) = pruned(
        vec![
            planted("r", 0, None),
            planted("a", 1, Some(0.1)),
            planted("b", 1, Some(0.2)),
            planted("both", 2, Some(1.0)),
        ],
        vec![
            edge("r", Generates, "a"),
            edge("r", Generates, "b"),
            edge("a", Aggregates, "both"),
            edge("b", Aggregates, "both"),
        ],
    )
    .await;
    assert_eq!(output["pruned_node_ids"], json!(["a", "b", "both"]));
}

#[tokio::test]
async fn what_was_made_better_outlives_its_first_version_but_not_its_line() {
    let line = |weak: f64| {
        (
            vec![
                planted("r", 0, None),
                planted("p", 1, Some(weak)),
                planted("first", 2, Some(0.2)),
                planted("better", 2, Some(0.9)),
                planted("child", 3, None),
            ],
            vec![
                edge("r", Generates, "p"),
                edge("p", Generates, "first"),
                edge("first", Refines, "better"),
                edge("better", Generates, "child"),
            ],
        )
    };
    let (nodes, edges) = line(0.5);
    let (desk, output) = pruned(nodes, edges).await;
    assert_eq!(output["pruned_node_ids"], json!(["first"]));
    let again = desk
        .done("reasoning_got_prune", json!({ "graph_id": "g" }))
        .await;
    assert_eq!(again["pruned_count"], 0);
    let (nodes, edges) = line(0.1);
    let (_, output) = pruned(nodes, edges).await;
    assert_eq!(
        output["pruned_node_ids"],
        json!(["p", "first", "better", "child"])
    );
}

#[tokio::test]
async fn the_threshold_is_the_graphs_own_or_the_one_given() {
    let desk = Desk::new();
    let graph = begun(&desk, json!({ "prune_threshold": 0.9 })).await;
    let id = &graph["graph_id"];
    let output = desk
        .done("reasoning_got_prune", json!({ "graph_id": id }))
        .await;
    assert_eq!(output["threshold_used"], 0.9);
    for threshold in [0.0, 0.5, 1.0] {
        let arguments = json!({ "graph_id": id, "threshold": threshold });
        let output = desk.done("reasoning_got_prune", arguments).await;
        assert_eq!(output["threshold_used"], threshold);
    }
    assert_eq!(nodes(&desk, id).await.len(), 1);
}

#[tokio::test]
async fn pruning_survives_a_cycle() {
    let (_, output) = pruned(
        vec![
            planted("r", 0, None),
            planted("a", 1, Some(0.1)),
            planted("b", 2, None),
            planted("c", 2, None),
        ],
        vec![
            edge("r", Generates, "a"),
            edge("a", Generates, "b"),
            edge("b", Generates, "c"),
            edge("c", Generates, "b"),
        ],
    )
    .await;
    assert_eq!(output["pruned_node_ids"], json!(["a", "b", "c"]));
}

#[tokio::test]
async fn half_of_a_thousand_nodes_fall_at_once() {
    let desk = Desk::new();
    let mut all = vec![planted("r", 0, None)];
    let mut edges = Vec::new();
    for number in 0..999 {
        let id = format!("n{number}");
        let score = if number % 2 == 0 { 0.1 } else { 0.9 };
        all.push(planted(&id, 1, Some(score)));
        edges.push(edge("r", Generates, &id));
    }
    plant(&desk, all, edges).await;
    let output = desk
        .done("reasoning_got_prune", json!({ "graph_id": "g" }))
        .await;
    assert_eq!(output["pruned_count"], 500);
    assert_eq!(output["remaining_count"], 500);
}
