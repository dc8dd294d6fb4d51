//! Thoughts, scores, merges and improvements that the caller brings in `reply`, so that no model is
//! asked.

use super::*;
use crate::graph_fixtures::{node_ids, score_fields};

/// Calls a tool with a reply; no model may be asked.
async fn bring(
    registry: &ReasoningTestRegistry,
    tool: &str,
    mut arguments: Value,
    reply: Value,
) -> Value {
    arguments["reply"] = reply;
    let before = registry.requests().len();
    let output = registry.call_ok(tool, arguments).await;
    assert_eq!(registry.requests().len(), before, "no model is asked");
    assert_eq!(output["reply_recorded"], true);
    output
}

/// Brings replies that must be refused with an error that names these words, and that change
/// nothing.
async fn bring_wrong(
    registry: &ReasoningTestRegistry,
    (tool, arguments): (&str, Value),
    replies: impl IntoIterator<Item = Value>,
    words: &[&str],
) {
    let graph = &arguments["graph_id"];
    let before = (
        stored_graph(registry, graph).await,
        registry.requests().len(),
    );
    for reply in replies {
        let mut arguments = arguments.clone();
        arguments["reply"] = reply.clone();
        let error = registry.call_err(tool, arguments.clone()).await;
        assert_eq!(error.code(), "Validation", "{reply}: {error}");
        let message = error.to_string();
        for word in words.iter().chain(&["reply"]) {
            assert!(message.contains(word), "{reply}: {message}");
        }
    }
    let after = (
        stored_graph(registry, graph).await,
        registry.requests().len(),
    );
    assert_eq!(after, before);
}

fn measures(percent: u32) -> Value {
    score_fields([percent; 4].map(|percent| json!(percent)))
}

/// Measures with the node under this name.
fn measures_as(name: &str, node: &Value, percent: u32) -> Value {
    let mut fields = measures(percent);
    fields[name] = node.clone();
    fields
}

fn named_measures(node: &Value, percent: u32) -> Value {
    let mut fields = measures(percent);
    fields["node"] = node.clone();
    fields
}

