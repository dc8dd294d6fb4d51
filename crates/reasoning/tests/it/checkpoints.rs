//! Tests of checkpoints and backtracking.

use deliberate_core::Mode;
use deliberate_store::EpochFilter;
use deliberate_testkit::fixtures::expect_needs_reply;
use serde_json::{Value, json};

use super::test_registry::{
    FULL_PAGE, ReasoningTestRegistry, conversation, render_request, reply_with_fields, step_json,
    step_text, text_reply,
};

const CREATE: &str = "reasoning_checkpoint_create";
const BACKTRACK: &str = "reasoning_backtrack";

async fn create_checkpoint(registry: &ReasoningTestRegistry, session: &Value, name: &str) -> Value {
    registry
        .call_ok(CREATE, json!({ "session_id": session, "name": name }))
        .await
}

fn id_of(id: &Value) -> deliberate_core::ThoughtId {
    id.as_str().unwrap().into()
}

async fn backtrack(registry: &ReasoningTestRegistry, checkpoint: &Value) -> Value {
    registry
        .call_ok(BACKTRACK, json!({ "checkpoint_id": checkpoint }))
        .await
}

/// Takes a step and returns its answer.
async fn think_step(
    registry: &ReasoningTestRegistry,
    session: &Value,
    content: &str,
    thought: &str,
) -> Value {
    registry.script_replies([text_reply(&step_json(thought))]);
    registry
        .think_ok(json!({ "content": content, "session_id": session }))
        .await
}

/// The texts of a session's current thoughts.
async fn current_thoughts(registry: &ReasoningTestRegistry, session: &Value) -> Vec<String> {
    let id = session.as_str().unwrap().into();
    let thoughts = registry
        .store
        .thoughts(&id, EpochFilter::Current, FULL_PAGE)
        .await
        .unwrap();
    thoughts
        .into_iter()
        .map(|thought| thought.content)
        .collect()
}

/// A session with a checkpoint after its first step, followed by two more steps.
async fn session_past_checkpoint(registry: &ReasoningTestRegistry) -> (Value, Value) {
    registry.script_replies([text_reply(&step_json("first"))]);
    let first = registry.think_ok(json!({ "content": "begin" })).await;
    let session = first["session_id"].clone();
    let place = create_checkpoint(registry, &session, "after one").await;
    assert_eq!(place["latest_thought"], first["thought_id"]);
    think_step(registry, &session, "go on", "second WRONG").await;
    think_step(registry, &session, "go on", "third WRONG").await;
    (session, place["checkpoint_id"].clone())
}

#[tokio::test]
async fn what_came_later_is_set_aside_and_never_shown_again() {
    let desk = ReasoningTestRegistry::new();
    let (session, place) = session_past_checkpoint(&desk).await;
    let answer = backtrack(&desk, &place).await;
    assert_eq!(answer["session_id"], session);
    assert_eq!(answer["checkpoint_restored"], place);
    assert_eq!(answer["content"], "first");
    assert_eq!(
        answer["set_aside"],
        json!({ "thoughts": 2, "branches": 0, "nodes": 0 })
    );
    assert_eq!(current_thoughts(&desk, &session).await, ["first"]);
    let again = think_step(&desk, &session, "another way", "fourth").await;
    assert_eq!(again["previous_thought"], answer["thought_id"]);
    let shown = conversation(&desk.last_request());
    assert!(
        shown.contains("first") && !shown.contains("WRONG"),
        "{shown}"
    );
    // The thoughts that were set aside can still be read.
    let history = desk
        .call_ok(
            "reasoning_get",
            json!({ "id": session, "include_set_aside": true }),
        )
        .await;
    let thoughts = history["data"]["thoughts"].as_array().unwrap();
    let aside: Vec<_> = thoughts
        .iter()
        .map(|it| it["set_aside"].as_bool().unwrap())
        .collect();
    assert_eq!(aside, [false, true, true, false]);
}

