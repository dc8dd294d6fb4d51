//! Creating graphs, and ids that are unknown or belong to another graph.

use deliberate_core::{Change, Mode, NodeKind};
use serde_json::{Value, json};

use super::{
    graph_fixtures::{
        current_nodes, generate_nodes, init_graph, insert_graph, load_node, sample_node,
        score_reply, timestamp,
    },
    test_registry::ReasoningTestRegistry,
};

const NODE_TOOLS: [&str; 3] = [
    "reasoning_got_generate",
    "reasoning_got_score",
    "reasoning_got_refine",
];

#[tokio::test]
async fn a_graph_begins_with_a_root_and_its_limits() {
    let desk = ReasoningTestRegistry::new();
    let config =
        json!({ "max_depth": 2, "max_branches": 4, "prune_threshold": 0.9, "max_nodes": 10 });
    let output = init_graph(&desk, config).await;
    assert_eq!(output["content"], "the root");
    assert_eq!(output["confidence"], 0.8);
    assert_eq!(
        output["config"],
        json!({ "max_depth": 2, "max_branches": 4, "prune_threshold": 0.9, "max_nodes": 10 })
    );
    let root = load_node(&desk, &output["root_node_id"]).await;
    assert_eq!((root.node_type, root.depth), (NodeKind::Root, 0));
    assert!(root.is_active && !root.is_terminal && root.score.is_none());
    let session = desk
        .store
        .sessions(super::test_registry::FULL_PAGE)
        .await
        .unwrap()
        .remove(0);
    assert_eq!(session.session.mode, Mode::Got);
    assert_eq!(session.session.title.as_deref(), Some("the root"));
    assert_eq!(desk.requests(), [], "a root needs no model");
    let state = desk
        .call_ok(
            "reasoning_got_state",
            json!({ "graph_id": output["graph_id"] }),
        )
        .await;
    assert_eq!(state["problem"], "the problem");
    assert_eq!(state["config"], output["config"]);
    assert_eq!(state["node_count"], 1);
    assert_eq!(state["has_cycle"], false);
    assert_eq!(state["root_node_ids"], json!([output["root_node_id"]]));

    let usual = init_graph(&desk, json!({})).await;
    assert_eq!(
        usual["config"],
        json!({ "max_depth": 10, "max_branches": 10, "prune_threshold": 0.3, "max_nodes": 100 })
    );
}

#[tokio::test]
async fn limits_out_of_range_and_unknown_ones_are_refused() {
    let desk = ReasoningTestRegistry::new();
    for config in [
        json!({ "max_depth": 0 }),
        json!({ "max_depth": 101 }),
        json!({ "max_branches": 0 }),
        json!({ "max_branches": 11 }),
        json!({ "prune_threshold": 1.1 }),
        json!({ "prune_threshold": -0.1 }),
        json!({ "max_nodes": 1 }),
        json!({ "max_nodes": 1001 }),
        json!({ "max_node": 5 }),
        json!({ "default_k": 5 }),
        json!({ "max_depth": 2.5 }),
        json!("deep"),
    ] {
        let arguments = json!({ "content": "x", "config": config });
        let error = desk.call_err("reasoning_got_init", arguments).await;
        assert_eq!(error.code(), "Validation", "{config}");
    }
    for arguments in [
        json!({ "content": " " }),
        json!({ "content": "x", "problem": " " }),
        json!({ "content": "x", "graph_id": "g" }),
    ] {
        let error = desk.call_err("reasoning_got_init", arguments).await;
        assert_eq!(error.code(), "Validation");
    }
    desk.assert_empty().await;
}

#[tokio::test]
async fn a_session_of_another_mode_takes_a_graph() {
    let desk = ReasoningTestRegistry::new();
    desk.add_session(Mode::Linear, [("in", "out")]).await;
    let arguments = json!({ "content": "x", "session_id": "s" });
    let graph = desk.call_ok("reasoning_got_init", arguments).await;
    assert_eq!(graph["session_id"], "s");
    let session = desk.store.session(&"s".into()).await.unwrap().unwrap();
    assert_eq!(session.mode, Mode::Linear);
    generate_nodes(&desk, &graph["graph_id"], &graph["root_node_id"], &["a"]).await;
    let arguments = json!({ "content": "x", "session_id": "nothing" });
    let error = desk.call_err("reasoning_got_init", arguments).await;
    assert_eq!(error.code(), "SessionNotFound");
}

