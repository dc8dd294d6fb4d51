//! Tests of `reasoning_got_score`, `reasoning_got_aggregate` and `reasoning_got_refine`.

mod caller_continuations;
mod replies;
mod several;

use deliberate_core::{EdgeKind, NodeKind, Score};
use serde_json::{Value, json};

use super::{
    graph_fixtures::{
        aggregate_reply, aggregate_reply_with_answer, current_edges, current_nodes,
        free_text_reply, generate_answers, generate_nodes, init_graph, load_node, refine_reply,
        score_reply, score_reply_with, stored_graph,
    },
    test_registry::{ReasoningTestRegistry, text_reply},
};

async fn graph_with_two_nodes(
    registry: &ReasoningTestRegistry,
    config: Value,
) -> (Value, Value, Vec<Value>) {
    let graph = init_graph(registry, config).await;
    let (id, root) = (graph["graph_id"].clone(), graph["root_node_id"].clone());
    let children = generate_nodes(registry, &id, &root, &["a", "b"]).await;
    (id, root, children)
}

#[tokio::test]
async fn a_score_is_the_weighted_mean_of_its_four_parts() {
    let desk = ReasoningTestRegistry::new();
    let (id, _, children) = graph_with_two_nodes(&desk, json!({})).await;
    let fields = json!({
        "weakest_point": "x", "validity_percent": 80, "relevance_percent": 70,
        "depth_percent": 71, "novelty_percent": 60, "overall": 0.1,
    });
    desk.script_replies([free_text_reply("it holds", &fields)]);
    let arguments = json!({ "graph_id": id, "node_id": children[0] });
    let output = desk.call_ok("reasoning_got_score", arguments).await;
    assert_eq!(output["overall_score"], 0.756);
    let breakdown = json!({ "relevance": 0.7, "validity": 0.8, "depth": 0.71, "novelty": 0.6 });
    assert_eq!(output["breakdown"], breakdown);
    assert_eq!(output["rationale"], "it holds");
    assert_eq!(output["weakest_point"], "x");
    assert_eq!(output["is_terminal_candidate"], false);
    let scored = load_node(&desk, &children[0]).await;
    assert_eq!(scored.score, Score::new(0.756));
    let kept = scored.metadata.unwrap();
    assert_eq!(kept["score_parts"], breakdown);
    assert_eq!(kept["confidence"], 0.5, "what was noted before stays");
    assert!(scored.is_active);
    assert_eq!(load_node(&desk, &children[1]).await.score, None);
}

#[tokio::test]
async fn scores_are_read_as_models_write_them() {
    let desk = ReasoningTestRegistry::new();
    let (id, _, children) = graph_with_two_nodes(&desk, json!({})).await;
    for (written, overall) in [
        ([json!(104), json!("85%"), json!("70"), json!(-3)], 0.83),
        ([json!(0.9), json!(90.4), json!(" 90 % "), json!(90)], 0.9),
        ([json!(76.8), json!(1e308), json!(0), json!(100)], 0.8425),
    ] {
        desk.script_replies([score_reply_with(written)]);
        let arguments = json!({ "graph_id": id, "node_id": children[0] });
        let output = desk.call_ok("reasoning_got_score", arguments).await;
        assert_eq!(output["overall_score"], overall);
    }
    // The format of the original server's pipes.
    desk.script_replies([text_reply(
        r#"{"relevance": 0.5, "validity": 50, "depth": "0.5", "novelty": 0.5, "rationale": "it holds"}"#,
    )]);
    let arguments = json!({ "graph_id": id, "node_id": children[0] });
    let output = desk.call_ok("reasoning_got_score", arguments).await;
    assert_eq!(output["overall_score"], 0.5);
    assert_eq!(output["rationale"], "it holds");
    assert_eq!(desk.requests().len(), 6, "none is asked for again");
}