#[tokio::test]
async fn a_backtrack_can_be_undone_and_that_be_undone_too() {
    let desk = ReasoningTestRegistry::new();
    let (session, place) = session_past_checkpoint(&desk).await;
    let all = ["first", "second WRONG", "third WRONG"];
    let answer = backtrack(&desk, &place).await;
    think_step(&desk, &session, "another way", "fourth").await;
    let undone = backtrack(&desk, &answer["undo_checkpoint_id"]).await;
    assert_eq!(undone["brought_back"]["thoughts"], 2);
    assert_eq!(undone["set_aside"]["thoughts"], 1);
    assert_eq!(undone["content"], "third WRONG");
    assert_eq!(current_thoughts(&desk, &session).await, all);
    backtrack(&desk, &undone["undo_checkpoint_id"]).await;
    assert_eq!(current_thoughts(&desk, &session).await, ["first", "fourth"]);
}

#[tokio::test]
async fn a_new_direction_opens_a_branch_from_there() {
    let desk = ReasoningTestRegistry::new();
    let (session, place) = session_past_checkpoint(&desk).await;
    desk.script_replies([text_reply(&step_json("the other way"))]);
    let arguments = json!({
        "checkpoint_id": place, "session_id": session, "confidence": 0.9,
        "new_direction": "What if we start\nfrom the end?",
    });
    let answer = desk.call_ok(BACKTRACK, arguments).await;
    assert_eq!(answer["content"], "the other way");
    assert_eq!(answer["below_threshold"], true);
    assert_eq!(answer["new_branch_id"], answer["active_branch"]);
    let asked = desk.last_request();
    assert!(!conversation(&asked).contains("WRONG"));
    insta::assert_snapshot!(render_request(&asked));
    assert_eq!(
        current_thoughts(&desk, &session).await,
        ["first", "the other way"]
    );
    let thought = desk.thoughts().await.pop().unwrap();
    assert_eq!(thought.mode, Mode::Backtracking);
    assert_eq!(json!(thought.branch_id), answer["new_branch_id"]);
    let next = think_step(&desk, &session, "and then?", "so").await;
    assert_eq!(next["previous_thought"], answer["thought_id"]);
    let latest = desk.thoughts().await.pop().unwrap();
    assert_eq!(json!(latest.branch_id), answer["new_branch_id"]);
    // The tree tools accept a session that has branches.
    let list = desk
        .call_ok("reasoning_tree_list", json!({ "session_id": session }))
        .await;
    assert_eq!(
        list["branches"][0]["name"],
        "What if we start from the end?"
    );
}

