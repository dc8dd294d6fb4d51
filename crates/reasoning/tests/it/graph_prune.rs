//! Tests of `reasoning_got_prune`.

use deliberate_core::{
    EdgeKind::{Aggregates, Contradicts, Generates, Refines},
    GraphEdge, GraphNode,
};
use deliberate_store::EpochFilter;
use serde_json::{Value, json};

use super::{
    graph_fixtures::{
        current_nodes, generate_answers, generate_nodes, init_graph, insert_graph, sample_edge,
        sample_node, score_fields, score_reply_with, stored_graph,
    },
    test_registry::{FULL_PAGE, ReasoningTestRegistry},
};

fn mark_terminal(node: GraphNode) -> GraphNode {
    GraphNode {
        is_terminal: true,
        ..node
    }
}

/// Prunes a graph of these nodes.
async fn prune_graph(
    nodes: Vec<GraphNode>,
    edges: Vec<GraphEdge>,
) -> (ReasoningTestRegistry, Value) {
    let desk = ReasoningTestRegistry::new();
    insert_graph(&desk, nodes, edges).await;
    let output = desk
        .call_ok("reasoning_got_prune", json!({ "graph_id": "g" }))
        .await;
    (desk, output)
}

#[tokio::test]
async fn weak_nodes_fall_with_what_grew_from_them_alone() {
    // r -> weak -> x -> y; r -> good; x and good meet in a diamond; weak -> end, a conclusion.
    let (desk, output) = prune_graph(
        vec![
            sample_node("r", 0, Some(0.0)),
            sample_node("weak", 1, Some(0.29)),
            sample_node("good", 1, Some(0.3)),
            sample_node("x", 2, None),
            sample_node("y", 3, Some(0.9)),
            sample_node("both", 3, None),
            mark_terminal(sample_node("end", 2, Some(0.1))),
            sample_node("after-end", 3, None),
            sample_node("orphan", 1, None),
        ],
        vec![
            sample_edge("r", Generates, "weak"),
            sample_edge("r", Generates, "good"),
            sample_edge("weak", Generates, "x"),
            sample_edge("x", Generates, "y"),
            sample_edge("x", Aggregates, "both"),
            sample_edge("good", Aggregates, "both"),
            sample_edge("weak", Generates, "end"),
            sample_edge("end", Generates, "after-end"),
            sample_edge("good", Contradicts, "y"),
        ],
    )
    .await;
    assert_eq!(output["pruned_node_ids"], json!(["weak", "x", "y"]));
    assert_eq!(output["pruned_count"], 3);
    assert_eq!(output["remaining_count"], 6);
    assert_eq!(output["threshold_used"], 0.3);
    assert_eq!(output["unscored_count"], 3, "both, after-end, orphan");
    assert!(output["undo_checkpoint_id"].is_string());
    let left = current_nodes(&desk, &json!("g")).await;
    assert_eq!(left.len(), 9, "nothing is deleted");
    assert!(
        left.iter()
            .filter(|node| node.pruned)
            .all(|node| !node.is_active)
    );
    let again = desk
        .call_ok("reasoning_got_prune", json!({ "graph_id": "g" }))
        .await;
    assert_eq!(again["pruned_count"], 0);
    assert_eq!(again.get("undo_checkpoint_id"), None);
    let state = desk
        .call_ok("reasoning_got_state", json!({ "graph_id": "g" }))
        .await;
    assert_eq!(state["node_count"], 6);
    assert_eq!(state["pruned_nodes"], 3);
    assert_eq!(state["edge_count"], 3);
}

#[tokio::test]
async fn what_was_pruned_comes_back_by_the_checkpoint_of_the_answer() {
    let desk = ReasoningTestRegistry::new();
    insert_graph(
        &desk,
        vec![
            sample_node("r", 0, None),
            sample_node("weak", 1, Some(0.1)),
            sample_node("below", 2, None),
            sample_node("good", 1, Some(0.9)),
        ],
        vec![
            sample_edge("r", Generates, "weak"),
            sample_edge("weak", Generates, "below"),
            sample_edge("r", Generates, "good"),
        ],
    )
    .await;
    let before = stored_graph(&desk, &json!("g")).await;
    let pruned = desk
        .call_ok("reasoning_got_prune", json!({ "graph_id": "g" }))
        .await;
    assert_eq!(pruned["pruned_node_ids"], json!(["weak", "below"]));
    let listed = desk
        .call_ok("reasoning_checkpoint_list", json!({ "session_id": "s" }))
        .await;
    let listed = &listed["checkpoints"][0];
    assert_eq!(listed["name"], "before pruning");
    let back = json!({ "checkpoint_id": pruned["undo_checkpoint_id"] });
    let restored = desk.call_ok("reasoning_backtrack", back).await;
    assert_eq!(stored_graph(&desk, &json!("g")).await, before);
    assert_eq!(desk.requests(), [], "no model is asked");

    // And the way back has a way back.
    let again = json!({ "checkpoint_id": restored["undo_checkpoint_id"] });
    desk.call_ok("reasoning_backtrack", again).await;
    let nodes = current_nodes(&desk, &json!("g")).await;
    let gone: Vec<_> = nodes
        .iter()
        .filter(|it| it.pruned)
        .map(|it| it.id.as_str())
        .collect();
    assert_eq!(gone, ["weak", "below"]);
}