#[tokio::test]
async fn a_score_that_lacks_a_part_is_asked_for_again_and_then_refused() {
    let desk = ReasoningTestRegistry::new();
    let (id, _, children) = graph_with_two_nodes(&desk, json!({})).await;
    let before = stored_graph(&desk, &id).await;
    let lacking = || score_reply_with([json!(90), json!(90), json!("very"), json!(90)]);
    desk.script_replies([lacking(), lacking()]);
    let arguments = json!({ "graph_id": id, "node_id": children[0] });
    let error = desk
        .call_err("reasoning_got_score", arguments.clone())
        .await;
    assert_eq!(error.code(), "InvalidResponse");
    assert!(error.to_string().contains("depth_percent"), "{error}");
    assert_eq!(stored_graph(&desk, &id).await, before);
    desk.script_replies([lacking(), score_reply(80)]);
    let output = desk.call_ok("reasoning_got_score", arguments).await;
    assert_eq!(output["overall_score"], 0.8);
    assert_eq!(output["is_terminal_candidate"], true);
}

#[tokio::test]
async fn a_root_is_no_place_to_end() {
    let desk = ReasoningTestRegistry::new();
    let (id, root, _) = graph_with_two_nodes(&desk, json!({})).await;
    desk.script_replies([score_reply(95)]);
    let arguments = json!({ "graph_id": id, "node_id": root });
    let output = desk.call_ok("reasoning_got_score", arguments).await;
    assert_eq!(output["is_terminal_candidate"], false);
}

#[tokio::test]
async fn nodes_become_one() {
    let desk = ReasoningTestRegistry::new();
    let (id, root, children) = graph_with_two_nodes(&desk, json!({})).await;
    let deep = generate_nodes(&desk, &id, &children[0], &["c"]).await;
    desk.script_replies([score_reply(80), aggregate_reply("all of it")]);
    desk.call_ok(
        "reasoning_got_score",
        json!({ "graph_id": id, "node_id": deep[0] }),
    )
    .await;
    let ids = json!([children[1], deep[0], children[1]]);
    let output = desk
        .call_ok(
            "reasoning_got_aggregate",
            json!({ "graph_id": id, "node_ids": ids }),
        )
        .await;
    assert_eq!(output["content"], "all of it");
    assert_eq!(output["confidence"], 0.5, "nothing is concluded");
    assert_eq!(output["source_nodes"], json!([children[1], deep[0]]));
    assert_eq!(output["weakest_point"], "one source");
    assert_eq!(output["answer"], Value::Null);
    assert_eq!(output["synthesis_approach"], Value::Null);
    assert_eq!(output["conflicts_resolved"], json!(["the first is right"]));
    let new = load_node(&desk, &output["aggregated_node_id"]).await;
    assert_eq!(
        (new.node_type, new.depth, new.score),
        (NodeKind::Aggregation, 3, None)
    );
    assert!(new.is_active);
    let all = current_edges(&desk, &id).await;
    let into: Vec<_> = all.iter().filter(|edge| edge.to_node == new.id).collect();
    assert_eq!(into.len(), 2);
    assert!(
        into.iter()
            .all(|edge| edge.edge_type == EdgeKind::Aggregates
                && edge.weight == Score::new(0.5).unwrap())
    );
    assert!(!load_node(&desk, &children[1]).await.is_active);
    assert!(!load_node(&desk, &deep[0]).await.is_active);
    assert_eq!(load_node(&desk, &deep[0]).await.score, Score::new(0.8));
    let shown = &desk.last_request().messages[0].text;
    assert!(
        shown.contains("<node-7e57ed number=\"1\">\nb\n") && shown.contains("score=\"0.80\">\nc\n")
    );

    // A node may be merged with its own parent, because the new node has no outgoing edges.
    let reply = json!({ "thought": "and the root", "approach": "weighed" });
    desk.script_replies([text_reply(&reply.to_string())]);
    let ids = json!([root, output["aggregated_node_id"]]);
    let output = desk
        .call_ok(
            "reasoning_got_aggregate",
            json!({ "graph_id": id, "node_ids": ids }),
        )
        .await;
    assert_eq!(output["content"], "and the root");
    assert_eq!(output["synthesis_approach"], "weighed");
    let state = desk
        .call_ok("reasoning_got_state", json!({ "graph_id": id }))
        .await;
    assert_eq!(state["has_cycle"], false);
}

