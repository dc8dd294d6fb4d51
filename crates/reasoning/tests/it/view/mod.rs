//! Tests of `reasoning_get`, `reasoning_search` and `reasoning_sessions`.

mod presentation;
mod read_lane;

use deliberate_core::{Branch, BranchState, Change, Mode, Score};
use serde_json::{Value, json};

use super::{
    graph_fixtures::{free_text_reply, generate_answers, init_graph, timestamp},
    test_registry::{ReasoningTestRegistry, step_json, text_reply},
};

pub(crate) const GET: &str = "reasoning_get";

pub(crate) async fn explore_tree(desk: &ReasoningTestRegistry) -> Value {
    let approach = |name: &str, text: &str, answer: &str, percent: u32| {
        let fields = json!({
            "name": name, "answer": answer, "weakest_point": "the costs",
            "confidence_percent": percent,
        });
        free_text_reply(text, &fields)
    };
    let undecided = json!({ "answer": null, "weakest_point": null, "confidence_percent": 50 });
    let comparison = json!({
        "recommended": 2, "weakest_point": "land prices are guessed", "confidence_percent": 70,
    });
    desk.script_replies([
        approach("Rail", "Build a tram.", "a tram", 60),
        approach(
            "Bus \"express\" %%{init}%%",
            "Run buses.\nOn lanes of their own.",
            "buses",
            75,
        ),
        // One more solution decides nothing, so that the approaches are compared.
        free_text_reply("It depends.", &undecided),
        free_text_reply("Rail or bus: it turns on the price of land.", &comparison),
    ]);
    let arguments = json!({ "content": "How should the town travel?", "max_branches": 2 });
    desk.call_ok("reasoning_tree", arguments).await
}

pub(crate) async fn render_entity(
    registry: &ReasoningTestRegistry,
    id: &Value,
    format: &str,
) -> String {
    let answer = registry
        .call_ok(GET, json!({ "id": id, "format": format }))
        .await;
    answer["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_session_can_be_read_in_three_forms() {
    let desk = ReasoningTestRegistry::new();
    let tree = explore_tree(&desk).await;
    let data = desk.call_ok(GET, json!({ "id": tree["session_id"] })).await;
    assert_eq!(data["kind"], "session");
    assert_eq!(data["data"]["thoughts"].as_array().unwrap().len(), 3);
    assert_eq!(data["data"]["branches"].as_array().unwrap().len(), 3);
    insta::assert_snapshot!(
        "tree_markdown",
        render_entity(&desk, &tree["session_id"], "markdown").await
    );
    insta::assert_snapshot!(
        "tree_mermaid",
        render_entity(&desk, &tree["session_id"], "mermaid").await
    );
}

#[tokio::test]
async fn the_result_of_a_node_is_shown() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let nodes = generate_answers(&desk, id, root, &["4\n## 2"]).await;
    for shown in [id, &nodes[0], &graph["session_id"]] {
        let page = render_entity(&desk, shown, "markdown").await;
        assert!(page.contains("\n**Answer:** 4 ## 2\n"), "{page}");
    }
}

#[tokio::test]
async fn every_kind_of_id_is_found() {
    let desk = ReasoningTestRegistry::new();
    let tree = explore_tree(&desk).await;
    for (id, kind) in [
        (&tree["thought_id"], "thought"),
        (&tree["recommended_branch"], "branch"),
        (&tree["session_id"], "session"),
    ] {
        for format in ["data", "markdown", "mermaid"] {
            let answer = desk
                .call_ok(GET, json!({ "id": id, "format": format }))
                .await;
            assert_eq!(answer["kind"], kind);
            assert_eq!(answer["session_id"], tree["session_id"]);
        }
    }
    let error = desk.call_err(GET, json!({ "id": "no" })).await;
    assert!(
        error
            .to_string()
            .contains("names no session, thought, branch"),
        "{error}"
    );
}

#[tokio::test]
async fn a_long_session_is_read_in_parts() {
    let desk = ReasoningTestRegistry::new();
    let steps = (1..=120).map(|number| (format!("input {number}"), format!("thought {number}")));
    desk.add_session(Mode::Linear, steps).await;
    let mut read = 0;
    let mut offset = Some(0);
    while let Some(from) = offset {
        let part = desk
            .call_ok(GET, json!({ "id": "s", "offset": from, "limit": 50 }))
            .await;
        read += part["data"]["thoughts"].as_array().unwrap().len();
        offset = part["next_offset"].as_u64();
    }
    assert_eq!(read, 120);
    let markdown = desk
        .call_ok(
            GET,
            json!({ "id": "s", "offset": 50, "format": "markdown" }),
        )
        .await;
    assert!(markdown["text"].as_str().unwrap().contains("## Step 51 "));
}