#[tokio::test]
async fn a_graph_grows_from_a_thought_of_any_session() {
    let desk = ReasoningTestRegistry::new();
    let steps = [
        ("the question", "step one"),
        ("second", "step two"),
        ("third", "step three"),
    ];
    desk.add_session(Mode::Linear, steps).await;
    let arguments = json!({ "content": "the root", "thought_id": "t2" });
    let graph = desk.call_ok("reasoning_got_init", arguments).await;
    assert_eq!(graph["session_id"], "s");
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    generate_nodes(&desk, id, root, &["a"]).await;
    let shown = &desk.last_request().messages[0].text;
    let problem = "<problem-7e57ed>\nthe question\n\nsecond\n\nstep two\n</problem-7e57ed>";
    assert!(shown.contains(problem), "{shown}");
    assert!(!shown.contains("step three"), "{shown}");

    // A problem that the call names is shown with that context.
    let arguments = json!({ "content": "the root", "thought_id": "t2", "problem": "another" });
    let graph = desk.call_ok("reasoning_got_init", arguments).await;
    let arguments = json!({ "graph_id": graph["graph_id"] });
    let state = desk.call_ok("reasoning_got_state", arguments).await;
    assert_eq!(
        state["problem"],
        "another\n\nthe question\n\nsecond\n\nstep two"
    );

    let own = init_graph(&desk, json!({})).await;
    for (arguments, code) in [
        (
            json!({ "content": "x", "thought_id": "no" }),
            "ThoughtNotFound",
        ),
        (
            json!({ "content": "x", "thought_id": "t2", "session_id": own["session_id"] }),
            "ThoughtNotFound",
        ),
    ] {
        let error = desk.call_err("reasoning_got_init", arguments).await;
        assert_eq!(error.code(), code, "{error}");
    }
}

#[tokio::test]
async fn two_graphs_of_a_session_do_not_mix() {
    let desk = ReasoningTestRegistry::new();
    let first = init_graph(&desk, json!({})).await;
    let arguments = json!({ "content": "another", "session_id": first["session_id"] });
    let second = desk.call_ok("reasoning_got_init", arguments).await;
    assert_eq!(first["session_id"], second["session_id"]);
    assert_ne!(first["graph_id"], second["graph_id"]);
    let own = generate_nodes(
        &desk,
        &first["graph_id"],
        &first["root_node_id"],
        &["a", "b"],
    )
    .await;
    desk.script_replies([score_reply(10)]);
    let score = json!({ "graph_id": first["graph_id"], "node_id": own[0] });
    desk.call_ok("reasoning_got_score", score).await;
    let pruned = desk
        .call_ok(
            "reasoning_got_prune",
            json!({ "graph_id": second["graph_id"], "threshold": 1 }),
        )
        .await;
    assert_eq!(pruned["pruned_count"], 0);
    let ended = desk
        .call_ok(
            "reasoning_got_finalize",
            json!({ "graph_id": second["graph_id"] }),
        )
        .await;
    assert_eq!(ended["conclusions"], json!([]));
    let state = desk
        .call_ok(
            "reasoning_got_state",
            json!({ "graph_id": second["graph_id"] }),
        )
        .await;
    assert_eq!(
        (&state["node_count"], &state["edge_count"]),
        (&json!(1), &json!(0))
    );

    let before = desk.requests().len();
    for (tool, arguments) in
        foreign_node_calls(&second["graph_id"], &second["root_node_id"], &own[1])
    {
        let error = desk.call_err(tool, arguments).await;
        assert_eq!(error.code(), "NodeNotFound", "{tool}");
        assert!(
            error.to_string().contains("does not belong to graph"),
            "{error}"
        );
    }
    assert_eq!(desk.requests().len(), before, "nobody is asked about it");
    assert_eq!(current_nodes(&desk, &second["graph_id"]).await.len(), 1);
}

/// Every call that can name a node of another graph.
fn foreign_node_calls(graph: &Value, own: &Value, node: &Value) -> Vec<(&'static str, Value)> {
    let mut calls: Vec<_> = NODE_TOOLS
        .into_iter()
        .map(|tool| (tool, json!({ "graph_id": graph, "node_id": node })))
        .collect();
    for ids in [[own, node], [node, own]] {
        let merge = json!({ "graph_id": graph, "node_ids": ids });
        calls.push(("reasoning_got_aggregate", merge));
    }
    let score = json!({ "graph_id": graph, "node_ids": [own, node] });
    calls.push(("reasoning_got_score", score));
    let end = json!({ "graph_id": graph, "terminal_node_ids": [node] });
    calls.push(("reasoning_got_finalize", end));
    calls
}