#[tokio::test]
async fn a_new_falsehood_is_pruned_and_a_plain_truth_stays() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let children = generate_nodes(&desk, id, root, &["false but new", "plain and true"]).await;
    // Relevance, validity, depth, novelty.
    let measures = [[90, 10, 95, 100], [60, 95, 20, 10]];
    let mut scores = Vec::new();
    for (child, measures) in children.iter().zip(measures) {
        desk.script_replies([score_reply_with(measures.map(|it| json!(it)))]);
        let arguments = json!({ "graph_id": id, "node_id": child });
        let output = desk.call_ok("reasoning_got_score", arguments).await;
        assert_eq!(output["is_terminal_candidate"], false);
        scores.push(output["overall_score"].as_f64().unwrap());
    }
    assert_eq!(scores, [0.1, 0.745]);
    let pruned = desk
        .call_ok("reasoning_got_prune", json!({ "graph_id": id }))
        .await;
    assert_eq!(pruned["pruned_node_ids"], json!([children[0]]));
}

#[tokio::test]
async fn both_sides_of_a_diamond_must_fall() {
    let (_, output) = prune_graph(
        vec![
            sample_node("r", 0, None),
            sample_node("a", 1, Some(0.1)),
            sample_node("b", 1, Some(0.2)),
            sample_node("both", 2, Some(1.0)),
        ],
        vec![
            sample_edge("r", Generates, "a"),
            sample_edge("r", Generates, "b"),
            sample_edge("a", Aggregates, "both"),
            sample_edge("b", Aggregates, "both"),
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
                sample_node("r", 0, None),
                sample_node("p", 1, Some(weak)),
                sample_node("first", 2, Some(0.2)),
                sample_node("better", 2, Some(0.9)),
                sample_node("child", 3, None),
            ],
            vec![
                sample_edge("r", Generates, "p"),
                sample_edge("p", Generates, "first"),
                sample_edge("first", Refines, "better"),
                sample_edge("better", Generates, "child"),
            ],
        )
    };
    let (nodes, edges) = line(0.5);
    let (desk, output) = prune_graph(nodes, edges).await;
    assert_eq!(output["pruned_node_ids"], json!(["first"]));
    let again = desk
        .call_ok("reasoning_got_prune", json!({ "graph_id": "g" }))
        .await;
    assert_eq!(again["pruned_count"], 0);
    let (nodes, edges) = line(0.1);
    let (_, output) = prune_graph(nodes, edges).await;
    assert_eq!(
        output["pruned_node_ids"],
        json!(["p", "first", "better", "child"])
    );
}

#[tokio::test]
async fn the_threshold_is_the_graphs_own_or_the_one_given() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({ "prune_threshold": 0.9 })).await;
    let id = &graph["graph_id"];
    let output = desk
        .call_ok("reasoning_got_prune", json!({ "graph_id": id }))
        .await;
    assert_eq!(output["threshold_used"], 0.9);
    for threshold in [0.0, 0.5, 1.0] {
        let arguments = json!({ "graph_id": id, "threshold": threshold });
        let output = desk.call_ok("reasoning_got_prune", arguments).await;
        assert_eq!(output["threshold_used"], threshold);
    }
    assert_eq!(current_nodes(&desk, id).await.len(), 1);
}

#[tokio::test]
async fn pruning_survives_a_cycle() {
    let (_, output) = prune_graph(
        vec![
            sample_node("r", 0, None),
            sample_node("a", 1, Some(0.1)),
            sample_node("b", 2, None),
            sample_node("c", 2, None),
        ],
        vec![
            sample_edge("r", Generates, "a"),
            sample_edge("a", Generates, "b"),
            sample_edge("b", Generates, "c"),
            sample_edge("c", Generates, "b"),
        ],
    )
    .await;
    assert_eq!(output["pruned_node_ids"], json!(["a", "b", "c"]));
}