#[tokio::test]
async fn nodes_with_different_results_contradict_each_other_and_close_no_cycle() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let children = generate_answers(&desk, id, root, &["41", "42", "**42**."]).await;
    // The younger first, and once more: there is one edge, from the older node to the younger.
    for ids in [[&children[1], &children[0]], [&children[0], &children[1]]] {
        desk.script_replies([aggregate_reply("x")]);
        let arguments = json!({ "graph_id": id, "node_ids": ids });
        desk.call_ok("reasoning_got_aggregate", arguments).await;
    }
    // The same result in another form is no contradiction.
    desk.script_replies([aggregate_reply("y")]);
    let arguments = json!({ "graph_id": id, "node_ids": children[1..] });
    desk.call_ok("reasoning_got_aggregate", arguments).await;
    let all = current_edges(&desk, id).await;
    let against: Vec<_> = all
        .iter()
        .filter(|edge| edge.edge_type == EdgeKind::Contradicts)
        .collect();
    assert_eq!(against.len(), 1);
    let ends = [&against[0].from_node, &against[0].to_node].map(|end| json!(end));
    assert_eq!(ends[..], children[..2]);
    let reason = json!({ "reason": "they reach different results" });
    assert_eq!(against[0].metadata, Some(reason));
    let state = desk
        .call_ok("reasoning_got_state", json!({ "graph_id": id }))
        .await;
    assert_eq!(state["has_cycle"], false);
}

#[tokio::test]
async fn the_confidence_of_a_merged_result_is_the_share_of_sources_that_reach_it() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let mut nodes = generate_answers(&desk, id, root, &["41", "42", "42.0", "40"]).await;
    nodes.extend(generate_nodes(&desk, id, root, &["no result"]).await);
    for (ids, answer, confidence) in [
        (&nodes[..], Some("42"), 0.5),
        (&nodes[1..3], Some("42"), 1.0),
        (&nodes[..2], Some("43"), 0.0),
        // Fewer than two results say nothing about agreement.
        (&nodes[3..], Some("40"), 0.9),
        // Nothing is concluded.
        (&nodes[..2], None, 0.5),
    ] {
        desk.script_replies([aggregate_reply_with_answer("all", answer)]);
        let arguments = json!({ "graph_id": id, "node_ids": ids });
        let output = desk.call_ok("reasoning_got_aggregate", arguments).await;
        assert_eq!(output["answer"], json!(answer));
        assert_eq!(output["confidence"], confidence, "{answer:?} of {ids:?}");
        let shown = &desk.last_request().messages[0].text;
        assert!(
            shown.contains("The results they reach: <node-7e57ed>"),
            "{shown}"
        );
    }
}

#[tokio::test]
async fn different_results_of_the_sources_are_noted_as_a_settled_conflict() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let nodes = generate_answers(&desk, id, root, &["41", "42", "42.0"]).await;
    let noted =
        "The nodes reach different results: 42 (node 2, 3); 41 (node 1). The merge says: 42";
    for (ids, conflicts) in [(&nodes[..], json!([noted])), (&nodes[1..], json!([]))] {
        let fields = json!({ "answer": "42", "weakest_point": "w", "confidence_percent": 90 });
        desk.script_replies([free_text_reply("all", &fields)]);
        let arguments = json!({ "graph_id": id, "node_ids": ids });
        let output = desk.call_ok("reasoning_got_aggregate", arguments).await;
        assert_eq!(output["conflicts_resolved"], conflicts);
        let shown = &desk.last_request().messages[0].text;
        assert!(!shown.contains("conflicts_resolved"), "{shown}");
        let doubts = shown.matches("It may be wrong here: untested").count();
        assert_eq!(doubts, ids.len(), "{shown}");
    }
}

