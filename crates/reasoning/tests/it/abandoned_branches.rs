//! Abandoned branches: nothing that goes on in the session builds on them, however long they are.

use serde_json::{Value, json};

use super::{
    reflection_fixtures::{REFLECT, check_reply},
    test_registry::{ReasoningTestRegistry, conversation},
};

const DEAD_END: &str = "a dead end";

/// A session with two steps, from which a branch of that many steps was begun and abandoned.
struct SessionWithDeadEnd {
    desk: ReasoningTestRegistry,
    session: Value,
    /// The second step of the main line.
    latest: Value,
    /// The last step of the branch.
    end: Value,
}

impl SessionWithDeadEnd {
    async fn new(branch_steps: usize) -> Self {
        let desk = ReasoningTestRegistry::new();
        let first = json!({ "content": "begin", "reply": "the beginning" });
        let session = desk.think_ok(first).await["session_id"].clone();
        let second = json!({ "content": "on", "session_id": session, "reply": "the second step" });
        let latest = desk.think_ok(second).await["thought_id"].clone();
        let place = json!({ "session_id": session, "name": "here" });
        let place = desk.call_ok("reasoning_checkpoint_create", place).await;
        let turn = json!({
            "checkpoint_id": place["checkpoint_id"], "new_direction": "aside", "reply": DEAD_END,
        });
        let branch = desk.call_ok("reasoning_backtrack", turn).await["new_branch_id"].clone();
        let step = json!({ "content": "on", "session_id": session, "reply": DEAD_END });
        for _ in 1..branch_steps {
            desk.think_ok(step.clone()).await;
        }
        let end = desk.thoughts().await.pop().unwrap();
        assert_eq!(json!(end.branch_id), branch);
        let close = json!({ "session_id": session, "branch_id": branch, "state": "abandoned" });
        let closed = desk.call_ok("reasoning_tree_complete", close).await;
        assert_eq!(closed["active_branch"], Value::Null);
        Self {
            desk,
            session,
            latest,
            end: json!(end.id),
        }
    }

    /// Calls a tool and returns its first request to the model.
    async fn request_of(&self, tool: &str, arguments: Value) -> String {
        let before = self.desk.requests().len();
        self.desk.call_ok(tool, arguments).await;
        conversation(&self.desk.requests()[before])
    }

    async fn request_of_next_step(&self) -> String {
        let on = json!({ "content": "on", "session_id": self.session });
        self.request_of("reasoning_linear", on).await
    }
}

fn assert_shows_main_line(shown: &str) {
    assert!(
        shown.contains("the second step") && !shown.contains(DEAD_END),
        "{shown}"
    );
}

#[tokio::test]
async fn no_mode_builds_on_an_abandoned_branch() {
    for tool in [
        "reasoning_linear",
        "reasoning_tree",
        "reasoning_divergent",
        "reasoning_reflection",
    ] {
        let it = SessionWithDeadEnd::new(1).await;
        let known = it.desk.thoughts().await.len();
        let on = json!({ "content": "on", "session_id": it.session });
        assert_shows_main_line(&it.request_of(tool, on).await);
        let added = it.desk.thoughts().await.split_off(known);
        assert_eq!(json!(added[0].parent_id), it.latest, "{tool}");
    }
}

#[tokio::test]
async fn a_branch_longer_than_what_is_read_at_once_is_left_too() {
    for steps in [30, 230] {
        let it = SessionWithDeadEnd::new(steps).await;
        assert_shows_main_line(&it.request_of_next_step().await);
        let added = it.desk.thoughts().await.pop().unwrap();
        assert_eq!(json!(added.parent_id), it.latest, "{steps}");
    }
}

#[tokio::test]
async fn a_reflection_on_the_main_line_stays_on_it() {
    for steps in [1, 30] {
        let it = SessionWithDeadEnd::new(steps).await;
        it.desk.script_replies([check_reply(80, "")]);
        let reflect = json!({ "thought_id": it.latest });
        it.desk.call_ok(REFLECT, reflect).await;
        let reflection = it.desk.thoughts().await.pop().unwrap();
        assert_eq!(json!(reflection.parent_id), it.latest);
        let shown = it.request_of_next_step().await;
        assert_shows_main_line(&shown);
        assert!(shown.contains("It holds."), "{shown}");
    }
}

#[tokio::test]
async fn a_reflection_on_an_abandoned_thought_leaves_the_main_line_in_sight() {
    let it = SessionWithDeadEnd::new(1).await;
    it.desk.script_replies([check_reply(80, "")]);
    it.desk
        .call_ok(REFLECT, json!({ "thought_id": it.end }))
        .await;
    assert_shows_main_line(&it.request_of_next_step().await);
}

#[tokio::test]
async fn a_session_with_nothing_but_an_abandoned_branch_can_go_on() {
    let desk = ReasoningTestRegistry::new();
    let tree = json!({ "content": "x", "max_branches": 2 });
    let tree = desk.call_ok("reasoning_tree", tree).await;
    let session = &tree["session_id"];
    let branches = json!({ "session_id": session });
    let branches = desk.call_ok("reasoning_tree_list", branches).await;
    for branch in branches["branches"].as_array().unwrap() {
        let close =
            json!({ "session_id": session, "branch_id": branch["id"], "state": "abandoned" });
        desk.call_ok("reasoning_tree_complete", close).await;
    }
    desk.think_ok(json!({ "content": "on", "session_id": session }))
        .await;
    let shown = conversation(&desk.last_request());
    assert!(shown.contains("The reasoning so far"), "{shown}");
}