#[tokio::test]
async fn half_of_a_thousand_nodes_fall_at_once() {
    let desk = ReasoningTestRegistry::new();
    let mut all = vec![sample_node("r", 0, None)];
    let mut edges = Vec::new();
    for number in 0..999 {
        let id = format!("n{number}");
        let score = if number % 2 == 0 { 0.1 } else { 0.9 };
        all.push(sample_node(&id, 1, Some(score)));
        edges.push(sample_edge("r", Generates, &id));
    }
    insert_graph(&desk, all, edges).await;
    let output = desk
        .call_ok("reasoning_got_prune", json!({ "graph_id": "g" }))
        .await;
    assert_eq!(output["pruned_count"], 500);
    assert_eq!(output["remaining_count"], 500);
}

#[tokio::test]
async fn undoing_a_prune_says_how_many_nodes_came_back() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    generate_answers(&desk, id, root, &["1", "2"]).await;
    let scores = ["n2", "n3"].map(|node| {
        let mut fields = score_fields([json!(5), json!(5), json!(5), json!(5)]);
        fields["node"] = json!(node);
        fields
    });
    let score = json!({
        "graph_id": id, "node_ids": ["n2", "n3"], "reply": { "scores": scores },
    });
    desk.call_ok("reasoning_got_score", score).await;
    let pruned = desk
        .call_ok("reasoning_got_prune", json!({ "graph_id": id }))
        .await;
    assert_eq!(pruned["pruned_count"], 2);
    let back = json!({ "checkpoint_id": pruned["undo_checkpoint_id"] });
    let undone = desk.call_ok("reasoning_backtrack", back).await;
    assert_eq!(undone["brought_back"]["nodes"], 2);
    assert_eq!(undone["set_aside"]["nodes"], 0);
    let again = json!({ "checkpoint_id": undone["undo_checkpoint_id"] });
    let again = desk.call_ok("reasoning_backtrack", again).await;
    assert_eq!(again["set_aside"]["nodes"], 2);
    assert_eq!(again["brought_back"]["nodes"], 0);
}

#[tokio::test]
async fn a_new_direction_starts_from_a_node_that_was_open_at_the_checkpoint() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let session = &graph["session_id"];
    let children = generate_answers(&desk, id, root, &["1"]).await;
    let place = json!({ "session_id": session, "name": "still open" });
    let place = desk.call_ok("reasoning_checkpoint_create", place).await;
    let end = json!({ "graph_id": id, "terminal_node_ids": ["n2"] });
    desk.call_ok("reasoning_got_finalize", end).await;
    let back = json!({ "checkpoint_id": place["checkpoint_id"] });
    let undo = desk.call_ok("reasoning_backtrack", back).await["undo_checkpoint_id"].clone();
    let reply = json!({
        "thought": "Turned.", "answer": "7", "weakest_point": "w", "confidence_percent": 90,
    });
    let turn = |checkpoint: &Value| {
        let direction = "elsewhere";
        json!({ "checkpoint_id": checkpoint, "new_direction": direction, "reply": reply })
    };
    let turned = desk.call_ok("reasoning_backtrack", turn(&undo)).await;
    let node = turned["new_node_id"].as_str().unwrap();
    let graph_id = id.as_str().unwrap().into();
    let edges = desk.store.edges(&graph_id, EpochFilter::Current, FULL_PAGE);
    let edges = edges.await.unwrap();
    let edge = edges
        .iter()
        .find(|edge| edge.to_node.as_str() == node)
        .unwrap();
    assert_eq!(
        edge.from_node.as_str(),
        root,
        "the only other node is a conclusion there"
    );
    // A node that is a conclusion now was open at this checkpoint.
    let turned = turn(&place["checkpoint_id"]);
    let turned = desk.call_ok("reasoning_backtrack", turned).await;
    let node = turned["new_node_id"].as_str().unwrap();
    let edges = desk.store.edges(&graph_id, EpochFilter::Current, FULL_PAGE);
    let edges = edges.await.unwrap();
    let edge = edges.iter().find(|edge| edge.to_node.as_str() == node);
    assert_eq!(edge.unwrap().from_node.as_str(), children[0]);
    // The node has the result of the thought, which a conclusion repeats.
    let end = json!({ "graph_id": id, "terminal_node_ids": [node] });
    let end = desk.call_ok("reasoning_got_finalize", end).await;
    assert_eq!(end["conclusions"][0]["answer"], "7");
    assert_eq!(end["conclusions"][0]["weakest_point"], "w");
}