#[tokio::test]
async fn open_results_say_nothing_about_agreement_and_contradict_nothing() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let open = [
        "keep one shelf for what must be eaten first",
        "note for two weeks what is thrown away and why",
    ];
    let nodes = generate_answers(&desk, id, root, &open).await;
    for answer in ["start the shelf and the notes on the same day", "shelf"] {
        desk.script_replies([aggregate_reply_with_answer("both", Some(answer))]);
        let arguments = json!({ "graph_id": id, "node_ids": nodes });
        let output = desk.call_ok("reasoning_got_aggregate", arguments).await;
        assert_eq!(output["confidence"], 0.9, "{answer}");
    }
    let edges = current_edges(&desk, id).await;
    let kinds: Vec<EdgeKind> = edges.iter().map(|edge| edge.edge_type).collect();
    assert!(!kinds.contains(&EdgeKind::Contradicts), "{kinds:?}");
}

#[tokio::test]
async fn a_text_whose_fields_the_model_never_gives_is_kept() {
    let desk = ReasoningTestRegistry::new();
    let (id, _, children) = graph_with_two_nodes(&desk, json!({})).await;
    desk.script_replies(["all of it", "no fields"].map(text_reply));
    let arguments = json!({ "graph_id": id, "node_ids": children });
    let output = desk.call_ok("reasoning_got_aggregate", arguments).await;
    assert_eq!(output["content"], "all of it");
    assert_eq!(output["confidence"], 0.8);
    assert_eq!(desk.last_request().key, "got_aggregate/fields");
}

#[tokio::test]
async fn merging_keeps_the_limits() {
    let desk = ReasoningTestRegistry::new();
    let (id, _, children) = graph_with_two_nodes(&desk, json!({ "max_depth": 1 })).await;
    let arguments = json!({ "graph_id": id, "node_ids": children });
    let error = desk.call_err("reasoning_got_aggregate", arguments).await;
    assert_eq!(error.code(), "LimitReached");
    let (id, _, children) = graph_with_two_nodes(&desk, json!({ "max_nodes": 3 })).await;
    let arguments = json!({ "graph_id": id, "node_ids": children });
    let error = desk.call_err("reasoning_got_aggregate", arguments).await;
    assert_eq!(error.code(), "LimitReached");
}

#[tokio::test]
async fn a_better_text_takes_the_place_of_the_node() {
    let desk = ReasoningTestRegistry::new();
    let (id, _, children) = graph_with_two_nodes(&desk, json!({})).await;
    desk.script_replies([
        refine_reply("a, with figures"),
        score_reply(50),
        score_reply(75),
    ]);
    let arguments = json!({ "graph_id": id, "node_id": children[0] });
    let output = desk.call_ok("reasoning_got_refine", arguments).await;
    assert_eq!(output["kept"], "refined");
    assert_eq!(output["original_node_id"], children[0]);
    assert_eq!(output["content"], "a, with figures");
    assert_eq!(output["confidence"], 0.75);
    assert_eq!(output["quality_delta"], 0.25);
    assert_eq!(output["improvements_made"], json!(["figures"]));
    let new = load_node(&desk, &output["refined_node_id"]).await;
    assert_eq!((new.node_type, new.depth), (NodeKind::Refinement, 1));
    assert_eq!(new.score, Score::new(0.75));
    assert!(new.is_active);
    let old = load_node(&desk, &children[0]).await;
    assert!(!old.is_active);
    assert_eq!(old.score, Score::new(0.5));
    let all = current_edges(&desk, &id).await;
    let edge = all.last().unwrap();
    assert_eq!(
        (edge.edge_type, &edge.from_node, &edge.to_node),
        (EdgeKind::Refines, &old.id, &new.id)
    );
    let keys: Vec<_> = desk.requests().into_iter().map(|ask| ask.key).collect();
    assert_eq!(
        keys[2..],
        ["got_refine", "got_score_original", "got_score_refined"]
    );

    // The score of the original is known, so it is not judged again.
    desk.script_replies([refine_reply("once more"), score_reply(90)]);
    let arguments = json!({ "graph_id": id, "node_id": output["refined_node_id"] });
    let output = desk.call_ok("reasoning_got_refine", arguments).await;
    assert_eq!(output["quality_delta"], 0.15);
    assert_eq!(desk.requests().len(), 7);
    // Its ancestor is the root, not its earlier versions.
    let shown = &desk.last_request().messages[0].text;
    assert!(
        !shown.contains("<node-7e57ed>a, with figures</node-7e57ed>")
            && !shown.contains("<node-7e57ed>a</node-7e57ed>")
    );
}

