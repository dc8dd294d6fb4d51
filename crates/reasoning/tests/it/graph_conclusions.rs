//! Conclusions that `reasoning_got_finalize` chose itself, in a graph that grows further.

use serde_json::{Value, json};

use super::{
    graph_fixtures::{
        aggregate_reply, generate_nodes, init_graph, load_node, node_ids, refine_reply, score_reply,
    },
    test_registry::ReasoningTestRegistry,
};

/// A graph that was concluded with its three nodes, which no caller named.
async fn concluded_graph(registry: &ReasoningTestRegistry) -> (Value, Vec<Value>) {
    let graph = init_graph(registry, json!({})).await;
    let (id, root) = (graph["graph_id"].clone(), &graph["root_node_id"]);
    let nodes = generate_nodes(registry, &id, root, &["a", "b", "c"]).await;
    assert_eq!(finalize(registry, &id).await, nodes);
    (id, nodes)
}

/// The conclusions of a call that names none.
async fn finalize(registry: &ReasoningTestRegistry, graph: &Value) -> Vec<Value> {
    let arguments = json!({ "graph_id": graph });
    let output = registry.call_ok("reasoning_got_finalize", arguments).await;
    node_ids(&output["conclusions"])
}

async fn terminal_nodes(registry: &ReasoningTestRegistry, graph: &Value) -> Value {
    let arguments = json!({ "graph_id": graph });
    let state = registry.call_ok("reasoning_got_state", arguments).await;
    state["terminal_node_ids"].clone()
}

#[tokio::test]
async fn chosen_conclusions_give_way_to_their_merge() {
    let desk = ReasoningTestRegistry::new();
    let (id, nodes) = concluded_graph(&desk).await;
    desk.script_replies([aggregate_reply("a and b")]);
    let arguments = json!({ "graph_id": id, "best": 2 });
    let merged = desk.call_ok("reasoning_got_aggregate", arguments).await;
    assert_eq!(merged["source_nodes"], json!(nodes[..2]));
    let merged = merged["aggregated_node_id"].clone();
    assert_eq!(finalize(&desk, &id).await, std::slice::from_ref(&merged));
    assert_eq!(
        finalize(&desk, &id).await,
        std::slice::from_ref(&merged),
        "and again"
    );
    assert_eq!(terminal_nodes(&desk, &id).await, json!([merged]));
    // The merged nodes are used up; the one that was left over can be worked on.
    let active = [&nodes[0], &nodes[2]].map(|node| load_node(&desk, node));
    let active = futures::future::join_all(active).await;
    assert_eq!(
        active.iter().map(|it| it.is_active).collect::<Vec<_>>(),
        [false, true]
    );
}

#[tokio::test]
async fn a_chosen_conclusion_gives_way_to_its_refinement() {
    let desk = ReasoningTestRegistry::new();
    let (id, nodes) = concluded_graph(&desk).await;
    desk.script_replies([refine_reply("better"), score_reply(50), score_reply(75)]);
    let arguments = json!({ "graph_id": id, "node_id": nodes[0] });
    let better = desk.call_ok("reasoning_got_refine", arguments).await;
    let better = better["refined_node_id"].clone();
    assert_eq!(finalize(&desk, &id).await, std::slice::from_ref(&better));
    // It was not named either, so it gives way in its turn.
    desk.script_replies([aggregate_reply("all")]);
    let arguments = json!({ "graph_id": id, "node_ids": [better, nodes[1]] });
    let merged = desk.call_ok("reasoning_got_aggregate", arguments).await;
    let merged = merged["aggregated_node_id"].clone();
    assert_eq!(finalize(&desk, &id).await, [merged]);
}

#[tokio::test]
async fn a_chosen_conclusion_is_continued() {
    let desk = ReasoningTestRegistry::new();
    let (id, nodes) = concluded_graph(&desk).await;
    let deeper = generate_nodes(&desk, &id, &nodes[1], &["d"]).await;
    assert_eq!(finalize(&desk, &id).await, deeper);
}

#[tokio::test]
async fn a_conclusion_that_is_named_later_stays() {
    let desk = ReasoningTestRegistry::new();
    let (id, nodes) = concluded_graph(&desk).await;
    let name = json!({ "graph_id": id, "terminal_node_ids": nodes });
    desk.call_ok("reasoning_got_finalize", name).await;
    let arguments = json!({ "graph_id": id, "best": 2 });
    let error = desk.call_err("reasoning_got_aggregate", arguments).await;
    let rule = "that are not yet merged, refined or named as conclusions";
    assert!(error.to_string().contains(rule), "{error}");
    desk.script_replies([aggregate_reply("a and b")]);
    let arguments = json!({ "graph_id": id, "node_ids": nodes[..2] });
    desk.call_ok("reasoning_got_aggregate", arguments).await;
    assert_eq!(finalize(&desk, &id).await, nodes);
    let arguments = json!({ "graph_id": id, "node_id": nodes[0] });
    let error = desk.call_err("reasoning_got_generate", arguments).await;
    assert_eq!(error.code(), "LimitReached");
}
