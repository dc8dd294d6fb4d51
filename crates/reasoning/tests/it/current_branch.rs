//! Every mode continues the line of the active branch, also if the session changes while a model
//! answers.

use deliberate_core::Mode;
use deliberate_llm::ModelReply;
use deliberate_testkit::fixtures::expect_needs_reply;
use deliberate_toolkit::CallOutcome;
use serde_json::{Value, json};

use super::test_registry::{
    ReasoningTestRegistry, conversation, reply_with_fields, step_json, text_reply,
};

/// Two approaches with different results, a solution that decides nothing, and their comparison.
fn approach_replies(names: [&str; 2]) -> Vec<ModelReply> {
    let approach = |name: &str| {
        let fields = json!({
            "name": name, "answer": name, "weakest_point": "w", "confidence_percent": 50,
        });
        reply_with_fields(&format!("text of {name}"), &fields)
    };
    let undecided = json!({ "answer": null, "weakest_point": "w", "confidence_percent": 50 });
    let fields = json!({ "recommended": 1, "weakest_point": "w", "confidence_percent": 50 });
    let mut replies = names.map(approach).to_vec();
    replies.push(reply_with_fields("undecided", &undecided));
    replies.push(reply_with_fields("fork", &fields));
    replies
}

/// A check without a revision.
fn reflection_reply(analysis: &str) -> ModelReply {
    let fields = json!({
        "strengths": [], "weaknesses": [], "recommendations": [], "reaches_result": true,
        "quality_percent": 50, "answer": null, "weakest_point": "w", "confidence_percent": 60,
    });
    reply_with_fields(analysis, &fields)
}

/// A tree with branches A and B, of which A is active.
async fn tree_focused_on_a(registry: &ReasoningTestRegistry) -> Value {
    registry.script_replies(approach_replies(["AAA", "BBB"]));
    let tree = registry
        .call_ok(
            "reasoning_tree",
            json!({ "content": "x", "max_branches": 2 }),
        )
        .await;
    focus_branch(registry, &tree["session_id"], &tree["branches"][0]["id"]).await;
    tree
}

async fn focus_branch(registry: &ReasoningTestRegistry, session: &Value, branch: &Value) {
    let arguments = json!({ "session_id": session, "branch_id": branch });
    registry.call_ok("reasoning_tree_focus", arguments).await;
}

/// The request for an approach that continues the session.
async fn tree_request_text(registry: &ReasoningTestRegistry, session: &Value) -> String {
    registry.script_replies(approach_replies(["CCC", "DDD"]));
    let first = registry.requests().len();
    registry
        .call_ok(
            "reasoning_tree",
            json!({ "content": "on", "session_id": session, "max_branches": 2 }),
        )
        .await;
    conversation(&registry.requests()[first])
}

#[tokio::test]
async fn a_reflection_in_between_stays_on_the_branch() {
    let desk = ReasoningTestRegistry::new();
    let tree = tree_focused_on_a(&desk).await;
    let session = &tree["session_id"];
    desk.script_replies([reflection_reply("looked at")]);
    let arguments = json!({ "content": "is that so?", "session_id": session });
    desk.call_ok("reasoning_reflection", arguments).await;
    assert!(!conversation(&desk.last_request()).contains("BBB"));
    let shown = tree_request_text(&desk, session).await;
    assert!(
        shown.contains("text of AAA") && !shown.contains("BBB"),
        "{shown}"
    );
}

#[tokio::test]
async fn the_latest_of_a_session_is_the_latest_of_its_branch() {
    let desk = ReasoningTestRegistry::new();
    let tree = tree_focused_on_a(&desk).await;
    desk.script_replies([reflection_reply("looked at")]);
    let arguments = json!({ "session_id": tree["session_id"] });
    let answer = desk
        .call_ok("reasoning_reflection", arguments.clone())
        .await;
    assert_eq!(
        answer["reflected_thought_id"],
        tree["branches"][0]["thought_id"]
    );
    // The second reflection is on the same thought, not on the first critique.
    desk.script_replies([reflection_reply("looked again")]);
    let again = desk.call_ok("reasoning_reflection", arguments).await;
    assert_eq!(
        again["reflected_thought_id"],
        tree["branches"][0]["thought_id"]
    );
}

#[tokio::test]
async fn reflecting_on_an_earlier_thought_leaves_the_steps_since_then_on_the_line() {
    let desk = ReasoningTestRegistry::new();
    let tree = tree_focused_on_a(&desk).await;
    let session = &tree["session_id"];
    tree_request_text(&desk, session).await;
    let early = json!({ "thought_id": tree["branches"][0]["thought_id"] });
    desk.script_replies([reflection_reply("of the early one")]);
    desk.call_ok("reasoning_reflection", early).await;
    let shown = tree_request_text(&desk, session).await;
    for text in ["text of AAA", "fork", "of the early one"] {
        assert!(shown.contains(text), "{text} is missing in {shown}");
    }
}