#[tokio::test]
async fn ids_that_name_nothing_are_errors() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let long = json!("x".repeat(100_000));
    for unknown in [
        json!("nothing"),
        json!(""),
        json!("'; DROP TABLE graphs; --"),
        long,
    ] {
        for (tool, arguments) in
            foreign_node_calls(&graph["graph_id"], &graph["root_node_id"], &unknown)
        {
            let error = desk.call_err(tool, arguments).await;
            assert_eq!(error.code(), "NodeNotFound", "{tool}");
            assert!(error.to_string().len() < 300);
        }
        for (tool, mut arguments) in
            foreign_node_calls(&unknown, &graph["root_node_id"], &json!("y"))
        {
            let error = desk.call_err(tool, arguments.take()).await;
            assert_eq!(error.code(), "GraphNotFound", "{tool}");
        }
        for tool in [
            "reasoning_got_prune",
            "reasoning_got_state",
            "reasoning_got_finalize",
        ] {
            let error = desk.call_err(tool, json!({ "graph_id": unknown })).await;
            assert_eq!(error.code(), "GraphNotFound", "{tool}");
        }
    }
    assert_eq!(desk.requests(), []);
    assert_eq!(current_nodes(&desk, &graph["graph_id"]).await.len(), 1);
}

#[tokio::test]
async fn pruned_nodes_are_not_worked_on() {
    let desk = ReasoningTestRegistry::new();
    insert_graph(
        &desk,
        vec![sample_node("r", 0, None), sample_node("a", 1, None)],
        vec![],
    )
    .await;
    let prune = Change::PruneNodes {
        graph_id: "g".into(),
        nodes: vec!["a".into()],
        at: timestamp(),
    };
    desk.store.commit(vec![prune]).await.unwrap();
    for (tool, arguments) in foreign_node_calls(&json!("g"), &json!("r"), &json!("a")) {
        let error = desk.call_err(tool, arguments).await;
        assert_eq!(error.code(), "NodePruned", "{tool}");
    }
    assert_eq!(desk.requests(), []);
}

#[tokio::test]
async fn bad_arguments_are_refused() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (graph, root) = (&graph["graph_id"], &graph["root_node_id"]);
    for (tool, arguments) in [
        (
            "reasoning_got_generate",
            json!({ "graph_id": graph, "node_id": root, "k": 0 }),
        ),
        (
            "reasoning_got_generate",
            json!({ "graph_id": graph, "node_id": root, "k": 11 }),
        ),
        (
            "reasoning_got_generate",
            json!({ "graph_id": graph, "node_id": root, "k": 100_000 }),
        ),
        (
            "reasoning_got_generate",
            json!({ "graph_id": graph, "node_id": root, "problem": " " }),
        ),
        ("reasoning_got_generate", json!({ "graph_id": graph })),
        (
            "reasoning_got_score",
            json!({ "graph_id": graph, "node_id": root, "threshold": 1 }),
        ),
        ("reasoning_got_score", json!({ "graph_id": graph })),
        (
            "reasoning_got_score",
            json!({ "graph_id": graph, "node_id": root, "node_ids": [root] }),
        ),
        (
            "reasoning_got_score",
            json!({ "graph_id": graph, "node_ids": [] }),
        ),
        ("reasoning_got_aggregate", json!({ "graph_id": graph })),
        (
            "reasoning_got_aggregate",
            json!({ "graph_id": graph, "node_ids": [root, "x"], "best": 2 }),
        ),
        (
            "reasoning_got_aggregate",
            json!({ "graph_id": graph, "best": 1 }),
        ),
        (
            "reasoning_got_aggregate",
            json!({ "graph_id": graph, "node_ids": [] }),
        ),
        (
            "reasoning_got_aggregate",
            json!({ "graph_id": graph, "node_ids": [root] }),
        ),
        (
            "reasoning_got_aggregate",
            json!({ "graph_id": graph, "node_ids": [root, root] }),
        ),
        (
            "reasoning_got_prune",
            json!({ "graph_id": graph, "threshold": 2 }),
        ),
        (
            "reasoning_got_prune",
            json!({ "graph_id": graph, "threshold": -1 }),
        ),
        ("reasoning_got_state", json!({})),
    ] {
        let error = desk.call_err(tool, arguments.clone()).await;
        assert_eq!(error.code(), "Validation", "{tool} {arguments}");
    }
    assert_eq!(desk.requests(), []);
}
