//! Conclusions that `reasoning_got_finalize` chose itself, in a graph that grows further.

use serde_json::{Value, json};

use super::{
    graph_fixtures::{
        aggregate_reply, aggregate_reply_with_answer, continuation_reply_with_answer,
        generate_nodes, init_graph, load_node, node_ids, refine_reply, score_reply,
    },
    test_registry::{ReasoningTestRegistry, reply_with_fields},
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

/// Scores a node with this percentage.
async fn score(registry: &ReasoningTestRegistry, graph: &Value, node: &Value, percent: u32) {
    registry.script_replies([score_reply(percent)]);
    let arguments = json!({ "graph_id": graph, "node_id": node });
    registry.call_ok("reasoning_got_score", arguments).await;
}

/// A graph with scored nodes that reach 42, 41 and 42 (the last is the best of these two), and their
/// merge with this result.
async fn merged_graph(
    registry: &ReasoningTestRegistry,
    answer: Option<&str>,
) -> (Value, Vec<Value>, Value) {
    let (id, nodes) = graph_of_results(registry, &["42", "41", "**42**"]).await;
    for (node, percent) in nodes.iter().zip([60, 95, 80]) {
        score(registry, &id, node, percent).await;
    }
    registry.script_replies([aggregate_reply_with_answer("all of it", answer)]);
    let arguments = json!({ "graph_id": id, "node_ids": nodes });
    let merged = registry.call_ok("reasoning_got_aggregate", arguments).await;
    (id, nodes, merged)
}

/// A graph with a node for each of these results, each with a text of its own.
async fn graph_of_results(
    registry: &ReasoningTestRegistry,
    answers: &[&str],
) -> (Value, Vec<Value>) {
    let graph = init_graph(registry, json!({})).await;
    let reply = |(way, answer): (usize, &&str)| {
        continuation_reply_with_answer(&format!("by way {way} it is {answer}"), Some(answer))
    };
    registry.script_replies((1..).zip(answers).map(reply));
    let (id, root) = (graph["graph_id"].clone(), &graph["root_node_id"]);
    let arguments = json!({ "graph_id": id, "node_id": root, "k": answers.len() });
    let output = registry.call_ok("reasoning_got_generate", arguments).await;
    (id, node_ids(&output["continuations"]))
}

#[tokio::test]
async fn a_merge_that_its_sources_outvote_gives_way_to_the_best_of_them() {
    let desk = ReasoningTestRegistry::new();
    let (id, nodes, merged) = merged_graph(&desk, Some("41")).await;
    let objection = "2 of the 3 merged nodes reach another result: 42";
    assert_eq!(merged["answer"], "41");
    assert_eq!(merged["weakest_point"], objection);
    assert_eq!(merged["confidence"], 0.3333);
    let merge = load_node(&desk, &merged["aggregated_node_id"]).await;
    assert_eq!(merge.metadata.unwrap()["weakest_point"], objection);

    let arguments = json!({ "graph_id": id });
    for _ in 0..2 {
        let output = desk
            .call_ok("reasoning_got_finalize", arguments.clone())
            .await;
        assert_eq!(node_ids(&output["conclusions"]), nodes[2..]);
        assert_eq!(output["conclusions"][0]["answer"], "**42**");
        let note = output["note"].as_str().unwrap();
        for words in ["merge n5 says 41", objection, "terminal_node_ids"] {
            assert!(note.contains(words), "{words}: {note}");
        }
        assert_eq!(terminal_nodes(&desk, &id).await, json!(nodes[2..]));
    }
}

#[tokio::test]
async fn an_outvoted_merge_is_concluded_with_if_it_is_named() {
    let desk = ReasoningTestRegistry::new();
    let (id, _, merged) = merged_graph(&desk, Some("41")).await;
    let merge = &merged["aggregated_node_id"];
    let arguments = json!({ "graph_id": id, "terminal_node_ids": ["n5"] });
    let output = desk.call_ok("reasoning_got_finalize", arguments).await;
    assert_eq!(
        node_ids(&output["conclusions"]),
        std::slice::from_ref(merge)
    );
    assert_eq!(output.get("note"), None);
    // It stays the conclusion.
    assert_eq!(finalize(&desk, &id).await, std::slice::from_ref(merge));
    assert_eq!(terminal_nodes(&desk, &id).await, json!([merge]));
}

#[tokio::test]
async fn a_merge_that_the_caller_brings_is_not_outvoted() {
    let desk = ReasoningTestRegistry::new();
    let (id, nodes) = graph_of_results(&desk, &["42", "41", "42"]).await;
    let arguments = json!({
        "graph_id": id, "node_ids": nodes,
        "reply": { "thought": "The second is right.", "answer": "41", "weakest_point": "haste" },
    });
    let merged = desk.call_ok("reasoning_got_aggregate", arguments).await;
    assert_eq!(merged["weakest_point"], "haste");
    let merge = &merged["aggregated_node_id"];
    let arguments = json!({ "graph_id": id });
    let output = desk.call_ok("reasoning_got_finalize", arguments).await;
    assert_eq!(
        node_ids(&output["conclusions"]),
        std::slice::from_ref(merge)
    );
    assert_eq!(output.get("note"), None);
}

#[tokio::test]
async fn only_a_result_that_most_sources_share_outvotes_a_merge() {
    let open = "keep one shelf for what must be eaten first";
    for (answers, merged) in [
        (&["42", "41", "42"][..], Some("42.0")),
        (&["42", "41", "42"], None),
        (&["42", "41", "40"], Some("43")),
        (&["42", "42", "41", "40"], Some("41")),
        (&[open, open, "41"], Some("41")),
    ] {
        let desk = ReasoningTestRegistry::new();
        let (id, nodes) = graph_of_results(&desk, answers).await;
        desk.script_replies([aggregate_reply_with_answer("all of it", merged)]);
        let arguments = json!({ "graph_id": id, "node_ids": nodes });
        let output = desk.call_ok("reasoning_got_aggregate", arguments).await;
        assert_eq!(
            output["weakest_point"], "one source",
            "{answers:?} {merged:?}"
        );
        let merge = &output["aggregated_node_id"];
        assert_eq!(finalize(&desk, &id).await, std::slice::from_ref(merge));
    }
}

/// Reflects on the session of a graph, and returns the node that is checked.
async fn reflected_node(registry: &ReasoningTestRegistry, graph: &Value) -> Value {
    let arguments = json!({ "graph_id": graph });
    let state = registry.call_ok("reasoning_got_state", arguments).await;
    let fields = json!({
        "strengths": [], "weaknesses": [], "recommendations": [], "reaches_result": true,
        "quality_percent": 50, "answer": null, "weakest_point": "w", "confidence_percent": 60,
    });
    registry.script_replies([reply_with_fields("checked", &fields)]);
    let arguments = json!({ "session_id": state["session_id"] });
    let output = registry.call_ok("reasoning_reflection", arguments).await;
    let thoughts = registry.thoughts().await;
    let check = thoughts
        .into_iter()
        .find(|thought| json!(thought.id) == output["thought_id"]);
    check.unwrap().metadata.unwrap()["reflects_on"].clone()
}

#[tokio::test]
async fn a_graph_is_reflected_on_by_its_conclusion_and_not_by_what_it_replaces() {
    // The merge rates lower than the best of the nodes that it replaces.
    for concludes in [false, true] {
        let desk = ReasoningTestRegistry::new();
        let (id, _, merged) = merged_graph(&desk, Some("42")).await;
        assert_eq!(merged["confidence"], 0.6667);
        let merge = &merged["aggregated_node_id"];
        if concludes {
            assert_eq!(finalize(&desk, &id).await, std::slice::from_ref(merge));
        }
        assert_eq!(reflected_node(&desk, &id).await, *merge, "{concludes}");
    }
    // A conclusion that was named goes before a merge that is open and rates higher.
    let desk = ReasoningTestRegistry::new();
    let (id, nodes) = graph_of_results(&desk, &["42", "42", "41"]).await;
    score(&desk, &id, &nodes[2], 60).await;
    desk.script_replies([aggregate_reply_with_answer("all of it", Some("42"))]);
    let arguments = json!({ "graph_id": id, "node_ids": nodes[..2] });
    let merged = desk.call_ok("reasoning_got_aggregate", arguments).await;
    assert_eq!(merged["confidence"], 1.0);
    let name = json!({ "graph_id": id, "terminal_node_ids": nodes[2..] });
    desk.call_ok("reasoning_got_finalize", name).await;
    assert_eq!(reflected_node(&desk, &id).await, nodes[2]);
}

#[tokio::test]
async fn a_graph_is_reflected_on_by_what_an_outvoted_merge_gave_way_to() {
    let desk = ReasoningTestRegistry::new();
    let (id, nodes, _) = merged_graph(&desk, Some("41")).await;
    assert_eq!(finalize(&desk, &id).await, nodes[2..]);
    assert_eq!(reflected_node(&desk, &id).await, nodes[2]);
}

#[tokio::test]
async fn an_outvoted_merge_that_is_named_later_stays_the_conclusion() {
    let desk = ReasoningTestRegistry::new();
    let (id, nodes, merged) = merged_graph(&desk, Some("41")).await;
    assert_eq!(finalize(&desk, &id).await, nodes[2..]);
    let merge = &merged["aggregated_node_id"];
    let name = json!({ "graph_id": id, "terminal_node_ids": [merge] });
    desk.call_ok("reasoning_got_finalize", name).await;
    assert_eq!(finalize(&desk, &id).await, std::slice::from_ref(merge));
}

#[tokio::test]
async fn the_better_version_of_what_outvotes_a_merge_is_the_conclusion() {
    let desk = ReasoningTestRegistry::new();
    let (id, nodes, _) = merged_graph(&desk, Some("41")).await;
    let reply = json!({ "thought": "It is 42, with the work.", "answer": "42" });
    let arguments = json!({ "graph_id": id, "node_id": nodes[2], "reply": reply });
    let better = desk.call_ok("reasoning_got_refine", arguments).await;
    let better = &better["refined_node_id"];
    assert_eq!(finalize(&desk, &id).await, std::slice::from_ref(better));
}
