//! Long material in prompts: the subject of an operation is whole, lists lose whole items, and a text
//! that is shortened keeps its beginning and its end.

use deliberate_core::Mode;
use serde_json::{Value, json};

use super::{
    graph_fixtures::{
        aggregate_reply_with_answer, continuation_reply_with_answer, free_text_reply,
        generate_answers, generate_nodes, init_graph, insert_graph, node_ids, refine_reply,
        sample_edge, sample_node, score_fields, score_reply,
    },
    reflection_fixtures::{REFLECT, check_reply},
    test_registry::{ReasoningTestRegistry, conversation, reply_with_fields},
};

/// A text of about three thousand words, all of its sentences different.
fn long_text() -> String {
    let sentences: Vec<String> = (1..=300)
        .map(|number| format!("Sentence {number} says that seven more words follow."))
        .collect();
    format!("{} The result is 42.", sentences.join(" "))
}

/// Asserts that everything in the shortened text is a whole sentence.
fn assert_whole_sentences(shown: &str) {
    let (before, after) = shown
        .split_once(" [... ")
        .expect("a mark of what is left out");
    assert!(before.ends_with("words follow."), "{before}");
    let (count, after) = after.split_once(" characters left out ...] ").unwrap();
    assert!(count.parse::<usize>().unwrap() > 1_000, "{count}");
    assert!(after.starts_with("Sentence "), "{after}");
}

#[tokio::test]
async fn a_long_thought_in_the_history_keeps_its_first_and_its_last_sentence() {
    let desk = ReasoningTestRegistry::new();
    let steps: Vec<(String, String)> = (1..=5)
        .map(|number| (format!("input {number}."), long_text()))
        .collect();
    desk.add_session(Mode::Linear, steps).await;
    desk.think_ok(json!({ "content": "next", "session_id": "s" }))
        .await;
    let shown = desk.last_request().messages.remove(0).text;
    // The first step and the two newest; the others are dropped before one is shortened.
    assert_eq!(shown.matches("The result is 42.").count(), 3, "{shown}");
    assert_eq!(shown.matches("Sentence 1 says").count(), 3, "{shown}");
    assert!(
        shown.contains("(steps in between are left out: 2)"),
        "{shown}"
    );
    for step in shown.split("</step-7e57ed>").take(3) {
        assert_whole_sentences(step);
    }
}

#[tokio::test]
async fn a_long_node_is_refined_and_scored_whole() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let long = long_text();
    let nodes = generate_nodes(&desk, id, root, &[&long, "short"]).await;
    let node = json!({ "graph_id": id, "node_id": nodes[0] });

    desk.script_replies([score_reply(50)]);
    desk.call_ok("reasoning_got_score", node.clone()).await;
    assert!(conversation(&desk.last_request()).contains(&long));

    let mut fields = score_fields([50; 4].map(|percent| json!(percent)));
    let scores = [1, 2].map(|number| {
        fields["node"] = json!(number);
        fields.clone()
    });
    desk.script_replies([free_text_reply("both", &json!({ "scores": scores }))]);
    let both = json!({ "graph_id": id, "node_ids": nodes });
    desk.call_ok("reasoning_got_score", both).await;
    assert!(conversation(&desk.last_request()).contains(&long));

    let better = long.replace("42", "43");
    desk.script_replies([refine_reply(&better), score_reply(70)]);
    desk.call_ok("reasoning_got_refine", node).await;
    let asked = desk.requests();
    let [.., refine, score] = asked.as_slice() else {
        panic!("{asked:?}")
    };
    assert!(conversation(refine).contains(&long));
    assert!(conversation(score).contains(&better));
}

#[tokio::test]
async fn ancestors_and_siblings_are_dropped_whole() {
    let desk = ReasoningTestRegistry::new();
    let text = |number| format!("Node {number}. {}", "It goes on. ".repeat(250));
    let names = ["root", "a", "b", "c", "d"];
    let mut nodes: Vec<_> = (0..)
        .zip(names)
        .map(|(depth, name)| sample_node(name, depth, None))
        .collect();
    nodes.extend((1..=6).map(|number| sample_node(&format!("s{number}"), 5, None)));
    for (number, node) in nodes.iter_mut().enumerate() {
        node.content = text(number);
    }
    let kind = deliberate_core::EdgeKind::Generates;
    let mut edges: Vec<_> = names
        .windows(2)
        .map(|pair| sample_edge(pair[0], kind, pair[1]))
        .collect();
    edges.extend((1..=6).map(|number| sample_edge("d", kind, &format!("s{number}"))));
    insert_graph(&desk, nodes, edges).await;
    generate_nodes(&desk, &json!("g"), &json!("d"), &["new"]).await;
    let shown = conversation(&desk.last_request());
    assert!(
        shown.contains("(nodes in between are left out: 2)"),
        "{shown}"
    );
    // The root and the parent divide a share that is too small for both.
    assert_eq!(shown.matches("characters left out").count(), 2, "{shown}");
    assert!(shown.contains("(3 earlier ones are left out)"), "{shown}");
    for number in [4, 8, 9, 10] {
        assert!(
            shown.contains(text(number).trim()),
            "node {number} is whole"
        );
    }
}

