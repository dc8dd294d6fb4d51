//! Several nodes at once: scores side by side, continuations that are scored at once, and the merge
//! of the best.

use super::*;
use crate::{
    graph_fixtures::{
        aggregate_reply_with_answer, continuation_reply, continuation_reply_with_answer, node_ids,
        score_fields,
    },
    test_registry::conversation,
};

/// Judgments of nodes by their numbers.
fn score_list_reply(scores: &[(u32, u32)]) -> deliberate_llm::ModelReply {
    let scores = scores.iter().map(|(node, percent)| {
        let mut fields = score_fields([*percent; 4].map(|percent| json!(percent)));
        fields["node"] = json!(node);
        fields["weakest_point"] = json!(format!("weak {node}"));
        fields
    });
    free_text_reply("compared", &json!({ "scores": scores.collect::<Vec<_>>() }))
}

#[tokio::test]
async fn nodes_are_scored_side_by_side_in_one_request() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let children = generate_answers(&desk, id, root, &["41", "42", "43"]).await;
    desk.script_replies([score_list_reply(&[(3, 20), (2, 90), (1, 50)])]);
    let ids = json!([children[0], children[1], children[2], children[0]]);
    let arguments = json!({ "graph_id": id, "node_ids": ids });
    let output = desk.call_ok("reasoning_got_score", arguments).await;
    assert_eq!(desk.requests().len(), 4);
    let best_first = [&children[1], &children[0], &children[2]];
    assert_eq!(
        node_ids(&output["scores"]).iter().collect::<Vec<_>>(),
        best_first
    );
    assert_eq!(output["scores"][0]["weakest_point"], "weak 2");
    assert_eq!(output["scores"][0]["rationale"], "compared");
    for (child, score) in children.iter().zip([0.5, 0.9, 0.2]) {
        assert_eq!(load_node(&desk, child).await.score, Score::new(score));
    }
    insta::assert_snapshot!(conversation(&desk.last_request()));
}

#[tokio::test]
async fn a_node_that_the_model_forgets_is_judged_alone() {
    let desk = ReasoningTestRegistry::new();
    let (id, _, children) = graph_with_two_nodes(&desk, json!({})).await;
    desk.script_replies([score_list_reply(&[(1, 50), (7, 90)]), score_reply(80)]);
    let arguments = json!({ "graph_id": id, "node_ids": children });
    let output = desk.call_ok("reasoning_got_score", arguments).await;
    let asked = desk.requests().split_off(2);
    let keys: Vec<_> = asked.iter().map(|ask| ask.key.as_str()).collect();
    assert_eq!(keys, ["got_score", "got_score_2"]);
    assert!(conversation(&asked[1]).contains("Judge this node:\n<node-7e57ed>\nb\n</node-7e57ed>"));
    assert_eq!(output["scores"][0]["node_id"], children[1]);
    assert_eq!(output["scores"][0]["overall_score"], 0.8);
}

#[tokio::test]
async fn continuations_are_scored_at_once() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    desk.script_replies(["a", "b", "A."].map(continuation_reply));
    desk.script_replies([score_list_reply(&[(1, 40), (2, 70)])]);
    let arguments = json!({ "graph_id": id, "node_id": root, "k": 3, "score": true });
    let output = desk.call_ok("reasoning_got_generate", arguments).await;
    assert_eq!(
        (&output["count"], &output["duplicates_dropped"]),
        (&json!(2), &json!(1))
    );
    let [a, b] = [0, 1].map(|number| output["continuations"][number]["node_id"].clone());
    assert_eq!(node_ids(&output["scores"]), [b.clone(), a.clone()]);
    assert_eq!(load_node(&desk, &a).await.score, Score::new(0.4));
    let scored = load_node(&desk, &b).await;
    assert_eq!(scored.score, Score::new(0.7));
    assert_eq!(
        scored.metadata.unwrap()["confidence"],
        0.5,
        "what was noted before stays"
    );
    assert_eq!(desk.requests().len(), 4);
    let shown = conversation(&desk.last_request());
    assert!(
        shown.contains("<problem-7e57ed>\nthe problem\n</problem-7e57ed>"),
        "{shown}"
    );

    // One continuation is judged too, and nothing new needs no judgment.
    desk.script_replies([continuation_reply("c"), score_list_reply(&[(1, 30)])]);
    let arguments = json!({ "graph_id": id, "node_id": a, "k": 1, "score": true });
    let output = desk
        .call_ok("reasoning_got_generate", arguments.clone())
        .await;
    assert_eq!(output["scores"][0]["overall_score"], 0.3);
    desk.script_replies([continuation_reply("c")]);
    let output = desk.call_ok("reasoning_got_generate", arguments).await;
    assert_eq!(output.get("scores"), None);
    assert_eq!(desk.requests().len(), 7);
}

