//! Answers as clients get them: Markdown, small data, and short ids that are taken as arguments.

use deliberate_toolkit::PresentedOutput;

use super::*;
use crate::graph_fixtures::{
    aggregate_reply_with_answer, continuation_reply_with_answer, insert_graph, sample_node,
    score_fields, score_reply,
};

/// Calls a tool and presents its answer.
async fn present(
    registry: &ReasoningTestRegistry,
    tool: &str,
    arguments: Value,
) -> PresentedOutput {
    let output = registry.call_ok(tool, arguments.clone()).await;
    let presented = registry.registry.present(tool, &arguments, &output).await;
    presented.expect("a reasoning tool")
}

#[tokio::test]
async fn a_tree_is_shown_and_continued_by_short_ids() {
    let desk = ReasoningTestRegistry::new();
    let tree = explore_tree(&desk).await;
    let session = &tree["session_id"];
    let shown = desk
        .registry
        .present("reasoning_tree", &json!({}), &tree)
        .await
        .unwrap();
    insta::assert_snapshot!(shown.text);
    let short = &shown.data["short_ids"];
    assert_eq!(short["b1"], tree["branch_id"]);
    assert_eq!(short["b3"], tree["recommended_branch"]);
    assert_eq!(short["t1"], tree["thought_id"]);
    assert_eq!(
        shown.data["branches"], tree["branches"],
        "the data keeps the ids"
    );

    let focus = json!({ "session_id": session, "branch_id": "b2" });
    let focused = desk.call_ok("reasoning_tree_focus", focus).await;
    assert_eq!(focused["branch_id"], tree["branches"][0]["id"]);
    let next = json!({
        "content": "x", "session_id": session, "thought_id": "t3",
        "reply": { "approaches": [{ "thought": "one" }, { "thought": "two" }] },
    });
    let next = desk.call_ok("reasoning_tree", next).await;
    assert_eq!(next["branch_id"], tree["branches"][1]["id"]);
    let closed = json!({ "session_id": session, "branch_id": "b5", "state": "completed" });
    let closed = desk.call_ok("reasoning_tree_complete", closed).await;
    assert_eq!(closed["branch_id"], next["branches"][1]["id"]);
}

#[tokio::test]
async fn a_graph_is_shown_and_worked_on_by_short_ids() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let id = &graph["graph_id"];
    let mut pages = Vec::new();
    let scores = [(10, "slip"), (90, "none")].map(|(percent, weakest)| {
        let mut fields = score_fields([percent; 4].map(|percent| json!(percent)));
        fields["weakest_point"] = json!(weakest);
        fields
    });
    desk.script_replies([
        continuation_reply_with_answer("6 × 7 = 41.", Some("41")),
        continuation_reply_with_answer("6 × 7 = 42.", Some("42")),
        free_text_reply("The second holds.", &json!({ "scores": scores })),
    ]);
    let arguments = json!({ "graph_id": id, "node_id": "n1", "k": 2, "score": true });
    let grown = present(&desk, "reasoning_got_generate", arguments).await;
    assert_eq!(grown.data["source_node_id"], graph["root_node_id"]);
    assert_eq!(
        grown.data["short_ids"]["n3"],
        grown.data["scores"][0]["node_id"]
    );
    pages.push(grown.text);

    desk.script_replies([score_reply(20)]);
    let arguments = json!({ "graph_id": id, "node_id": "n2" });
    let score = present(&desk, "reasoning_got_score", arguments).await;
    assert_eq!(
        score.data["node_id"],
        grown.data["continuations"][0]["node_id"]
    );
    pages.push(score.text);

    desk.script_replies([aggregate_reply_with_answer("It is 42.", Some("42"))]);
    let arguments = json!({ "graph_id": id, "node_ids": ["n2", "n3"] });
    pages.push(
        present(&desk, "reasoning_got_aggregate", arguments)
            .await
            .text,
    );

    let pruned = present(&desk, "reasoning_got_prune", json!({ "graph_id": id })).await;
    assert_eq!(
        pruned.data["short_ids"]["c1"],
        pruned.data["undo_checkpoint_id"]
    );
    pages.push(pruned.text);
    let back = json!({ "session_id": graph["session_id"], "checkpoint_id": "c1" });
    let restored = desk.call_ok("reasoning_backtrack", back).await;
    assert_eq!(
        restored["checkpoint_restored"],
        pruned.data["undo_checkpoint_id"]
    );

    let arguments = json!({ "graph_id": id, "terminal_node_ids": ["n4", "n3"] });
    let ended = present(&desk, "reasoning_got_finalize", arguments).await;
    assert_eq!(ended.data["terminal_count"], 2);
    pages.push(ended.text);
    insta::assert_snapshot!(pages.join("\n\n=====\n\n"));
}