#[tokio::test]
async fn merged_sources_have_equal_shares_and_show_their_answers() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({ "max_branches": 10, "max_nodes": 100 })).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let mut sources = Vec::new();
    for part in 0..5 {
        let texts: Vec<String> = (0..9)
            .map(|number| format!("Source {part}-{number}. {}", long_text()))
            .collect();
        desk.script_replies(
            texts
                .iter()
                .map(|text| continuation_reply_with_answer(text, Some("forty-two"))),
        );
        let arguments = json!({ "graph_id": id, "node_id": root, "k": 9 });
        let grown = desk.call_ok("reasoning_got_generate", arguments).await;
        sources.extend(node_ids(&grown["continuations"]));
    }
    for (count, left_out) in [(9, None), (45, Some("(8 more are left out)"))] {
        desk.script_replies([
            aggregate_reply_with_answer("all", Some("forty-two")),
            score_reply(80),
        ]);
        let arguments = json!({ "graph_id": id, "node_ids": sources[..count] });
        let merged = desk.call_ok("reasoning_got_aggregate", arguments).await;
        let arguments = json!({ "graph_id": id, "node_id": merged["aggregated_node_id"] });
        desk.call_ok("reasoning_got_score", arguments).await;
        let shown = desk.last_request().messages.remove(0).text;
        let shown_sources = if left_out.is_some() { 37 } else { 9 };
        // The merged node shows its own answer as well.
        let answers = shown.matches("Answer: forty-two").count();
        assert_eq!(answers, shown_sources + 1);
        assert_eq!(shown.matches("The result is 42.").count(), shown_sources);
        match left_out {
            Some(text) => assert!(shown.contains(text), "{shown}"),
            None => assert!(!shown.contains("more are left out"), "{shown}"),
        }
    }
}

#[tokio::test]
async fn a_long_question_is_solved_whole() {
    let desk = ReasoningTestRegistry::new();
    let question = long_text();
    let fields = json!({ "answer": "1,200", "weakest_point": "none", "confidence_percent": 70 });
    desk.script_replies([reply_with_fields(&long_text(), &fields)]);
    let first = desk.think_ok(json!({ "content": question })).await;
    desk.script_replies([check_reply(80, ""), reply_with_fields("again", &fields)]);
    let arguments = json!({ "thought_id": first["thought_id"] });
    let output = desk.call_ok(REFLECT, arguments).await;
    assert_eq!(output["answer"], "1,200");
    let asked = desk.requests();
    assert_eq!(asked[2].key, "solution_1");
    assert!(conversation(&asked[2]).contains(&question));
    // The check sees the question and the thought whole.
    assert_eq!(conversation(&asked[1]).matches(&question).count(), 2);
}

#[tokio::test]
async fn both_versions_are_compared_whole() {
    let desk = ReasoningTestRegistry::new();
    let (long, revised) = (long_text(), long_text().replace("42", "43"));
    desk.script_replies([check_reply(40, &revised)]);
    let replies = ["B", "A"].map(|it| reply_with_fields("last step", &json!({ "better": it })));
    desk.script_replies(replies);
    let output = desk.call_ok(REFLECT, json!({ "content": long })).await;
    assert_eq!(output["improved_reasoning"], revised);
    let compared = conversation(&desk.last_request());
    assert!(compared.contains(&long) && compared.contains(&revised));
}

#[tokio::test]
async fn the_next_step_of_a_graph_settles_the_weakest_point() {
    const DOUBT: &str = "settle that first: <node-7e57ed>untested</node-7e57ed>";
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let nodes = generate_answers(&desk, id, root, &["42"]).await;
    assert!(
        !conversation(&desk.last_request()).contains("settle that"),
        "a new root has none"
    );
    generate_nodes(&desk, id, &nodes[0], &["on"]).await;
    assert!(conversation(&desk.last_request()).contains(DOUBT));

    // The improvement sees it; the judgment does not, and names its own.
    let judged = score_fields([50; 4].map(|percent| json!(percent)));
    desk.script_replies([
        refine_reply("better"),
        free_text_reply("so so", &judged),
        score_reply(90),
    ]);
    let arguments = json!({ "graph_id": id, "node_id": nodes[0] });
    let output = desk.call_ok("reasoning_got_refine", arguments).await;
    let asked = desk.requests().split_off(2);
    let with_doubt: Vec<_> = asked
        .iter()
        .filter(|ask| conversation(ask).contains(DOUBT))
        .map(|ask| ask.key.as_str())
        .collect();
    assert_eq!(with_doubt, ["got_refine"]);
    assert_eq!(output["kept"], "refined");
    assert_eq!(output["weakest_point"], "no figures");
    let done = desk
        .call_ok("reasoning_got_finalize", json!({ "graph_id": id }))
        .await;
    assert_eq!(done["conclusions"][0]["weakest_point"], "no figures");
}

