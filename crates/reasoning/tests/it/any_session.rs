//! Thoughts of any session and any mode are grown from, and modes are mixed in one session.

use deliberate_core::{BranchState, Change, Mode, Thought};
use serde_json::{Value, json};

use super::test_registry::{ReasoningTestRegistry, conversation};

/// The tools that grow from a thought, each with its further arguments.
fn growing_tools() -> [(&'static str, Value); 3] {
    [
        (
            "reasoning_tree",
            json!({ "content": "on", "max_branches": 2 }),
        ),
        ("reasoning_divergent", json!({ "content": "on" })),
        ("reasoning_reflection", json!({})),
    ]
}

fn with_thought(arguments: &Value, id: &str) -> Value {
    let mut arguments = arguments.clone();
    arguments["thought_id"] = json!(id);
    arguments
}

/// The thoughts that a call added.
async fn added_thoughts(
    registry: &ReasoningTestRegistry,
    tool: &str,
    arguments: Value,
) -> Vec<Thought> {
    let before = registry.thoughts().await;
    registry.call_ok(tool, arguments).await;
    let mut after = registry.thoughts().await;
    after.retain(|thought| before.iter().all(|known| known.id != thought.id));
    after
}

#[tokio::test]
async fn a_thought_of_any_session_is_grown_from() {
    for mode in Mode::ALL {
        for (tool, arguments) in growing_tools() {
            let desk = ReasoningTestRegistry::new();
            let steps = [("in 1", "out 1"), ("in 2", "out 2"), ("in 3", "out 3")];
            desk.add_session(mode, steps).await;
            let added = added_thoughts(&desk, tool, with_thought(&arguments, "t2")).await;
            assert!(added.iter().all(|it| it.session_id == "s".into()));
            // The line up to the thought is shown, and nothing after it.
            for ask in desk.requests() {
                let asked = conversation(&ask);
                assert!(asked.contains("out 1") && asked.contains("out 2"), "{tool}");
                assert!(!asked.contains("out 3"), "{mode} {tool}: {asked}");
            }
            if tool != "reasoning_reflection" {
                let parents: Vec<_> = added.iter().map(|it| it.parent_id.clone()).collect();
                assert!(parents.contains(&Some("t2".into())), "{mode} {tool}");
            }
        }
    }
}

#[tokio::test]
async fn a_graph_grows_from_a_thought_with_its_questions() {
    for (arguments, shown) in [
        (json!({ "thought_id": "t2" }), ["in 1", "in 2", "out 2"]),
        // Without a thought it grows from the latest one.
        (json!({ "session_id": "s" }), ["in 1", "in 3", "out 3"]),
    ] {
        let desk = ReasoningTestRegistry::new();
        let steps = [("in 1", "out 1"), ("in 2", "out 2"), ("in 3", "out 3")];
        desk.add_session(Mode::Linear, steps).await;
        let mut arguments = arguments;
        arguments["content"] = json!("on");
        let graph = desk.call_ok("reasoning_got_init", arguments).await;
        assert_eq!(graph["session_id"], "s");
        let arguments = json!({
            "graph_id": graph["graph_id"], "node_id": graph["root_node_id"], "k": 1,
        });
        desk.call_ok("reasoning_got_generate", arguments).await;
        let asked = conversation(&desk.last_request());
        assert!(shown.iter().all(|text| asked.contains(text)), "{asked}");
        assert!(!asked.contains("out 1"), "{asked}");
    }
}

#[tokio::test]
async fn a_thought_must_belong_to_the_session_that_is_named() {
    for (tool, arguments) in growing_tools() {
        let desk = ReasoningTestRegistry::new();
        desk.add_session(Mode::Linear, [("in", "out")]).await;
        let other = desk.think_ok(json!({ "content": "x", "reply": "y" })).await;
        for (thought, session, code) in [
            ("none", json!("s"), "ThoughtNotFound"),
            ("t1", json!("none"), "SessionNotFound"),
            ("t1", other["session_id"].clone(), "ThoughtNotFound"),
        ] {
            let mut arguments = with_thought(&arguments, thought);
            arguments["session_id"] = session;
            let error = desk.call_err(tool, arguments).await;
            assert_eq!(error.code(), code, "{tool}: {error}");
        }
        assert_eq!(desk.requests(), []);
        let mut arguments = with_thought(&arguments, "t1");
        arguments["session_id"] = json!("s");
        desk.call_ok(tool, arguments).await;
    }
}

#[tokio::test]
async fn modes_follow_each_other_in_one_session() {
    let desk = ReasoningTestRegistry::new();
    let first = desk
        .think_ok(json!({ "content": "begin", "reply": "It begins HERE." }))
        .await;
    let session = &first["session_id"];
    for (tool, arguments) in [
        ("reasoning_divergent", json!({ "content": "on" })),
        ("reasoning_tree", json!({ "content": "on" })),
        ("reasoning_linear", json!({ "content": "on" })),
        ("reasoning_reflection", json!({})),
        ("reasoning_divergent", json!({ "content": "on" })),
    ] {
        let mut arguments = arguments.clone();
        arguments["session_id"] = session.clone();
        let asked = desk.requests().len();
        let added = added_thoughts(&desk, tool, arguments).await;
        assert!(added.iter().all(|it| it.parent_id.is_some()), "{tool}");
        assert_eq!(json!(added[0].session_id), *session);
        let shown = conversation(&desk.requests()[asked]);
        assert!(shown.contains("HERE"), "{tool}: {shown}");
    }
    let evaluate = json!({ "session_id": session });
    let output = desk
        .call_ok("reasoning_reflection_evaluate", evaluate)
        .await;
    assert_eq!(output["linkage"], 1.0);
}

#[tokio::test]
async fn perspectives_from_a_thought_stay_on_its_branch_while_that_is_open() {
    let desk = ReasoningTestRegistry::new();
    let tree = json!({ "content": "x", "max_branches": 2 });
    let tree = desk.call_ok("reasoning_tree", tree).await;
    let (branch, thought) = (
        &tree["branches"][0]["id"],
        &tree["branches"][0]["thought_id"],
    );
    let arguments = json!({ "content": "on", "thought_id": thought });
    let added = added_thoughts(&desk, "reasoning_divergent", arguments.clone()).await;
    assert!(added.iter().all(|it| json!(it.branch_id) == *branch));
    let close = json!({
        "session_id": tree["session_id"], "branch_id": branch, "state": "abandoned",
    });
    desk.call_ok("reasoning_tree_complete", close).await;
    let added = added_thoughts(&desk, "reasoning_divergent", arguments).await;
    assert!(added.iter().all(|it| it.branch_id.is_none()));
    assert!(added.iter().all(|it| json!(it.parent_id) == *thought));
}

#[tokio::test]
async fn what_grows_from_a_perspective_knows_its_question() {
    let question = "How could a bench be better?";
    for begins_session in [true, false] {
        let desk = ReasoningTestRegistry::new();
        let mut arguments = json!({ "content": question });
        if !begins_session {
            let first = json!({ "content": "begin", "reply": "a beginning" });
            arguments["session_id"] = desk.think_ok(first).await["session_id"].clone();
        }
        let views = desk.call_ok("reasoning_divergent", arguments).await;
        let view = views["perspectives"][1]["id"].as_str().unwrap();
        for (tool, arguments) in growing_tools() {
            let known = desk.requests().len();
            desk.call_ok(tool, with_thought(&arguments, view)).await;
            let asked = conversation(&desk.requests()[known]);
            assert_eq!(asked.matches(question).count(), 1, "{tool}: {asked}");
        }
        let graph = json!({ "content": "on", "thought_id": view });
        let graph = desk.call_ok("reasoning_got_init", graph).await;
        let grow = json!({
            "graph_id": graph["graph_id"], "node_id": graph["root_node_id"], "k": 1,
        });
        desk.call_ok("reasoning_got_generate", grow).await;
        let asked = conversation(&desk.last_request());
        assert_eq!(asked.matches(question).count(), 1, "{asked}");
    }
}

#[tokio::test]
async fn a_session_whose_active_branch_is_closed_is_no_dead_end() {
    // Sessions of earlier versions may have such a branch.
    for tool in [
        "reasoning_linear",
        "reasoning_tree",
        "reasoning_divergent",
        "reasoning_reflection",
    ] {
        let desk = ReasoningTestRegistry::new();
        let tree = json!({ "content": "x", "max_branches": 2 });
        let tree = desk.call_ok("reasoning_tree", tree).await;
        let branch = &tree["branches"][0]["id"];
        let focus = json!({ "session_id": tree["session_id"], "branch_id": branch });
        desk.call_ok("reasoning_tree_focus", focus).await;
        let close = Change::SetBranchState {
            id: branch.as_str().unwrap().into(),
            state: BranchState::Completed,
            at: deliberate_core::Timestamp::parse("2026-01-02T00:00:00Z").unwrap(),
        };
        desk.store.commit(vec![close]).await.unwrap();
        let arguments = json!({ "content": "on", "session_id": tree["session_id"] });
        let added = added_thoughts(&desk, tool, arguments).await;
        assert!(!added.is_empty(), "{tool}");
        assert!(
            added.iter().all(|it| json!(it.branch_id) != *branch),
            "{tool}"
        );
    }
}

#[tokio::test]
async fn only_a_model_that_goes_on_is_asked_to_settle_the_last_doubt() {
    let content = "Our warehouse loses parcels every Tuesday";
    for (tool, is_asked) in [
        ("reasoning_linear", true),
        ("reasoning_tree", true),
        ("reasoning_divergent", true),
        ("reasoning_auto", false),
        ("reasoning_reflection", false),
        ("reasoning_reflection_evaluate", false),
    ] {
        let desk = ReasoningTestRegistry::new();
        let first = desk.think_ok(json!({ "content": "begin" })).await;
        let second = json!({ "content": "on", "session_id": first["session_id"] });
        desk.think_ok(second).await;
        let asked = desk.requests().len();
        let mut arguments = json!({ "session_id": first["session_id"] });
        if tool != "reasoning_reflection_evaluate" {
            arguments["content"] = json!(content);
        }
        // What the scripted model says is no answer of a router.
        let _ = desk.call_tool(tool, arguments).await;
        let text = conversation(&desk.requests()[asked]);
        assert!(text.contains("thought 2"), "{tool}: {text}");
        assert_eq!(
            text.contains("settle that first"),
            is_asked,
            "{tool}: {text}"
        );
    }
}
