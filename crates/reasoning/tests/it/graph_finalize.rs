//! Tests of `reasoning_got_finalize` and `reasoning_got_state`.

use deliberate_core::{
    EdgeKind::{Aggregates, Contradicts, Generates, Refines},
    GraphNode, NodeKind,
};
use serde_json::{Value, json};

use super::{
    graph_fixtures::{
        aggregate_reply, generate_answers, generate_nodes, init_graph, insert_graph, load_node,
        node_ids, refine_reply, sample_edge, sample_node, score_reply, stored_graph,
    },
    test_registry::ReasoningTestRegistry,
};

/// The conclusions of finalize without named nodes.
async fn conclusions(registry: &ReasoningTestRegistry, graph: &Value) -> Vec<String> {
    let output = registry
        .call_ok("reasoning_got_finalize", json!({ "graph_id": graph }))
        .await;
    let conclusions = output["conclusions"].as_array().unwrap();
    let ids = conclusions.iter().map(|it| it["node_id"].as_str().unwrap());
    ids.map(str::to_owned).collect()
}

fn with_kind(node_type: NodeKind, node: GraphNode, confidence: f64) -> GraphNode {
    GraphNode {
        node_type,
        metadata: Some(json!({ "confidence": confidence })),
        ..node
    }
}

#[tokio::test]
async fn what_was_merged_or_made_better_is_represented_by_what_it_became() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let id = &graph["graph_id"];
    let children = generate_nodes(&desk, id, &graph["root_node_id"], &["1", "2", "3"]).await;
    for (child, percent) in children.iter().zip([50, 95, 60]) {
        desk.script_replies([score_reply(percent)]);
        let arguments = json!({ "graph_id": id, "node_id": child });
        desk.call_ok("reasoning_got_score", arguments).await;
    }
    desk.script_replies([
        refine_reply("better"),
        score_reply(70),
        aggregate_reply("all"),
    ]);
    let arguments = json!({ "graph_id": id, "node_id": children[2] });
    let better = desk.call_ok("reasoning_got_refine", arguments).await;
    let ids = json!([children[1], better["refined_node_id"]]);
    let arguments = json!({ "graph_id": id, "node_ids": ids });
    let all = desk.call_ok("reasoning_got_aggregate", arguments).await;
    // The first child was left over beside the merged node.
    let expected = [all["aggregated_node_id"].as_str().unwrap()];
    assert_eq!(conclusions(&desk, id).await, expected);
    assert_eq!(conclusions(&desk, id).await, expected, "and again");
}

#[tokio::test]
async fn a_refined_node_is_preferred_to_a_better_one_that_was_left_over() {
    let desk = ReasoningTestRegistry::new();
    insert_graph(
        &desk,
        vec![
            sample_node("r", 0, Some(1.0)),
            sample_node("best", 1, Some(0.9)),
            sample_node("first", 1, Some(0.4)),
            with_kind(
                NodeKind::Refinement,
                sample_node("better", 1, Some(0.6)),
                0.6,
            ),
        ],
        vec![
            sample_edge("r", Generates, "best"),
            sample_edge("r", Generates, "first"),
            sample_edge("first", Refines, "better"),
        ],
    )
    .await;
    assert_eq!(conclusions(&desk, &json!("g")).await, ["better"]);
    // A caller can still name the one that was left over.
    let arguments = json!({ "graph_id": "g", "terminal_node_ids": ["best"] });
    desk.call_ok("reasoning_got_finalize", arguments).await;
    assert_eq!(conclusions(&desk, &json!("g")).await, ["best", "better"]);
}

#[tokio::test]
async fn what_grew_from_a_merged_node_is_no_leftover() {
    let desk = ReasoningTestRegistry::new();
    insert_graph(
        &desk,
        vec![
            sample_node("r", 0, None),
            sample_node("a", 1, Some(0.99)),
            sample_node("b", 1, Some(0.5)),
            sample_node("c", 1, Some(0.5)),
            with_kind(NodeKind::Aggregation, sample_node("all", 2, None), 0.6),
            sample_node("beyond", 3, Some(0.9)),
            sample_node("unscored", 4, None),
        ],
        vec![
            sample_edge("r", Generates, "a"),
            sample_edge("r", Generates, "b"),
            sample_edge("r", Generates, "c"),
            sample_edge("b", Aggregates, "all"),
            sample_edge("c", Aggregates, "all"),
            sample_edge("all", Generates, "beyond"),
            sample_edge("beyond", Generates, "unscored"),
        ],
    )
    .await;
    assert_eq!(conclusions(&desk, &json!("g")).await, ["beyond", "all"]);
}