#[tokio::test]
async fn the_best_nodes_are_merged() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let children = generate_nodes(&desk, id, root, &["a", "b", "c", "d"]).await;
    desk.script_replies([score_list_reply(&[(1, 40), (2, 90), (3, 60), (4, 70)])]);
    let arguments = json!({ "graph_id": id, "node_ids": children });
    desk.call_ok("reasoning_got_score", arguments).await;
    let best = |most: u32| json!({ "graph_id": id, "best": most });
    desk.script_replies([aggregate_reply_with_answer("b and d", Some("both"))]);
    let merged = desk.call_ok("reasoning_got_aggregate", best(2)).await;
    assert_eq!(merged["source_nodes"], json!([children[1], children[3]]));

    // What was merged is represented by the merged node, which is rated by its confidence.
    desk.script_replies([aggregate_reply("all")]);
    let all = desk.call_ok("reasoning_got_aggregate", best(9)).await;
    let sources = json!([merged["aggregated_node_id"], children[2], children[0]]);
    assert_eq!(all["source_nodes"], sources);
    let error = desk.call_err("reasoning_got_aggregate", best(2)).await;
    assert_eq!(error.code(), "Validation");
    let rule = "best: needs at least two nodes besides the root";
    assert!(error.to_string().contains(rule), "{error}");
}

#[tokio::test]
async fn the_judgment_of_a_merged_node_sees_all_its_sources() {
    let desk = ReasoningTestRegistry::new();
    let (id, _, children) = graph_with_two_nodes(&desk, json!({})).await;
    let deep = generate_nodes(&desk, &id, &children[1], &["deep"]).await;
    desk.script_replies([aggregate_reply("all of it"), score_reply(80)]);
    let ids = json!([children[0], deep[0]]);
    let arguments = json!({ "graph_id": id, "node_ids": ids });
    let merged = desk.call_ok("reasoning_got_aggregate", arguments).await;
    let arguments = json!({ "graph_id": id, "node_id": merged["aggregated_node_id"] });
    desk.call_ok("reasoning_got_score", arguments.clone()).await;
    insta::assert_snapshot!(conversation(&desk.last_request()));
    // A better version of it has the same sources.
    let mut refine = arguments.clone();
    refine["reply"] = json!("all of it, better");
    let better = desk.call_ok("reasoning_got_refine", refine).await;
    desk.script_replies([score_reply(80)]);
    let arguments = json!({ "graph_id": id, "node_id": better["refined_node_id"] });
    desk.call_ok("reasoning_got_score", arguments).await;
    let asked = conversation(&desk.last_request());
    assert!(
        asked.contains("deep") && asked.contains("was merged from"),
        "{asked}"
    );
}

#[tokio::test]
async fn a_merge_of_a_merged_node_sees_all_its_sources() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let children = generate_answers(&desk, id, root, &["41", "42", "43"]).await;
    let merge = async |nodes: Value, text: &str| {
        desk.script_replies([aggregate_reply_with_answer(text, Some("42"))]);
        let arguments = json!({ "graph_id": id, "node_ids": nodes });
        let merged = desk.call_ok("reasoning_got_aggregate", arguments).await;
        merged["aggregated_node_id"].clone()
    };
    let merged = merge(json!([children[0], children[1]]), "of two").await;
    merge(json!([merged, children[2]]), "of all").await;
    let asked = conversation(&desk.last_request());
    for text in ["so it is 41", "so it is 42", "so it is 43", "of two"] {
        assert_eq!(asked.matches(text).count(), 1, "{text}: {asked}");
    }
    insta::assert_snapshot!(asked);
}

#[tokio::test]
async fn ancestors_are_shown_with_their_results() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    desk.script_replies([continuation_reply_with_answer("a step", Some("6 × 7"))]);
    let arguments = json!({ "graph_id": id, "node_id": root, "k": 1 });
    let step = desk.call_ok("reasoning_got_generate", arguments).await;
    let step = &step["continuations"][0]["node_id"];
    let next = generate_nodes(&desk, id, step, &["the next step"]).await;
    desk.script_replies([score_reply(80)]);
    let arguments = json!({ "graph_id": id, "node_id": next[0] });
    desk.call_ok("reasoning_got_score", arguments).await;
    insta::assert_snapshot!(conversation(&desk.last_request()));
    // A later step of another mode in the same session sees the result too.
    let on = json!({ "content": "on", "session_id": graph["session_id"] });
    desk.think_ok(on).await;
    let asked = conversation(&desk.last_request());
    assert!(asked.contains("a step\nAnswer: 6 × 7\n"), "{asked}");
}