/// A linear session in which two directions, A and then B, start from one checkpoint.
async fn two_directions(registry: &ReasoningTestRegistry) -> (Value, Value, Value) {
    registry.script_replies([text_reply(&step_json("begin"))]);
    let begun = registry.think_ok(json!({ "content": "begin" })).await;
    let session = begun["session_id"].clone();
    let mut branches = Vec::new();
    for name in ["AAA", "BBB"] {
        let arguments = json!({ "session_id": session, "name": format!("before {name}") });
        let place = registry
            .call_ok("reasoning_checkpoint_create", arguments)
            .await;
        registry.script_replies([text_reply(&step_json(&format!("thought of {name}")))]);
        let turn = json!({ "checkpoint_id": place["checkpoint_id"], "new_direction": name });
        let turned = registry.call_ok("reasoning_backtrack", turn).await;
        branches.push(turned["new_branch_id"].clone());
    }
    let b = branches.pop().unwrap();
    (session, branches.pop().unwrap(), b)
}

#[tokio::test]
async fn a_linear_step_follows_the_branch_too() {
    let desk = ReasoningTestRegistry::new();
    let (session, a, _) = two_directions(&desk).await;
    focus_branch(&desk, &session, &a).await;
    desk.script_replies([text_reply(&step_json("on with A"))]);
    desk.think_ok(json!({ "content": "on", "session_id": session }))
        .await;
    let shown = conversation(&desk.last_request());
    assert!(
        shown.contains("thought of AAA") && !shown.contains("BBB"),
        "{shown}"
    );
    let thought = desk.thoughts().await.pop().unwrap();
    assert_eq!(json!(thought.branch_id), a);
    let parent = desk
        .store
        .thought(&thought.parent_id.unwrap())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(parent.content, "thought of AAA");
}

#[tokio::test]
async fn a_session_goes_on_after_its_branch_was_closed() {
    for tool in [
        "reasoning_linear",
        "reasoning_tree",
        "reasoning_divergent",
        "reasoning_reflection",
    ] {
        let desk = ReasoningTestRegistry::new();
        let (session, a, b) = two_directions(&desk).await;
        // B began on A, which is open, so the session goes on there.
        for (branch, active) in [(&b, &a), (&a, &Value::Null)] {
            let close = json!({ "session_id": session, "branch_id": branch, "state": "completed" });
            let closed = desk.call_ok("reasoning_tree_complete", close).await;
            assert_eq!(closed["active_branch"], *active, "{tool}");
        }
        let before = desk.thoughts().await;
        let closed = before.last().unwrap();
        let on = json!({ "content": "on", "session_id": session });
        desk.call_ok(tool, on).await;
        let added = desk.thoughts().await.split_off(before.len());
        assert!(!added.is_empty(), "{tool}");
        for thought in added {
            let branch = thought.branch_id.map(|id| json!(id));
            assert!(
                branch.is_none_or(|id| id != a && id != b),
                "{tool} continued a closed branch"
            );
        }
        // The closed branch itself stays as it was.
        let kept = desk.store.thought(&closed.id).await.unwrap().unwrap();
        assert_eq!(kept, *closed);
    }
}

#[tokio::test]
async fn a_closed_branch_can_be_reflected_on_from_outside_but_not_explored() {
    let desk = ReasoningTestRegistry::new();
    let (session, _, b) = two_directions(&desk).await;
    let close = json!({ "session_id": session, "branch_id": b, "state": "completed" });
    desk.call_ok("reasoning_tree_complete", close).await;
    let last = desk.thoughts().await.pop().unwrap();
    desk.script_replies([reflection_reply("looked at")]);
    desk.call_ok("reasoning_reflection", json!({ "thought_id": last.id }))
        .await;
    let reflection = desk.thoughts().await.pop().unwrap();
    assert_eq!(reflection.branch_id, None);
    assert_eq!(reflection.parent_id, Some(last.id));
    let explore = json!({ "content": "on", "branch_id": b });
    let error = desk.call_err("reasoning_tree", explore).await;
    assert_eq!(error.code(), "BranchClosed");
}