#[tokio::test]
async fn what_a_later_merge_left_over_is_no_conclusion() {
    let desk = ReasoningTestRegistry::new();
    let merged = |id: &str, depth| {
        with_kind(
            NodeKind::Aggregation,
            sample_node(id, depth, Some(0.6)),
            0.6,
        )
    };
    insert_graph(
        &desk,
        vec![
            sample_node("r", 0, None),
            sample_node("a", 1, None),
            sample_node("b", 1, None),
            merged("first", 2),
            sample_node("c", 3, Some(0.5)),
            sample_node("d", 3, Some(0.5)),
            sample_node("left", 3, Some(0.99)),
            merged("second", 4),
        ],
        vec![
            sample_edge("r", Generates, "a"),
            sample_edge("r", Generates, "b"),
            sample_edge("a", Aggregates, "first"),
            sample_edge("b", Aggregates, "first"),
            sample_edge("first", Generates, "c"),
            sample_edge("first", Generates, "d"),
            sample_edge("first", Generates, "left"),
            sample_edge("c", Aggregates, "second"),
            sample_edge("d", Aggregates, "second"),
        ],
    )
    .await;
    assert_eq!(conclusions(&desk, &json!("g")).await, ["second"]);
}

#[tokio::test]
async fn a_better_wording_of_the_question_is_no_conclusion_of_itself() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let arguments = json!({ "graph_id": id, "node_id": root, "reply": "the question, better" });
    let better = desk.call_ok("reasoning_got_refine", arguments).await;
    let better = &better["refined_node_id"];
    let finalize = json!({ "graph_id": id });
    let output = desk.call_ok("reasoning_got_finalize", finalize).await;
    assert_eq!(output["terminal_count"], 0);
    let children = generate_answers(&desk, id, better, &["41", "42"]).await;
    assert_eq!(conclusions(&desk, id).await, children);
}

#[tokio::test]
async fn what_was_replaced_comes_back_where_nothing_else_is_left() {
    for (pruned, expected) in [(false, ["whole"]), (true, ["part"])] {
        let desk = ReasoningTestRegistry::new();
        let whole = with_kind(NodeKind::Aggregation, sample_node("whole", 2, None), 0.1);
        let nodes = vec![
            sample_node("r", 0, None),
            sample_node("part", 1, Some(0.9)),
            GraphNode { pruned, ..whole },
        ];
        let edges = vec![
            sample_edge("r", Generates, "part"),
            sample_edge("part", Aggregates, "whole"),
        ];
        insert_graph(&desk, nodes, edges).await;
        assert_eq!(conclusions(&desk, &json!("g")).await, expected);
    }
    // An imported graph may have a cycle of refinements.
    let desk = ReasoningTestRegistry::new();
    insert_graph(
        &desk,
        vec![
            sample_node("r", 0, None),
            sample_node("a", 1, Some(0.2)),
            sample_node("b", 1, Some(0.3)),
        ],
        vec![
            sample_edge("a", Refines, "b"),
            sample_edge("b", Refines, "a"),
        ],
    )
    .await;
    assert_eq!(conclusions(&desk, &json!("g")).await, ["b", "a"]);
}

#[tokio::test]
async fn an_insight_nobody_scored_counts_by_its_confidence() {
    let desk = ReasoningTestRegistry::new();
    insert_graph(
        &desk,
        vec![
            sample_node("r", 0, None),
            sample_node("good", 1, Some(0.7)),
            with_kind(NodeKind::Aggregation, sample_node("sure", 2, None), 0.8),
            with_kind(NodeKind::Refinement, sample_node("unsure", 2, None), 0.6),
            with_kind(NodeKind::Hypothesis, sample_node("guess", 4, None), 1.0),
        ],
        vec![],
    )
    .await;
    // Neither the thought that was left over nor the guess is a conclusion.
    let expected = ["sure", "unsure"];
    assert_eq!(conclusions(&desk, &json!("g")).await, expected);
}