#[tokio::test]
async fn the_beginning_of_an_id_is_taken_if_only_one_begins_so() {
    let desk = ReasoningTestRegistry::new();
    let nodes = ["alpha-1", "alpha-2", "beta-3"].map(|id| sample_node(id, 1, None));
    insert_graph(&desk, nodes.into(), Vec::new()).await;
    desk.script_replies([score_reply(50)]);
    let arguments = json!({ "graph_id": "g", "node_id": "beta" });
    let scored = desk.call_ok("reasoning_got_score", arguments).await;
    assert_eq!(scored["node_id"], "beta-3");
    let arguments = json!({ "graph_id": "g", "terminal_node_ids": ["alpha-1", "beta-"] });
    let ended = desk.call_ok("reasoning_got_finalize", arguments).await;
    assert_eq!(ended["conclusions"][1]["node_id"], "beta-3");

    for (node, code) in [
        ("alpha", "Validation"),
        // Too short, beyond the last node, or of another kind.
        ("bet", "NodeNotFound"),
        ("n0", "NodeNotFound"),
        ("n4", "NodeNotFound"),
        ("t1", "NodeNotFound"),
        ("Beta", "NodeNotFound"),
    ] {
        let arguments = json!({ "graph_id": "g", "node_id": node });
        let error = desk.call_err("reasoning_got_score", arguments).await;
        assert_eq!(error.code(), code, "{node}: {error}");
        if code == "Validation" {
            let rule = "node_id: is the beginning of several ids; give more of it";
            assert!(error.to_string().contains(rule), "{error}");
        }
    }
    let found = desk.call_ok(GET, json!({ "id": "beta" })).await;
    assert_eq!(
        (&found["kind"], &found["data"]["node"]["id"]),
        (&json!("node"), &json!("beta-3"))
    );
}

#[tokio::test]
async fn a_caller_is_not_shown_what_it_wrote_itself() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let arguments = json!({
        "graph_id": graph["graph_id"], "node_id": "n1",
        "reply": [{ "thought": "a long text", "answer": "42", "rationale": "a long reason" }],
    });
    let shown = present(&desk, "reasoning_got_generate", arguments).await;
    for own in ["a long text", "a long reason"] {
        assert!(!shown.text.contains(own), "{}", shown.text);
        assert!(!shown.data.to_string().contains(own), "{}", shown.data);
    }
    assert_eq!(shown.data.get("reply_recorded"), None);
    assert_eq!(shown.data["continuations"][0]["answer"], "42");
    insta::assert_snapshot!(shown.text);
}

#[tokio::test]
async fn stored_data_is_read_as_markdown_beside_the_data() {
    let desk = ReasoningTestRegistry::new();
    let tree = explore_tree(&desk).await;
    for id in ["session_id", "thought_id", "recommended_branch"] {
        let shown = present(&desk, GET, json!({ "id": tree[id] })).await;
        let page = render_entity(&desk, &tree[id], "markdown").await;
        assert!(shown.text.starts_with(page.trim_end()), "{}", shown.text);
        assert!(shown.text.contains("\n- session: `"), "{}", shown.text);
        assert!(shown.data["data"].is_object(), "{}", shown.data);
        assert_eq!(shown.data.get("text"), None);
    }
}

#[tokio::test]
async fn the_result_of_a_chosen_mode_is_shown_as_its_tool_shows_it() {
    let desk = ReasoningTestRegistry::new();
    let reply = json!({ "answer": "42", "weakest_point": "haste", "confidence_percent": 90 });
    desk.script_replies([free_text_reply("6 × 7 = 42.", &reply)]);
    let arguments = json!({ "content": "Think step by step: what is 6 × 7?", "run": true });
    let shown = present(&desk, "reasoning_auto", arguments).await;
    let beginning = "6 × 7 = 42.\n\n**Answer:** 42 · confidence 90 % · may be wrong: haste\n";
    assert!(shown.text.starts_with(beginning), "{}", shown.text);
    assert!(shown.text.contains("\n---\n"), "{}", shown.text);
    assert_eq!(
        shown.text.matches("6 × 7 = 42.").count(),
        1,
        "{}",
        shown.text
    );
}

#[tokio::test]
async fn the_state_of_a_graph_names_each_list_once() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let id = &graph["graph_id"];
    generate_answers(&desk, id, &graph["root_node_id"], &["1", "2"]).await;
    let end = json!({ "graph_id": id, "terminal_node_ids": ["n3"] });
    desk.call_ok("reasoning_got_finalize", end).await;
    let shown = present(&desk, "reasoning_got_state", json!({ "graph_id": id })).await;
    assert!(
        shown.text.contains("\n- terminal nodes: `n3`"),
        "{}",
        shown.text
    );
    for name in ["terminal nodes", "active nodes"] {
        assert_eq!(shown.text.matches(name).count(), 1, "{}", shown.text);
    }
}
