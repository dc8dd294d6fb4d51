//! Checkpoints, and the way back to them.

use deliberate_core::Mode;
use deliberate_store::Which;
use deliberate_toolkit::Answer;
use serde_json::{Value, json};

use crate::desk::{ALL, Desk, conversation, says, step, whole};

const CREATE: &str = "reasoning_checkpoint_create";
const BACKTRACK: &str = "reasoning_backtrack";

async fn checkpoint(desk: &Desk, session: &Value, name: &str) -> Value {
    desk.done(CREATE, json!({ "session_id": session, "name": name }))
        .await
}

async fn back(desk: &Desk, checkpoint: &Value) -> Value {
    desk.done(BACKTRACK, json!({ "checkpoint_id": checkpoint }))
        .await
}

/// Takes a step and gives what it answered.
async fn next(desk: &Desk, session: &Value, content: &str, thought: &str) -> Value {
    desk.will_say([says(&step(thought))]);
    desk.think(json!({ "content": content, "session_id": session }))
        .await
}

/// The texts of a session's current thoughts.
async fn current(desk: &Desk, session: &Value) -> Vec<String> {
    let id = session.as_str().unwrap().into();
    let thoughts = desk.store.thoughts(&id, Which::Current, ALL).await.unwrap();
    thoughts
        .into_iter()
        .map(|thought| thought.content)
        .collect()
}

/// A session with a checkpoint after its first step, and two steps more.
async fn gone_on(desk: &Desk) -> (Value, Value) {
    desk.will_say([says(&step("first"))]);
    let first = desk.think(json!({ "content": "begin" })).await;
    let session = first["session_id"].clone();
    let place = checkpoint(desk, &session, "after one").await;
    assert_eq!(place["latest_thought"], first["thought_id"]);
    next(desk, &session, "go on", "second WRONG").await;
    next(desk, &session, "go on", "third WRONG").await;
    (session, place["checkpoint_id"].clone())
}