#[tokio::test]
async fn a_text_that_is_not_better_changes_nothing_but_the_score() {
    let desk = ReasoningTestRegistry::new();
    let (id, _, children) = graph_with_two_nodes(&desk, json!({})).await;
    for (child, text, worse) in [(&children[0], "a", 50), (&children[1], "b", 20)] {
        desk.script_replies([refine_reply("worse"), score_reply(50), score_reply(worse)]);
        let arguments = json!({ "graph_id": id, "node_id": child });
        let output = desk.call_ok("reasoning_got_refine", arguments).await;
        assert_eq!(output["kept"], "original");
        assert_eq!(output["refined_node_id"], Value::Null);
        assert_eq!(output["content"], text);
        assert_eq!(output["confidence"], 0.5);
        assert_eq!(output["improvements_made"], json!([]));
        let delta = output["quality_delta"].as_f64().unwrap();
        assert!((delta - (f64::from(worse) / 100.0 - 0.5)).abs() < 1e-9);
        let kept = load_node(&desk, child).await;
        assert!(kept.is_active);
        assert_eq!(kept.score, Score::new(0.5));
    }
    assert_eq!(current_nodes(&desk, &id).await.len(), 3);
    assert_eq!(current_edges(&desk, &id).await.len(), 2);

    // The same text again: there is nothing to compare.
    let before = (stored_graph(&desk, &id).await, desk.requests().len());
    desk.script_replies([refine_reply(" A. ")]);
    let arguments = json!({ "graph_id": id, "node_id": children[0] });
    let output = desk.call_ok("reasoning_got_refine", arguments).await;
    assert_eq!(output["kept"], "original");
    assert_eq!(output["quality_delta"], 0.0);
    assert_eq!(
        (stored_graph(&desk, &id).await, desk.requests().len()),
        (before.0, before.1 + 1)
    );
}

#[tokio::test]
async fn the_better_text_of_a_conclusion_is_the_conclusion() {
    let desk = ReasoningTestRegistry::new();
    let (id, _, children) = graph_with_two_nodes(&desk, json!({})).await;
    let end = json!({ "graph_id": id, "terminal_node_ids": [children[0]] });
    desk.call_ok("reasoning_got_finalize", end).await;
    let arguments = json!({ "graph_id": id, "node_id": children[0] });

    desk.script_replies([refine_reply("worse"), score_reply(50), score_reply(40)]);
    desk.call_ok("reasoning_got_refine", arguments.clone())
        .await;
    assert!(load_node(&desk, &children[0]).await.is_terminal);

    desk.script_replies([refine_reply("better"), score_reply(60)]);
    let output = desk.call_ok("reasoning_got_refine", arguments).await;
    let better = load_node(&desk, &output["refined_node_id"]).await;
    assert!(better.is_terminal && !better.is_active);
    assert!(!load_node(&desk, &children[0]).await.is_terminal);
    let ended = desk
        .call_ok("reasoning_got_finalize", json!({ "graph_id": id }))
        .await;
    assert_eq!(ended["terminal_count"], 1);
    assert_eq!(ended["conclusions"][0]["content"], "better");
}