#[tokio::test]
async fn a_named_conclusion_stays_one_until_it_is_part_of_another() {
    let desk = ReasoningTestRegistry::new();
    insert_graph(
        &desk,
        vec![
            sample_node("r", 0, None),
            sample_node("a", 1, Some(0.2)),
            with_kind(NodeKind::Aggregation, sample_node("all", 2, None), 0.8),
        ],
        vec![
            sample_edge("r", Generates, "a"),
            sample_edge("a", Aggregates, "all"),
        ],
    )
    .await;
    for (named, expected) in [("a", "a"), ("all", "all")] {
        let arguments = json!({ "graph_id": "g", "terminal_node_ids": [named] });
        desk.call_ok("reasoning_got_finalize", arguments).await;
        assert_eq!(conclusions(&desk, &json!("g")).await, [expected]);
    }
}

#[tokio::test]
async fn nodes_that_can_be_worked_on_are_listed_though_none_is_active() {
    let desk = ReasoningTestRegistry::new();
    let mut nodes = vec![
        sample_node("r", 0, None),
        sample_node("a", 1, Some(0.4)),
        sample_node("b", 1, Some(0.6)),
        sample_node("c", 1, None),
        sample_node("gone", 1, Some(0.9)),
    ];
    for node in &mut nodes {
        node.is_active = false;
        node.is_terminal = node.content == "text of b";
        node.pruned = node.content == "text of gone";
    }
    nodes.extend((0..60).map(|number| GraphNode {
        is_active: number == 59,
        ..sample_node(&format!("n{number}"), 1, Some(0.1))
    }));
    insert_graph(&desk, nodes, vec![]).await;
    let state = desk
        .call_ok("reasoning_got_state", json!({ "graph_id": "g" }))
        .await;
    let ids = state["usable_node_ids"].as_array().unwrap();
    assert_eq!(ids.len(), 50);
    assert_eq!(ids[..3], [json!("n59"), json!("a"), json!("n0")]);
    assert!(!ids.contains(&json!("gone")));
    assert_eq!(state["active_node_ids"], json!(["n59"]));
    assert_eq!(state["best_node_id"], "b");
    assert_eq!(state["active_nodes"], 1);
}