#[tokio::test]
async fn a_merge_is_shown_the_scores_of_its_sources() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let nodes = generate_nodes(&desk, id, root, &["plain", "new"]).await;
    for (node, measures) in nodes.iter().zip([[60, 95, 20, 10], [90, 60, 90, 100]]) {
        let fields = score_fields(measures.map(|percent| json!(percent)));
        desk.script_replies([free_text_reply("so so", &fields)]);
        let arguments = json!({ "graph_id": id, "node_id": node });
        desk.call_ok("reasoning_got_score", arguments).await;
    }
    desk.script_replies([aggregate_reply_with_answer("all", None)]);
    let arguments = json!({ "graph_id": id, "node_ids": nodes });
    desk.call_ok("reasoning_got_aggregate", arguments).await;
    let shown = conversation(&desk.last_request());
    for tag in [r#"number="1" score="0.74""#, r#"number="2" score="0.60""#] {
        assert!(shown.contains(tag), "{shown}");
    }
}

#[tokio::test]
async fn a_graph_that_auto_grows_names_the_result_that_most_nodes_reach() {
    let desk = ReasoningTestRegistry::new();
    let replies = [("a", "41"), ("b", "42"), ("c", "42.0")];
    desk.script_replies(
        replies.map(|(text, answer)| continuation_reply_with_answer(text, Some(answer))),
    );
    let arguments = json!({ "content": "6 × 7?", "hints": ["graph of thoughts"], "run": true });
    let output = desk.call_ok("reasoning_auto", arguments).await;
    assert_eq!(output["result"]["answer"], "42");
}

#[tokio::test]
async fn a_refinement_that_the_caller_brings_keeps_its_doubt() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let nodes = generate_answers(&desk, id, root, &["42"]).await;
    let reply = json!({
        "thought": "better", "answer": null, "weakest_point": "old", "confidence_percent": 95,
    });
    let arguments = json!({ "graph_id": id, "node_id": nodes[0], "reply": reply });
    let output = desk.call_ok("reasoning_got_refine", arguments).await;
    assert_eq!(output["weakest_point"], "old");
    assert_eq!(output["confidence"], 0.5, "nothing is concluded");
}

#[tokio::test]
async fn the_result_that_stands_is_known_after_a_reflection() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    generate_answers(&desk, id, root, &["42"]).await;
    let session = json!({ "session_id": graph["session_id"] });
    let evaluate = "reasoning_reflection_evaluate";
    desk.script_replies([reply_with_fields("Sound.", &json!({}))]);
    let output = desk.call_ok(evaluate, session.clone()).await;
    assert_eq!(output["answer"], "42", "of the best node");

    // The node's result is compared with independent solutions.
    let fields = json!({ "answer": "42", "weakest_point": "none", "confidence_percent": 70 });
    desk.script_replies([check_reply(80, ""), reply_with_fields("again", &fields)]);
    let output = desk.call_ok(REFLECT, session.clone()).await;
    assert_eq!(output["answer"], "42");
    assert_eq!(output["confidence"], 1.0);
    let stored = desk.only_thought().await.metadata.unwrap();
    assert_eq!(stored["answer"], "42");
    desk.script_replies([reply_with_fields("Sound.", &json!({}))]);
    let output = desk.call_ok(evaluate, session).await;
    assert_eq!(output["answer"], "42", "of the reflection");
}

#[tokio::test]
async fn a_thought_that_leaves_its_question_open_is_at_most_half_good() {
    for (answer, quality) in [(Value::Null, 0.5), (json!("a long and winding text"), 0.9)] {
        let desk = ReasoningTestRegistry::new();
        let fields = json!({ "answer": answer, "weakest_point": "x", "confidence_percent": 70 });
        desk.script_replies([reply_with_fields("I will think.", &fields)]);
        let first = desk.think_ok(json!({ "content": "Why?" })).await;
        desk.script_replies([check_reply(90, "")]);
        let arguments = json!({ "thought_id": first["thought_id"] });
        let output = desk.call_ok(REFLECT, arguments).await;
        assert_eq!(output["quality_before"], quality, "{answer}");
    }
    // A text that answers no question is rated as it is.
    let desk = ReasoningTestRegistry::new();
    desk.script_replies([check_reply(90, "")]);
    let output = desk.call_ok(REFLECT, json!({ "content": "A poem." })).await;
    assert_eq!(output["quality_before"], 0.9);
}