#[tokio::test]
async fn what_came_later_is_set_aside_and_never_shown_again() {
    let desk = Desk::new();
    let (session, place) = gone_on(&desk).await;
    let answer = back(&desk, &place).await;
    assert_eq!(answer["session_id"], session);
    assert_eq!(answer["checkpoint_restored"], place);
    assert_eq!(answer["content"], "first");
    assert_eq!(
        answer["set_aside"],
        json!({ "thoughts": 2, "branches": 0, "nodes": 0 })
    );
    assert_eq!(current(&desk, &session).await, ["first"]);
    let again = next(&desk, &session, "another way", "fourth").await;
    assert_eq!(again["previous_thought"], answer["thought_id"]);
    let shown = conversation(&desk.last_asked());
    assert!(
        shown.contains("first") && !shown.contains("WRONG"),
        "{shown}"
    );
    // History can still be read.
    let history = desk
        .done(
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
    let desk = Desk::new();
    let (session, place) = gone_on(&desk).await;
    let all = ["first", "second WRONG", "third WRONG"];
    let answer = back(&desk, &place).await;
    next(&desk, &session, "another way", "fourth").await;
    let undone = back(&desk, &answer["undo_checkpoint_id"]).await;
    assert_eq!(undone["brought_back"]["thoughts"], 2);
    assert_eq!(undone["set_aside"]["thoughts"], 1);
    assert_eq!(undone["content"], "third WRONG");
    assert_eq!(current(&desk, &session).await, all);
    back(&desk, &undone["undo_checkpoint_id"]).await;
    assert_eq!(current(&desk, &session).await, ["first", "fourth"]);
}

#[tokio::test]
async fn a_new_direction_opens_a_branch_from_there() {
    let desk = Desk::new();
    let (session, place) = gone_on(&desk).await;
    desk.will_say([says(&step("the other way"))]);
    let arguments = json!({
        "checkpoint_id": place, "session_id": session, "confidence": 0.9,
        "new_direction": "What if we start\nfrom the end?",
    });
    let answer = desk.done(BACKTRACK, arguments).await;
    assert_eq!(answer["content"], "the other way");
    assert_eq!(answer["below_threshold"], true);
    assert_eq!(answer["new_branch_id"], answer["active_branch"]);
    let asked = desk.last_asked();
    assert!(!conversation(&asked).contains("WRONG"));
    insta::assert_snapshot!(whole(&asked));
    assert_eq!(current(&desk, &session).await, ["first", "the other way"]);
    let thought = desk.thoughts().await.pop().unwrap();
    assert_eq!(thought.mode, Mode::Backtracking);
    assert_eq!(json!(thought.branch_id), answer["new_branch_id"]);
    let next = next(&desk, &session, "and then?", "so").await;
    assert_eq!(next["previous_thought"], answer["thought_id"]);
    let latest = desk.thoughts().await.pop().unwrap();
    assert_eq!(json!(latest.branch_id), answer["new_branch_id"]);
    // A session with branches can be worked on as such.
    let list = desk
        .done("reasoning_tree_list", json!({ "session_id": session }))
        .await;
    assert_eq!(
        list["branches"][0]["name"],
        "What if we start from the end?"
    );
}

#[tokio::test]
async fn the_active_branch_and_the_states_of_branches_come_back() {
    let desk = Desk::new();
    let approaches = json!({
        "thought": "t", "recommended": 1, "relations": [], "confidence_percent": 50, "weakest_point": "w",
        "approaches": [
            { "name": "a", "thought": "one", "rationale": "", "confidence_percent": 50 },
            { "name": "b", "thought": "two", "rationale": "", "confidence_percent": 50 },
        ],
    });
    desk.will_say([says(&approaches.to_string())]);
    let tree = desk.done("reasoning_tree", json!({ "content": "x" })).await;
    let session = &tree["session_id"];
    let (a, b) = (&tree["branches"][0]["id"], &tree["branches"][1]["id"]);
    let focus = |branch: &Value| json!({ "session_id": session, "branch_id": branch });
    desk.done("reasoning_tree_focus", focus(a)).await;
    let place = checkpoint(&desk, session, "on a").await;
    assert_eq!(place["branch_id"], *a);
    let close = json!({ "session_id": session, "branch_id": a, "state": "abandoned" });
    desk.done("reasoning_tree_complete", close).await;
    desk.done("reasoning_tree_focus", focus(b)).await;
    desk.will_say([says(&approaches.to_string())]);
    desk.done(
        "reasoning_tree",
        json!({ "content": "y", "session_id": session }),
    )
    .await;
    let answer = back(&desk, &place["checkpoint_id"]).await;
    assert_eq!(answer["active_branch"], *a);
    assert_eq!(
        answer["set_aside"],
        json!({ "thoughts": 3, "branches": 2, "nodes": 0 })
    );
    let list = desk
        .done("reasoning_tree_list", json!({ "session_id": session }))
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
    let desk = Desk::without_model();
    let asks = |arguments: Value| desk.call(arguments);
    let Ok(Answer::NeedsReply(needs)) = asks(json!({ "content": "begin" })).await else {
        panic!()
    };
    let reply = json!({ "thought": "first", "confidence_percent": 70, "weakest_point": "w" });
    let resume = |id: &str| json!({ "id": id, "replies": [reply] });
    let first = desk.done("reasoning_resume", resume(&needs.id)).await;
    let session = &first["session_id"];
    let place = checkpoint(&desk, session, "one").await;
    let Ok(Answer::NeedsReply(second)) =
        asks(json!({ "content": "a", "session_id": session })).await
    else {
        panic!()
    };
    desk.done("reasoning_resume", resume(&second.id)).await;
    let Ok(Answer::NeedsReply(third)) =
        asks(json!({ "content": "b", "session_id": session })).await
    else {
        panic!()
    };
    back(&desk, &place["checkpoint_id"]).await;
    let error = desk.refused("reasoning_resume", resume(&third.id)).await;
    assert_eq!(error.code(), "Conflict");
    assert_eq!(current(&desk, session).await, ["first"]);
}

#[tokio::test]
async fn what_was_set_aside_can_not_be_worked_on() {
    let desk = Desk::new();
    let (session, place) = gone_on(&desk).await;
    desk.will_say([says(&step("the other way"))]);
    let turn = json!({ "checkpoint_id": place, "new_direction": "elsewhere" });
    let turned = desk.done(BACKTRACK, turn).await;
    back(&desk, &place).await;
    let focus = json!({ "session_id": session, "branch_id": turned["new_branch_id"] });
    // No branch is left, so it is a linear session like any other.
    assert_eq!(
        desk.refused("reasoning_tree_focus", focus).await.code(),
        "WrongMode"
    );
}

#[tokio::test]
async fn checkpoints_are_listed_without_what_they_hold() {
    let desk = Desk::new();
    let (session, place) = gone_on(&desk).await;
    back(&desk, &place).await;
    let list = desk
        .done(
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
        "before the return to after one"
    );
    assert!(!list.to_string().contains("snapshot"));
}

#[tokio::test]
async fn ids_and_names_that_do_not_fit_are_refused() {
    let desk = Desk::new();
    let (session, place) = gone_on(&desk).await;
    let (other, _) = gone_on(&desk).await;
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
        let error = desk.refused(tool, arguments.clone()).await;
        assert_eq!(error.code(), code, "{tool} {arguments}: {error}");
    }
    assert_eq!(current(&desk, &session).await.len(), 3);
}

#[tokio::test]
async fn a_failed_direction_leaves_everything_where_it_was() {
    let desk = Desk::new();
    let (session, place) = gone_on(&desk).await;
    desk.will_say([says("no"), says("no")]);
    let turn = json!({ "checkpoint_id": place, "new_direction": "elsewhere" });
    desk.refused(BACKTRACK, turn).await;
    assert_eq!(current(&desk, &session).await.len(), 3);
    let id = session.as_str().unwrap().into();
    assert_eq!(desk.store.checkpoints(&id, ALL).await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_providers_conversation_is_left_too() {
    let desk = Desk::new();
    desk.will_say([deliberate_thinker::Reply {
        thread: Some("th-1".to_owned()),
        ..says(&step("first"))
    }]);
    let first = desk.think(json!({ "content": "begin" })).await;
    let place = checkpoint(&desk, &first["session_id"], "one").await;
    back(&desk, &place["checkpoint_id"]).await;
    next(&desk, &first["session_id"], "go on", "second").await;
    // It still holds what was set aside.
    assert_eq!(desk.last_asked().thread, None);
}