#[tokio::test]
async fn the_best_nodes_are_the_conclusions_and_stay_so() {
    let desk = ReasoningTestRegistry::new();
    insert_graph(
        &desk,
        vec![
            sample_node("r", 0, Some(1.0)),
            sample_node("low", 1, Some(0.4)),
            sample_node("tie", 1, Some(0.7)),
            sample_node("deeper", 2, Some(0.7)),
            sample_node("younger", 2, Some(0.7)),
            sample_node("top", 1, Some(0.8)),
            sample_node("none", 5, None),
        ],
        vec![],
    )
    .await;
    for ids in [Value::Null, json!([]), Value::Null] {
        let mut arguments = json!({ "graph_id": "g" });
        if !ids.is_null() {
            arguments["terminal_node_ids"] = ids;
        }
        let output = desk.call_ok("reasoning_got_finalize", arguments).await;
        assert_eq!(output["terminal_count"], 3);
        let seen: Vec<_> = output["conclusions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["node_id"].as_str().unwrap())
            .collect();
        assert_eq!(seen, ["top", "deeper", "younger"]);
        assert_eq!(
            output["conclusions"][0],
            json!({ "node_id": "top", "content": "text of top", "answer": null, "score": 0.8, "depth": 1, "node_type": "thought" })
        );
    }
    let top = load_node(&desk, &json!("top")).await;
    assert!(top.is_terminal && top.node_type == NodeKind::Thought);
    let state = desk
        .call_ok("reasoning_got_state", json!({ "graph_id": "g" }))
        .await;
    assert_eq!(state["terminal_nodes"], 3);
    assert_eq!(
        state["terminal_node_ids"],
        json!(["deeper", "younger", "top"])
    );
    assert_eq!(state["best_node_id"], "r");
}

#[tokio::test]
async fn named_conclusions_are_marked_once_and_answered_again() {
    let desk = ReasoningTestRegistry::new();
    insert_graph(
        &desk,
        vec![
            sample_node("r", 0, None),
            sample_node("a", 1, None),
            sample_node("b", 1, None),
        ],
        vec![],
    )
    .await;
    let arguments = json!({ "graph_id": "g", "terminal_node_ids": ["b", "a", "b"] });
    let first = desk
        .call_ok("reasoning_got_finalize", arguments.clone())
        .await;
    assert_eq!(first["terminal_count"], 2);
    let marked = stored_graph(&desk, &json!("g")).await;
    assert!(marked.0.iter().filter(|node| node.is_terminal).count() == 2);
    let second = desk.call_ok("reasoning_got_finalize", arguments).await;
    assert_eq!(second, first);
    assert_eq!(stored_graph(&desk, &json!("g")).await, marked);
}

#[tokio::test]
async fn a_graph_without_scores_ends_with_its_deepest_nodes() {
    let desk = ReasoningTestRegistry::new();
    let mut expanded = sample_node("expanded", 2, None);
    expanded.is_active = false;
    insert_graph(
        &desk,
        vec![
            sample_node("r", 0, None),
            sample_node("a", 1, None),
            expanded,
            sample_node("b", 2, None),
            sample_node("c", 2, None),
        ],
        vec![],
    )
    .await;
    let output = desk
        .call_ok("reasoning_got_finalize", json!({ "graph_id": "g" }))
        .await;
    let ids: Vec<_> = output["conclusions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["node_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["b", "c"]);
}

#[tokio::test]
async fn a_root_is_a_conclusion_only_if_it_is_named() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let output = desk
        .call_ok("reasoning_got_finalize", json!({ "graph_id": id }))
        .await;
    assert_eq!(output["terminal_count"], 0);
    assert!(
        output["note"]
            .as_str()
            .unwrap()
            .contains("continue the root")
    );
    assert!(!load_node(&desk, root).await.is_terminal);
    let children = generate_answers(&desk, id, root, &["42"]).await;
    let output = desk
        .call_ok("reasoning_got_finalize", json!({ "graph_id": id }))
        .await;
    assert_eq!(output["conclusions"][0]["answer"], "42");
    assert_eq!(output["terminal_count"], 1);
    let named = json!({ "graph_id": id, "terminal_node_ids": [root, children[0]] });
    let output = desk.call_ok("reasoning_got_finalize", named).await;
    assert_eq!(
        node_ids(&output["conclusions"]),
        [root.clone(), children[0].clone()]
    );
    assert_eq!(output["conclusions"][0]["content"], "the root");
    assert!(load_node(&desk, root).await.is_terminal);
    assert_eq!(output.get("note"), None);
}

#[tokio::test]
async fn a_cycle_in_the_store_is_seen() {
    for (edges, cyclic) in [
        (
            vec![
                sample_edge("r", Generates, "a"),
                sample_edge("a", Generates, "b"),
                sample_edge("r", Generates, "b"),
            ],
            false,
        ),
        (
            vec![
                sample_edge("a", Generates, "b"),
                sample_edge("b", Contradicts, "a"),
            ],
            true,
        ),
        (vec![sample_edge("a", Refines, "a")], true),
    ] {
        let desk = ReasoningTestRegistry::new();
        let nodes = vec![
            sample_node("r", 0, None),
            sample_node("a", 1, None),
            sample_node("b", 2, None),
        ];
        insert_graph(&desk, nodes, edges).await;
        let state = desk
            .call_ok("reasoning_got_state", json!({ "graph_id": "g" }))
            .await;
        assert_eq!(state["has_cycle"], cyclic);
        assert_eq!(state["max_depth"], 2);
        assert_eq!(state["active_nodes"], 3);
    }
}

#[tokio::test]
async fn a_line_through_a_cycle_has_an_end() {
    let desk = ReasoningTestRegistry::new();
    insert_graph(
        &desk,
        vec![
            sample_node("r", 0, None),
            sample_node("a", 1, None),
            sample_node("b", 2, None),
        ],
        vec![
            sample_edge("b", Generates, "a"),
            sample_edge("a", Generates, "b"),
        ],
    )
    .await;
    let arguments = json!({ "graph_id": "g", "node_id": "b", "k": 1 });
    let output = desk.call_ok("reasoning_got_generate", arguments).await;
    assert_eq!(output["count"], 1);
}