#[tokio::test]
async fn a_call_stays_on_its_branch_while_its_model_thinks() {
    let desk = ReasoningTestRegistry::without_model();
    let reply = json!({ "thought": "so", "confidence_percent": 70, "weakest_point": "w" });
    let think = async |arguments: Value| match desk.call_linear(arguments).await {
        Ok(CallOutcome::NeedsReply(needs)) => needs.id,
        other => panic!("{other:?}"),
    };
    let resume = async |id: String| {
        let arguments = json!({ "id": id, "replies": [reply] });
        desk.call_ok("reasoning_resume", arguments).await
    };
    let begun = resume(think(json!({ "content": "begin" })).await).await;
    let session = &begun["session_id"];
    let mut branches = Vec::new();
    for name in ["a", "b"] {
        let arguments = json!({ "session_id": session, "name": name });
        let place = desk.call_ok("reasoning_checkpoint_create", arguments).await;
        let turn = json!({ "checkpoint_id": place["checkpoint_id"], "new_direction": name });
        let needs = expect_needs_reply(desk.call_tool("reasoning_backtrack", turn).await);
        branches.push(resume(needs.id).await["new_branch_id"].clone());
    }
    let waiting = think(json!({ "content": "on with b", "session_id": session })).await;
    focus_branch(&desk, session, &branches[0]).await;
    resume(waiting).await;
    let thought = desk.thoughts().await.pop().unwrap();
    assert_eq!(json!(thought.branch_id), branches[1]);
}

#[tokio::test]
async fn a_long_line_begins_with_its_own_first_step_after_a_return() {
    let desk = ReasoningTestRegistry::new();
    let steps = (1..=30).map(|number| (format!("input {number}"), format!("thought {number}")));
    desk.add_session(Mode::Linear, steps).await;
    let place = json!({ "session_id": "s", "name": "long" });
    let place = desk.call_ok("reasoning_checkpoint_create", place).await;
    desk.script_replies([text_reply(&step_json("turned"))]);
    let turn = json!({ "checkpoint_id": place["checkpoint_id"], "new_direction": "elsewhere" });
    desk.call_ok("reasoning_backtrack", turn).await;
    let shown = conversation(&desk.last_request());
    assert!(
        shown.contains("input 1<") && shown.contains("thought 30"),
        "{shown}"
    );
    assert!(shown.contains("left out"));
}

#[tokio::test]
async fn the_first_problem_stays_in_sight_in_a_long_divergent_session() {
    let desk = ReasoningTestRegistry::new();
    let mut session = Value::Null;
    for number in 1..=9 {
        let view = |name: &str| {
            let fields = json!({ "viewpoint": name, "novelty_percent": 50 });
            reply_with_fields(&format!("{name} {number}"), &fields)
        };
        let fields = json!({ "answer": null, "weakest_point": "w", "confidence_percent": 50 });
        let synthesis = reply_with_fields(&format!("synthesis {number}"), &fields);
        desk.script_replies([view("p"), view("q"), view("r"), synthesis]);
        let mut arguments = json!({ "content": format!("problem {number}") });
        if !session.is_null() {
            arguments["session_id"] = session.clone();
        }
        session = desk.call_ok("reasoning_divergent", arguments).await["session_id"].clone();
    }
    let shown = conversation(&desk.last_request());
    assert!(shown.contains("problem 1<"), "{shown}");
}

#[tokio::test]
async fn a_graph_is_seen_by_what_works_on_any_session() {
    let desk = ReasoningTestRegistry::new();
    let init = json!({ "content": "the root", "problem": "the problem" });
    let graph = desk.call_ok("reasoning_got_init", init).await;
    let session = &graph["session_id"];
    let node = |text: &str| {
        text_reply(&json!({ "thought": text, "kind": "thought", "confidence_percent": 50, "rationale": "r" }).to_string())
    };
    desk.script_replies([node("a child")]);
    let grow = json!({ "graph_id": graph["graph_id"], "node_id": graph["root_node_id"], "k": 1 });
    desk.call_ok("reasoning_got_generate", grow).await;
    desk.script_replies([reflection_reply("of the node")]);
    desk.call_ok("reasoning_reflection", json!({ "session_id": session }))
        .await;
    let shown = conversation(&desk.last_request());
    for text in ["the root", "a child", "the problem"] {
        assert!(shown.contains(text), "{text} is missing in {shown}");
    }
    let place = json!({ "session_id": session, "name": "here" });
    let place = desk.call_ok("reasoning_checkpoint_create", place).await;
    desk.script_replies([text_reply(&step_json("turned"))]);
    let turn = json!({ "checkpoint_id": place["checkpoint_id"], "new_direction": "elsewhere" });
    let turned = desk.call_ok("reasoning_backtrack", turn).await;
    assert!(conversation(&desk.last_request()).contains("a child"));
    // The direction is a node from which the graph can be continued.
    desk.script_replies([node("further on")]);
    let grow = json!({ "graph_id": graph["graph_id"], "node_id": turned["new_node_id"], "k": 1 });
    desk.call_ok("reasoning_got_generate", grow).await;
    assert!(conversation(&desk.last_request()).contains("turned"));
}