#[tokio::test]
async fn the_active_branch_and_the_states_of_branches_come_back() {
    let desk = ReasoningTestRegistry::new();
    // Both reach the same result, so no comparison is asked for.
    let approaches = || {
        [("a", "one"), ("b", "two")].map(|(name, text)| {
            let fields = json!({
                "name": name, "answer": "yes", "weakest_point": "w", "confidence_percent": 50,
            });
            reply_with_fields(text, &fields)
        })
    };
    desk.script_replies(approaches());
    let tree = desk
        .call_ok(
            "reasoning_tree",
            json!({ "content": "x", "max_branches": 2 }),
        )
        .await;
    let session = &tree["session_id"];
    let (a, b) = (&tree["branches"][0]["id"], &tree["branches"][1]["id"]);
    let focus = |branch: &Value| json!({ "session_id": session, "branch_id": branch });
    desk.call_ok("reasoning_tree_focus", focus(a)).await;
    let place = create_checkpoint(&desk, session, "on a").await;
    assert_eq!(place["branch_id"], *a);
    let close = json!({ "session_id": session, "branch_id": a, "state": "abandoned" });
    desk.call_ok("reasoning_tree_complete", close).await;
    desk.call_ok("reasoning_tree_focus", focus(b)).await;
    desk.script_replies(approaches());
    desk.call_ok(
        "reasoning_tree",
        json!({ "content": "y", "session_id": session, "max_branches": 2 }),
    )
    .await;
    let answer = backtrack(&desk, &place["checkpoint_id"]).await;
    assert_eq!(answer["active_branch"], *a);
    assert_eq!(
        answer["set_aside"],
        json!({ "thoughts": 3, "branches": 2, "nodes": 0 })
    );
    let list = desk
        .call_ok("reasoning_tree_list", json!({ "session_id": session }))
        .await;
    assert_eq!(list["active_branch"], *a);
    let states: Vec<_> = list["branches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["state"])
        .collect();
    assert_eq!(states, ["active", "active", "active"]);
}

#[tokio::test]
async fn a_thought_that_builds_on_what_was_set_aside_meanwhile_is_refused() {
    let desk = ReasoningTestRegistry::without_model();
    let asks = |arguments: Value| desk.call_linear(arguments);
    let needs = expect_needs_reply(asks(json!({ "content": "begin" })).await);
    let reply = json!({ "thought": "first", "confidence_percent": 70, "weakest_point": "w" });
    let resume = |id: &str| json!({ "id": id, "replies": [reply] });
    let first = desk.call_ok("reasoning_resume", resume(&needs.id)).await;
    let session = &first["session_id"];
    let place = create_checkpoint(&desk, session, "one").await;
    let second = expect_needs_reply(asks(json!({ "content": "a", "session_id": session })).await);
    desk.call_ok("reasoning_resume", resume(&second.id)).await;
    let third = expect_needs_reply(asks(json!({ "content": "b", "session_id": session })).await);
    backtrack(&desk, &place["checkpoint_id"]).await;
    let error = desk.call_err("reasoning_resume", resume(&third.id)).await;
    assert_eq!(error.code(), "Conflict");
    assert_eq!(current_thoughts(&desk, session).await, ["first"]);
}

#[tokio::test]
async fn what_was_set_aside_can_not_be_worked_on() {
    let desk = ReasoningTestRegistry::new();
    let (session, place) = session_past_checkpoint(&desk).await;
    desk.script_replies([text_reply(&step_json("the other way"))]);
    let turn = json!({ "checkpoint_id": place, "new_direction": "elsewhere" });
    let turned = desk.call_ok(BACKTRACK, turn).await;
    backtrack(&desk, &place).await;
    let focus = json!({ "session_id": session, "branch_id": turned["new_branch_id"] });
    assert_eq!(
        desk.call_err("reasoning_tree_focus", focus).await.code(),
        "SetAside"
    );
    let on = json!({ "content": "on", "thought_id": turned["thought_id"] });
    for tool in ["reasoning_tree", "reasoning_divergent"] {
        assert_eq!(desk.call_err(tool, on.clone()).await.code(), "SetAside");
    }
    // The session itself goes on where it was returned to.
    let next = think_step(&desk, &session, "on", "so").await;
    let place = desk.store.thought(&id_of(&next["previous_thought"])).await;
    assert_eq!(place.unwrap().unwrap().content, "first");
}

#[tokio::test]
async fn checkpoints_are_listed_without_what_they_hold() {
    let desk = ReasoningTestRegistry::new();
    let (session, place) = session_past_checkpoint(&desk).await;
    backtrack(&desk, &place).await;
    let list = desk
        .call_ok(
            "reasoning_checkpoint_list",
            json!({ "session_id": session }),
        )
        .await;
    let kinds: Vec<_> = list["checkpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["kind"])
        .collect();
    assert_eq!(kinds, ["undo", "asked"]);
    assert_eq!(
        list["checkpoints"][0]["name"],
        "before the backtrack to after one"
    );
    assert!(!list.to_string().contains("snapshot"));
}

#[tokio::test]
async fn ids_and_names_that_do_not_fit_are_refused() {
    let desk = ReasoningTestRegistry::new();
    let (session, place) = session_past_checkpoint(&desk).await;
    let (other, _) = session_past_checkpoint(&desk).await;
    let cases = [
        (
            CREATE,
            json!({ "session_id": "no", "name": "n" }),
            "SessionNotFound",
        ),
        (
            CREATE,
            json!({ "session_id": session, "name": "  " }),
            "Validation",
        ),
        (
            CREATE,
            json!({ "session_id": session, "name": "after one" }),
            "Validation",
        ),
        (
            "reasoning_checkpoint_list",
            json!({ "session_id": "no" }),
            "SessionNotFound",
        ),
        (
            BACKTRACK,
            json!({ "checkpoint_id": "no" }),
            "CheckpointNotFound",
        ),
        (
            BACKTRACK,
            json!({ "checkpoint_id": place, "session_id": other }),
            "CheckpointNotFound",
        ),
        (
            BACKTRACK,
            json!({ "checkpoint_id": place, "session_id": "no" }),
            "SessionNotFound",
        ),
        (
            BACKTRACK,
            json!({ "checkpoint_id": place, "new_direction": " " }),
            "Validation",
        ),
    ];
    for (tool, arguments, code) in cases {
        let error = desk.call_err(tool, arguments.clone()).await;
        assert_eq!(error.code(), code, "{tool} {arguments}: {error}");
    }
    assert_eq!(current_thoughts(&desk, &session).await.len(), 3);
}

#[tokio::test]
async fn a_failed_direction_leaves_everything_where_it_was() {
    let desk = ReasoningTestRegistry::new();
    let (session, place) = session_past_checkpoint(&desk).await;
    desk.script_replies([text_reply(""), text_reply(" ")]);
    let turn = json!({ "checkpoint_id": place, "new_direction": "elsewhere" });
    let error = desk.call_err(BACKTRACK, turn).await;
    assert_eq!(error.code(), "InvalidResponse");
    assert_eq!(current_thoughts(&desk, &session).await.len(), 3);
    let id = session.as_str().unwrap().into();
    assert_eq!(
        desk.store.checkpoints(&id, FULL_PAGE).await.unwrap().len(),
        1
    );
}

#[tokio::test]
async fn a_direction_without_fields_is_taken_as_it_is() {
    let desk = ReasoningTestRegistry::new();
    let (session, place) = session_past_checkpoint(&desk).await;
    desk.script_replies([text_reply("Then it is 4."), text_reply("I have no fields.")]);
    let turn = json!({ "checkpoint_id": place, "new_direction": "elsewhere" });
    let turned = desk.call_ok(BACKTRACK, turn).await;
    assert_eq!(turned["content"], "Then it is 4.");
    assert_eq!(turned["answer"], Value::Null);
    assert_eq!(turned["confidence"], 0.8);
    let current = current_thoughts(&desk, &session).await;
    assert_eq!(current, ["first", "Then it is 4."]);
}

#[tokio::test]
async fn without_a_model_a_direction_is_stored_the_same() {
    let reply = step_text("the other way");
    let with = ReasoningTestRegistry::new();
    let without = ReasoningTestRegistry::without_model();
    let steps = [("in 1", "out 1"), ("in 2", "out 2")];
    for desk in [&with, &without] {
        desk.add_session(Mode::Linear, steps).await;
        create_checkpoint(desk, &json!("s"), "here").await;
    }
    let turn = async |desk: &ReasoningTestRegistry| {
        let list = json!({ "session_id": "s" });
        let list = desk.call_ok("reasoning_checkpoint_list", list).await;
        json!({ "checkpoint_id": list["checkpoints"][0]["id"], "new_direction": "elsewhere" })
    };
    with.script_replies([text_reply(&reply)]);
    let answer = with.call_ok(BACKTRACK, turn(&with).await).await;
    let driven = without
        .call_with_client_replies(BACKTRACK, turn(&without).await, &[json!(reply)])
        .await;
    assert_eq!(driven["content"], answer["content"]);
    assert_eq!(driven["weakest_point"], "a guess");
    let contents = async |desk: &ReasoningTestRegistry| {
        let thoughts = desk.thoughts().await;
        let fields = thoughts
            .into_iter()
            .map(|it| (it.content, it.parent_id, it.metadata));
        fields.collect::<Vec<_>>()
    };
    assert_eq!(contents(&without).await, contents(&with).await);
}

#[tokio::test]
async fn the_providers_conversation_is_left_too() {
    let desk = ReasoningTestRegistry::new();
    desk.script_replies([deliberate_llm::ModelReply {
        thread: Some("th-1".to_owned()),
        ..text_reply(&step_json("first"))
    }]);
    let first = desk.think_ok(json!({ "content": "begin" })).await;
    let place = create_checkpoint(&desk, &first["session_id"], "one").await;
    backtrack(&desk, &place["checkpoint_id"]).await;
    think_step(&desk, &first["session_id"], "go on", "second").await;
    // The old thread still holds the thoughts that were set aside.
    assert_eq!(desk.last_request().thread, None);
}