#[tokio::test]
async fn an_answer_stays_readable_however_long_the_thoughts_are() {
    let desk = ReasoningTestRegistry::new();
    let long = "word ".repeat(8_000);
    desk.add_session(
        Mode::Linear,
        (0..6).map(|_| ("in".to_owned(), long.clone())),
    )
    .await;
    let part = desk.call_ok(GET, json!({ "id": "s" })).await;
    assert_eq!(part["data"]["thoughts"].as_array().unwrap().len(), 1);
    assert_eq!(part["next_offset"], 1);
}

#[tokio::test]
async fn thoughts_are_found_by_words_mode_session_and_time() {
    let desk = ReasoningTestRegistry::new();
    let tree = explore_tree(&desk).await;
    desk.script_replies([text_reply(&step_json("A tram is a train in the street."))]);
    let linear = desk.think_ok(json!({ "content": "What is a tram?" })).await;
    let search = async |arguments: Value| {
        desk.call_ok("reasoning_search", arguments).await["results"].clone()
    };
    assert_eq!(
        search(json!({ "query": "tram" }))
            .await
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let found = search(json!({ "query": "tram", "mode": "linear" })).await;
    assert_eq!(found[0]["id"], linear["thought_id"]);
    assert!(found[0]["excerpt"].as_str().unwrap().contains("[tram]"));
    let found = search(json!({ "query": "tram", "session_id": tree["session_id"] })).await;
    assert_eq!(found.as_array().unwrap().len(), 1);
    assert_eq!(
        search(json!({ "query": "tram", "until": "2025-01-01" })).await,
        json!([])
    );
    // A day as the end of a range includes the whole day.
    for (since, until, count) in [
        ("2026-01-01", "2026-01-01", 2),
        ("2026-01-01", "2026-01-01T00:00:00Z", 0),
        ("2026-01-02", "2026-01-02", 0),
        ("2025-12-31", "2025-12-31", 0),
    ] {
        let found = search(json!({ "query": "tram", "since": since, "until": until })).await;
        assert_eq!(found.as_array().unwrap().len(), count, "{since} {until}");
    }
    for (limit, more) in [(1, json!(true)), (2, Value::Null)] {
        let arguments = json!({ "query": "tram", "limit": limit });
        let answer = desk.call_ok("reasoning_search", arguments).await;
        assert_eq!(answer["results"].as_array().unwrap().len(), limit);
        assert_eq!(answer["more"], more);
    }
    assert_eq!(search(json!({ "query": "OR \"* NEAR(" })).await, json!([]));
    for (arguments, code) in [
        (json!({ "query": " " }), "Validation"),
        (json!({ "query": "x", "since": "yesterday" }), "Validation"),
        (
            json!({ "query": "x", "session_id": "no" }),
            "SessionNotFound",
        ),
    ] {
        assert_eq!(
            desk.call_err("reasoning_search", arguments).await.code(),
            code
        );
    }
}

#[tokio::test]
async fn sessions_are_listed_renamed_and_deleted_only_when_confirmed() {
    let desk = ReasoningTestRegistry::new();
    let tree = explore_tree(&desk).await;
    let linear = desk.think_ok(json!({ "content": "one" })).await;
    let sessions = async |arguments: Value| desk.call_ok("reasoning_sessions", arguments).await;
    let list = sessions(json!({})).await;
    assert_eq!(list["sessions"][0]["session_id"], linear["session_id"]);
    assert_eq!(list["sessions"][1]["thoughts"], 3);
    let page = sessions(json!({ "limit": 1 })).await;
    assert_eq!(page["next_offset"], 1);
    let page = sessions(json!({ "limit": 1, "offset": 1 })).await;
    assert_eq!(page["sessions"][0]["session_id"], tree["session_id"]);
    assert_eq!(page.get("next_offset"), None);

    let id = &tree["session_id"];
    sessions(json!({ "action": "rename", "session_id": id, "title": " Travel " })).await;
    let delete = json!({ "action": "delete", "session_id": id });
    let asked = sessions(delete.clone()).await;
    assert_eq!(asked["deleted"], false);
    assert_eq!(asked["sessions"][0]["title"], "Travel");
    desk.call_ok(GET, json!({ "id": id })).await;
    let mut confirmed = delete;
    confirmed["confirm"] = json!(true);
    assert_eq!(sessions(confirmed.clone()).await["deleted"], true);
    desk.call_err(GET, json!({ "id": id })).await;
    desk.call_err(GET, json!({ "id": tree["thought_id"] }))
        .await;
    assert_eq!(
        desk.call_err("reasoning_sessions", confirmed).await.code(),
        "SessionNotFound"
    );
    for arguments in [
        json!({ "action": "rename", "session_id": linear["session_id"] }),
        json!({ "action": "rename", "session_id": linear["session_id"], "title": " " }),
        json!({ "action": "delete" }),
        json!({ "action": "drop" }),
    ] {
        assert_eq!(
            desk.call_err("reasoning_sessions", arguments).await.code(),
            "Validation"
        );
    }
}

#[tokio::test]
async fn usage_is_told_of_one_session_or_all() {
    let desk = ReasoningTestRegistry::new();
    let first = desk.think_ok(json!({ "content": "one" })).await;
    desk.think_ok(json!({ "content": "two" })).await;
    let sessions = async |arguments: Value| desk.call_ok("reasoning_sessions", arguments).await;
    let all = sessions(json!({ "action": "usage", "by": "session" })).await;
    assert_eq!(all["usage"]["groups"].as_array().unwrap().len(), 2, "{all}");
    assert_eq!(all["usage"]["total"]["calls"], 2);
    assert_eq!(all["usage"]["total"]["model_requests"], 2);
    let id = &first["session_id"];
    let one = sessions(json!({ "action": "usage", "session_id": id, "by": "tool" })).await;
    let group = &one["usage"]["groups"][0];
    assert_eq!(
        (&group["key"], &group["calls"]),
        (&json!("reasoning_linear"), &json!(1))
    );
    let limited = sessions(json!({ "action": "usage", "by": "session", "limit": 1 })).await;
    assert_eq!(limited["usage"]["groups"].as_array().unwrap().len(), 1);
    assert!(limited["usage"]["groups_left_out"].as_u64().unwrap() >= 1);
    let unknown = json!({ "action": "usage", "session_id": "nope" });
    let error = desk.call_err("reasoning_sessions", unknown).await;
    assert_eq!(error.code(), "SessionNotFound");
}

#[tokio::test]
async fn hostile_text_stays_in_its_step() {
    let desk = ReasoningTestRegistry::new();
    let hostile = "## Step 7\n\u{1b}[31mred\u{202e}der\n<!-- \n```rust\n# not ours";
    desk.add_session(Mode::Linear, [(hostile, hostile), ("next", "plain")])
        .await;
    let markdown = render_entity(&desk, &json!("s"), "markdown").await;
    let steps = markdown.lines().filter(|line| line.starts_with("## Step"));
    assert_eq!(steps.count(), 2, "{markdown}");
    let fences = markdown.lines().filter(|line| line.starts_with("```"));
    assert_eq!(fences.count(), 2, "{markdown}");
    let mermaid = render_entity(&desk, &json!("s"), "mermaid").await;
    for letter in ['\u{1b}', '\u{202e}'] {
        assert!(!markdown.contains(letter) && !mermaid.contains(letter));
    }
    insta::assert_snapshot!("hostile_markdown", markdown);
    let data = desk.call_ok(GET, json!({ "id": "s" })).await;
    assert_eq!(data["data"]["thoughts"][0]["content"], hostile);
}

#[tokio::test]
async fn branches_stand_below_the_one_they_grew_from() {
    let desk = ReasoningTestRegistry::new();
    desk.add_session(Mode::Tree, [("in", "out")]).await;
    let branch = |id: &str, parent: Option<&str>| {
        Change::AddBranch(Branch {
            id: id.into(),
            session_id: "s".into(),
            name: None,
            parent_id: parent.map(Into::into),
            state: BranchState::Active,
            confidence: Score::ONE,
            priority: 1,
            set_aside: false,
            created_at: timestamp(),
            updated_at: timestamp(),
            metadata: None,
        })
    };
    let changes = vec![
        branch("root", None),
        branch("a", Some("root")),
        branch("b", Some("root")),
        branch("a1", Some("a")),
        branch("b1", Some("b")),
        branch("a2", Some("a")),
        branch("other", None),
    ];
    desk.store.commit(changes).await.unwrap();
    let markdown = render_entity(&desk, &json!("s"), "markdown").await;
    let listed: Vec<_> = markdown
        .lines()
        .filter(|line| line.trim_start().starts_with("- **"))
        .map(|line| line.split("**").take(2).collect::<String>())
        .collect();
    assert_eq!(
        listed,
        [
            "- root", "  - a", "    - a1", "    - a2", "  - b", "    - b1", "- other"
        ]
    );
}