#[tokio::test]
async fn continuations_are_a_text_a_list_or_objects() {
    let one = json!({
        "thought": "so it is 42", "kind": "conclusion", "answer": 42, "weakest_point": "w",
        "confidence_percent": 90,
    });
    for (reply, texts) in [
        (json!("just a text"), vec!["just a text"]),
        (one.clone(), vec!["so it is 42"]),
        (json!(["one", { "thought": "two" }]), vec!["one", "two"]),
        (
            json!({ "continuations": [one, "no object"] }),
            vec!["so it is 42"],
        ),
        // JSON as a text, alone or in a code fence.
        (json!(one.to_string()), vec!["so it is 42"]),
        (json!(r#"["one", {"thought": "two"}]"#), vec!["one", "two"]),
        (
            json!("```json\n{\"continuations\": [{\"thought\": \"one\"}]}\n```"),
            vec!["one"],
        ),
        // JSON that is itself the thought.
        (json!(r#"{"port": 8080}"#), vec![r#"{"port": 8080}"#]),
        // More than the default, and one that is there already.
        (
            json!(["1", "2", "3", "4", "5"]),
            vec!["1", "2", "3", "4", "5"],
        ),
        (json!(["1", "1.", "the root"]), vec!["1"]),
    ] {
        let desk = ReasoningTestRegistry::new();
        let graph = init_graph(&desk, json!({})).await;
        let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
        let arguments = json!({ "graph_id": id, "node_id": root });
        let output = bring(&desk, "reasoning_got_generate", arguments, reply).await;
        let seen: Vec<_> = output["continuations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["content"].as_str().unwrap())
            .collect();
        assert_eq!(seen, texts);
        assert_eq!(current_nodes(&desk, id).await.len(), texts.len() + 1);
        let first = &output["continuations"][0];
        let conclusion = texts[0] == "so it is 42";
        let kind = if conclusion { "conclusion" } else { "thought" };
        assert_eq!(first["node_type"], kind);
        assert_eq!(
            first["answer"],
            if conclusion { json!("42") } else { Value::Null }
        );
        assert_eq!(first["confidence"], if conclusion { 0.9 } else { 0.8 });
    }
}

#[tokio::test]
async fn continuations_of_another_shape_are_refused() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let arguments = json!({ "graph_id": graph["graph_id"], "node_id": graph["root_node_id"] });
    let wrong = [
        json!({}),
        json!([]),
        json!({ "continuations": [] }),
        json!({ "thought": " " }),
    ];
    let call = ("reasoning_got_generate", arguments);
    bring_wrong(&desk, call, wrong, &["`continuations`"]).await;
}

#[tokio::test]
async fn continuations_that_the_caller_brings_are_not_scored_by_a_model() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let arguments = json!({
        "graph_id": graph["graph_id"], "node_id": graph["root_node_id"], "score": true,
    });
    let output = bring(
        &desk,
        "reasoning_got_generate",
        arguments,
        json!(["a", "b"]),
    )
    .await;
    assert_eq!(output.get("scores"), None);
    let note = output["note"].as_str().unwrap();
    assert!(
        note.contains("pass your scores to reasoning_got_score"),
        "{note}"
    );
}

#[tokio::test]
async fn scores_come_with_the_continuations_that_the_caller_brings() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let arguments = json!({
        "graph_id": graph["graph_id"], "node_id": graph["root_node_id"], "score": true,
    });
    let scored = |text: &str, percent| {
        let mut fields = measures(percent);
        fields["thought"] = json!(text);
        fields["weakest_point"] = json!("a guess");
        fields
    };
    let reply = json!({ "continuations": [scored("a", 40), scored("b", 70), scored("A.", 90)] });
    let output = bring(
        &desk,
        "reasoning_got_generate",
        arguments.clone(),
        reply.clone(),
    )
    .await;
    let ids = node_ids(&output["continuations"]);
    assert_eq!(
        node_ids(&output["scores"]),
        [ids[1].clone(), ids[0].clone()]
    );
    assert_eq!(output["scores"][0]["overall_score"], 0.7);
    assert_eq!(output["scores"][0]["weakest_point"], "a guess");
    assert_eq!(output.get("note"), None);
    assert_eq!(load_node(&desk, &ids[0]).await.score, Score::new(0.4));

    // One without measures is named; the other is scored.
    let reply = json!({ "continuations": [scored("c", 60), "no object", { "thought": "d" }] });
    let arguments = json!({
        "graph_id": graph["graph_id"], "node_id": ids[0], "score": true,
    });
    let output = bring(&desk, "reasoning_got_generate", arguments, reply).await;
    assert_eq!(output["scores"].as_array().unwrap().len(), 1);
    let note = output["note"].as_str().unwrap();
    assert!(note.contains("validity_percent"), "{note}");
}

#[tokio::test]
async fn a_text_that_lists_thoughts_becomes_a_node_for_each() {
    let text = "Three ways:\n1. Count them.\n   One by one.\n2. Weigh them.\n3. Ask.";
    let items = ["Count them.\n   One by one.", "Weigh them.", "Ask."];
    for (k, wanted) in [
        (json!(null), &items[..]),
        (json!(2), &items[..2]),
        (json!(1), &[text][..]),
    ] {
        let desk = ReasoningTestRegistry::new();
        let graph = init_graph(&desk, json!({})).await;
        let mut arguments =
            json!({ "graph_id": graph["graph_id"], "node_id": graph["root_node_id"] });
        if !k.is_null() {
            arguments["k"] = k;
        }
        let output = bring(&desk, "reasoning_got_generate", arguments, json!(text)).await;
        let nodes = output["continuations"].as_array().unwrap().iter();
        let texts: Vec<_> = nodes.map(|it| it["content"].as_str().unwrap()).collect();
        assert_eq!(texts, wanted);
    }
}

#[tokio::test]
async fn a_score_is_the_fields_alone_or_after_a_text() {
    let desk = ReasoningTestRegistry::new();
    let (id, _, children) = graph_with_two_nodes(&desk, json!({})).await;
    let fields = measures(60);
    for (reply, rationale) in [
        (fields.clone(), Value::Null),
        (json!(format!("It holds.\n{fields}")), json!("It holds.")),
        (
            json!({ "relevance": 0.6, "validity": 0.6, "depth": 0.6, "novelty": 0.6,
                "rationale": "It holds." }),
            json!("It holds."),
        ),
    ] {
        let arguments = json!({ "graph_id": id, "node_id": children[0] });
        let output = bring(&desk, "reasoning_got_score", arguments, reply).await;
        assert_eq!(output["overall_score"], 0.6);
        assert_eq!(output["rationale"], rationale);
    }
    let arguments = json!({ "graph_id": id, "node_id": children[0] });
    let mut lacking = fields;
    lacking["depth_percent"] = json!("very");
    let wrong = [json!("It is good."), json!({}), json!([60]), lacking];
    let names = ["`validity_percent`", "`depth_percent`", "`weakest_point`"];
    bring_wrong(&desk, ("reasoning_got_score", arguments), wrong, &names).await;
}

#[tokio::test]
async fn scores_of_several_nodes_are_named_by_number_id_short_id_or_place() {
    let desk = ReasoningTestRegistry::new();
    let (id, _, children) = graph_with_two_nodes(&desk, json!({})).await;
    let [a, b] = [&children[0], &children[1]];
    for [first, second] in [
        // The second node is named first, unless the place counts.
        [named_measures(&json!(2), 90), named_measures(&json!(1), 50)],
        [named_measures(b, 90), named_measures(a, 50)],
        [
            named_measures(&json!("n3"), 90),
            named_measures(&json!("n2"), 50),
        ],
        // The name that the tool's own output has.
        [measures_as("node_id", b, 90), measures_as("node_id", a, 50)],
        [
            measures_as("id", &json!("2"), 90),
            measures_as("id", &json!("1"), 50),
        ],
        [measures(50), measures(90)],
    ] {
        let arguments = json!({ "graph_id": id, "node_ids": [a, b] });
        let scores = json!({ "scores": [first, second], "rationale": "b holds" });
        let output = bring(&desk, "reasoning_got_score", arguments, scores).await;
        assert_eq!(
            node_ids(&output["scores"]),
            [b.clone(), a.clone()],
            "best first"
        );
        assert_eq!(output["scores"][0]["overall_score"], 0.9);
        assert_eq!(output["scores"][0]["is_terminal_candidate"], true);
        assert_eq!(output["scores"][1]["overall_score"], 0.5);
        assert_eq!(output["scores"][1]["rationale"], "b holds");
        assert_eq!(output.get("overall_score"), None);
        assert_eq!(load_node(&desk, a).await.score, Score::new(0.5));
        assert_eq!(load_node(&desk, b).await.score, Score::new(0.9));
    }
    // One node in a list takes the fields of one node.
    let arguments = json!({ "graph_id": id, "node_ids": [a] });
    let output = bring(&desk, "reasoning_got_score", arguments, measures(70)).await;
    assert_eq!(output["scores"][0]["overall_score"], 0.7);
}

#[tokio::test]
async fn a_reply_that_leaves_a_node_without_a_score_is_refused() {
    let desk = ReasoningTestRegistry::new();
    let (id, _, children) = graph_with_two_nodes(&desk, json!({})).await;
    let arguments = json!({ "graph_id": id, "node_ids": children });
    let call = ("reasoning_got_score", arguments);
    let list = |scores: &[Value]| json!({ "scores": scores });
    let mut lacking = named_measures(&json!(2), 50);
    lacking["depth_percent"] = Value::Null;
    let wrong = [
        list(&[]),
        list(&[measures(50)]),
        measures(50),
        list(&[named_measures(&json!(1), 50), named_measures(&json!(1), 50)]),
        list(&[named_measures(&json!(1), 50), named_measures(&json!(3), 50)]),
        list(&[named_measures(&json!(1), 50), named_measures(&json!(0), 50)]),
        list(&[
            named_measures(&json!(1), 50),
            named_measures(&json!("n9"), 50),
        ]),
        list(&[named_measures(&json!(1), 50), lacking]),
    ];
    let rule = "must have a score for each of the 2 nodes";
    bring_wrong(&desk, call.clone(), wrong, &[rule]).await;
    let wrong = [json!("Both are good."), json!({})];
    bring_wrong(&desk, call, wrong, &["`scores`"]).await;
}

#[tokio::test]
async fn a_merged_insight_is_a_text_or_an_object() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let children = generate_answers(&desk, id, root, &["42", "41"]).await;
    let arguments = json!({ "graph_id": id, "node_ids": children });
    let tool = "reasoning_got_aggregate";
    let output = bring(&desk, tool, arguments.clone(), json!("It is both.")).await;
    assert_eq!(output["content"], "It is both.");
    assert_eq!(output["confidence"], 0.8);
    let reply = json!({
        "thought": "It is 42.", "answer": "42", "conflicts_resolved": ["41 was a slip"],
        "weakest_point": "w", "confidence_percent": 70,
    });
    let output = bring(&desk, tool, arguments.clone(), reply).await;
    assert_eq!(output["answer"], "42");
    assert_eq!(output["confidence"], 0.5, "one of two sources reaches it");
    assert_eq!(output["conflicts_resolved"], json!(["41 was a slip"]));
    let new = load_node(&desk, &output["aggregated_node_id"]).await;
    assert_eq!(
        (new.node_type, new.content.as_str()),
        (NodeKind::Aggregation, "It is 42.")
    );

    let wrong = [
        json!({}),
        json!({ "thought": " " }),
        json!({ "confidence_percent": 1 }),
    ];
    let names = [
        "`thought`",
        "`answer`",
        "`weakest_point`",
        "`confidence_percent`",
    ];
    bring_wrong(&desk, (tool, arguments), wrong, &names).await;
}

#[tokio::test]
async fn an_improvement_is_a_text_or_an_object() {
    let desk = ReasoningTestRegistry::new();
    let (id, _, children) = graph_with_two_nodes(&desk, json!({})).await;
    let tool = "reasoning_got_refine";
    let on = |node: &Value| json!({ "graph_id": id, "node_id": node });
    let output = bring(&desk, tool, on(&children[0]), json!("a, with figures")).await;
    assert_eq!(output["kept"], "refined");
    assert_eq!(output["content"], "a, with figures");
    assert_eq!(output["confidence"], 0.8);
    let new = load_node(&desk, &output["refined_node_id"]).await;
    assert_eq!((new.node_type, new.score), (NodeKind::Refinement, None));
    assert!(!load_node(&desk, &children[0]).await.is_active);

    let reply = json!({
        "thought": "b, with figures", "critique": "vague", "improvements": ["figures"],
        "answer": "7", "weakest_point": "w", "confidence_percent": 75,
    });
    let output = bring(&desk, tool, on(&children[1]), reply).await;
    assert_eq!(
        (&output["answer"], &output["confidence"]),
        (&json!("7"), &json!(0.75))
    );
    assert_eq!(output["improvements_made"], json!(["figures"]));
    let new = load_node(&desk, &output["refined_node_id"]).await;
    let notes = new.metadata.unwrap();
    assert_eq!(
        (&notes["critique"], &notes["answer"]),
        (&json!("vague"), &json!("7"))
    );

    // The same text changes nothing.
    let before = stored_graph(&desk, &id).await;
    let output = bring(&desk, tool, on(&children[0]), json!(" A. ")).await;
    assert_eq!(output["kept"], "original");
    assert_eq!(stored_graph(&desk, &id).await, before);

    let wrong = [
        json!({}),
        json!({ "thought": " " }),
        json!({ "critique": "x" }),
    ];
    let names = [
        "`thought`",
        "`critique`",
        "`improvements`",
        "`weakest_point`",
    ];
    bring_wrong(&desk, (tool, on(&children[1])), wrong, &names).await;
}
