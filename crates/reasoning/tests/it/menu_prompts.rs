//! The menu prompts lead the client's model to as few calls as possible.

use deliberate_toolkit::{CallerContext, ResourceContext};
use serde_json::{Map, Value, json};

use super::{
    graph_fixtures::{insert_graph, sample_node, score_fields},
    test_registry::ReasoningTestRegistry,
};

/// The text of a menu prompt.
async fn menu_prompt(desk: &ReasoningTestRegistry, name: &str, argument: &str) -> String {
    let arguments = Map::from_iter([(argument.to_owned(), json!("x"))]);
    let caller = CallerContext::default();
    let context = ResourceContext {
        registry: &desk.registry,
        caller: &caller,
    };
    for menu in desk.registry.prompt_providers() {
        if let Some(rendered) = menu.get(name, &arguments, context).await {
            return format!("{:?}", rendered.unwrap()).replace("\\n", " ");
        }
    }
    panic!("there is no prompt {name}");
}

#[tokio::test]
async fn every_menu_prompt_tells_to_bring_the_thought_in_the_same_call() {
    let desk = ReasoningTestRegistry::without_model();
    for (name, argument) in [
        ("think", "problem"),
        ("tree", "problem"),
        ("diverge", "problem"),
        ("reflect", "problem"),
        ("backtrack", "session_id"),
        ("auto", "problem"),
        ("graph", "problem"),
        ("recap", "session_id"),
    ] {
        let text = menu_prompt(&desk, name, argument).await;
        assert!(text.contains("`reply`"), "{name}: {text}");
    }
    let graph = menu_prompt(&desk, "graph", "problem").await;
    for cheap in ["`node_ids`", "`best`", "`score`: true"] {
        assert!(graph.contains(cheap), "{graph}");
    }
}

#[tokio::test]
async fn the_graph_of_the_menu_prompt_is_five_calls() {
    let desk = ReasoningTestRegistry::without_model();
    let graph = desk
        .call_ok("reasoning_got_init", json!({ "content": "6 × 7?" }))
        .await;
    let call = async |tool: &str, mut arguments: Value| {
        arguments["graph_id"] = graph["graph_id"].clone();
        desk.call_ok(tool, arguments).await
    };
    let idea = |answer: &str| {
        json!({
            "thought": format!("It is {answer}."), "answer": answer, "weakest_point": "none",
            "confidence_percent": 70,
        })
    };
    let ideas = json!([idea("41"), idea("42"), idea("43")]);
    call(
        "reasoning_got_generate",
        json!({ "node_id": "n1", "reply": ideas }),
    )
    .await;
    let score = |node: &str, percent: u8| {
        json!({
            "node": node, "relevance_percent": percent, "validity_percent": percent,
            "depth_percent": percent, "novelty_percent": percent, "weakest_point": "none",
        })
    };
    let scores = [score("n4", 40), score("n2", 60), score("n3", 90)];
    let arguments = json!({ "node_ids": ["n2", "n3", "n4"], "reply": { "scores": scores } });
    call("reasoning_got_score", arguments).await;
    let arguments = json!({ "best": 2, "reply": idea("42") });
    call("reasoning_got_aggregate", arguments).await;
    let ended = call("reasoning_got_finalize", json!({})).await;
    assert_eq!(ended["conclusions"][0]["answer"], "42", "{ended}");
}

#[tokio::test]
async fn a_score_names_its_node_by_the_beginning_of_its_id() {
    let desk = ReasoningTestRegistry::without_model();
    let nodes = ["alpha-1", "alpha-2", "beta-3"].map(|id| sample_node(id, 1, None));
    insert_graph(&desk, nodes.into(), Vec::new()).await;
    let score = |ids: [&str; 2], names: [&str; 2]| {
        let scores = [(names[0], 80), (names[1], 20)].map(|(node, percent)| {
            let mut fields = score_fields([percent; 4].map(|percent| json!(percent)));
            fields["node"] = json!(node);
            fields
        });
        json!({ "graph_id": "g", "node_ids": ids, "reply": { "scores": scores } })
    };
    let arguments = score(["alpha-1", "beta-3"], ["beta", "alpha"]);
    let scored = desk.call_ok("reasoning_got_score", arguments).await;
    assert_eq!(scored["scores"][0]["node_id"], "beta-3");
    assert_eq!(scored["scores"][0]["overall_score"], 0.8);
    // It may mean both, or is too short.
    for name in ["alpha", "al"] {
        let arguments = score(["alpha-1", "alpha-2"], [name, "alpha-2"]);
        let error = desk.call_err("reasoning_got_score", arguments).await;
        assert_eq!(error.code(), "Validation", "{name}: {error}");
    }
}
