//! Explorations that the caller brings in `reply`, so that no model is asked.

use super::*;

/// Two approaches with their relations, in one object.
fn exploration() -> Value {
    json!({
        "thought": COMPARISON,
        "approaches": [
            { "name": "Rail", "thought": "Build a tram.", "answer": "rail", "rationale": "Carries most.", "confidence_percent": 60 },
            { "name": "Bus", "thought": "Run buses.", "answer": "bus", "confidence_percent": 75 },
        ],
        "recommended": 1,
        "relations": [{ "from": 1, "to": 2, "kind": "contradicts", "reason": "same street" }],
        "confidence_percent": 70,
        "weakest_point": "land prices are guessed",
    })
}

async fn bring(registry: &ReasoningTestRegistry, reply: &Value, max_branches: usize) -> Value {
    let arguments = json!({ "content": "x", "reply": reply, "max_branches": max_branches });
    let answer = registry.call_ok(TREE, arguments).await;
    assert_eq!(registry.requests(), [], "no model is asked");
    answer
}

#[tokio::test]
async fn an_exploration_is_recorded_as_the_caller_wrote_it() {
    let desk = ReasoningTestRegistry::new();
    // An object, and the same object as text.
    for reply in [exploration(), json!(exploration().to_string())] {
        let answer = bring(&desk, &reply, 4).await;
        assert_eq!(answer["content"], COMPARISON);
        assert_eq!(answer["recommended_branch"], answer["branches"][0]["id"]);
        assert_eq!(answer["answer"], "rail");
        assert_eq!(answer["confidence"], 0.7);
        assert_eq!(answer["weakest_point"], "land prices are guessed");
        assert_eq!(answer["branches"][0]["rationale"], "Carries most.");
        assert_eq!(answer["branches"][1]["confidence"], 0.75);
        assert_eq!(answer["cross_references"][0]["reason"], "same street");
        assert_eq!(answer["reply_recorded"], true);
        let session = json!({ "session_id": answer["session_id"] });
        let list = desk.call_ok("reasoning_tree_list", session).await;
        assert_eq!(list["branches"][1]["rationale"], "Carries most.");
        assert_eq!(list["cross_references"][0]["type"], "contradicts");
    }
}

#[tokio::test]
async fn without_a_recommendation_the_most_confident_approach_is_recommended() {
    let desk = ReasoningTestRegistry::new();
    let mut reply = exploration();
    reply["recommended"] = json!("9");
    reply["relations"] = json!([
        { "from": 1, "to": 1, "kind": "supports" },
        { "from": 1, "to": 7, "kind": "supports" },
        { "from": 1, "to": 2, "kind": "hates" },
        "none",
    ]);
    let answer = bring(&desk, &reply, 4).await;
    assert_eq!(answer["recommended_branch"], answer["branches"][1]["id"]);
    assert_eq!(answer.get("cross_references"), None);
}

#[tokio::test]
async fn a_recommendation_beyond_the_number_asked_for_is_kept() {
    let desk = ReasoningTestRegistry::new();
    let mut many = exploration();
    let more = |name: &str| json!({ "name": name, "thought": name, "confidence_percent": 50 });
    many["approaches"]
        .as_array_mut()
        .unwrap()
        .extend([more("Boat"), more("Bike")]);
    many["recommended"] = json!(4);
    many["relations"] = json!([{ "from": 4, "to": 1, "kind": "extends", "reason": "r" }]);
    let answer = bring(&desk, &many, 3).await;
    assert_eq!(answer["branches_explored"], 3);
    let bike = &answer["branches"][2];
    assert_eq!(bike["name"], "Bike");
    assert_eq!(answer["recommended_branch"], bike["id"]);
    assert_eq!(answer["cross_references"][0]["from"], bike["id"]);
}

#[tokio::test]
async fn an_approach_that_cannot_be_read_keeps_its_number() {
    let desk = ReasoningTestRegistry::new();
    let mut reply = exploration();
    let unreadable = json!({ "name": "Boat", "thought": " " });
    reply["approaches"]
        .as_array_mut()
        .unwrap()
        .insert(0, unreadable);
    reply["recommended"] = json!(2);
    reply["relations"] = json!([
        { "from": 3, "to": 2, "kind": "contradicts" },
        { "from": 1, "to": 2, "kind": "supports" },
    ]);
    let answer = bring(&desk, &reply, 4).await;
    let branches = &answer["branches"];
    assert_eq!(answer["branches_explored"], 2);
    assert_eq!(branches[0]["name"], "Rail");
    assert_eq!(answer["recommended_branch"], branches[0]["id"]);
    let references = answer["cross_references"].as_array().unwrap();
    assert_eq!(references.len(), 1);
    assert_eq!(references[0]["from"], branches[1]["id"]);
    assert_eq!(references[0]["to"], branches[0]["id"]);
    let note = "could not read 1 of 3 approaches: each needs a `thought`";
    assert_eq!(answer["note"], note);
    // One that was recommended is replaced by the surest.
    reply["recommended"] = json!(1);
    let answer = bring(&desk, &reply, 4).await;
    assert_eq!(answer["recommended_branch"], answer["branches"][1]["id"]);
}

#[tokio::test]
async fn approaches_that_are_dropped_are_counted() {
    let desk = ReasoningTestRegistry::new();
    let mut reply = exploration();
    let more = json!({ "name": "Boat", "thought": "Buy a boat." });
    reply["approaches"].as_array_mut().unwrap().push(more);
    let answer = bring(&desk, &reply, 2).await;
    assert_eq!(answer["branches_explored"], 2);
    let note = "max_branches is 2, so 1 of 3 approaches were dropped";
    assert_eq!(answer["note"], note);
    assert_eq!(bring(&desk, &reply, 3).await.get("note"), None);
}

#[tokio::test]
async fn an_approach_with_code_is_one_approach() {
    let desk = ReasoningTestRegistry::new();
    let text = "Two ways.\n\n1. **Loop**: count\n```python\n# step one\nx = 1\n# step two\n```\n\n\
                2. **Recursion**: call itself\n```python\n# base\nreturn 1\n```";
    let answer = bring(&desk, &json!(text), 4).await;
    assert_eq!(answer["branches_explored"], 2);
    assert_eq!(answer["branches"][0]["name"], "Loop");
    let first = answer["branches"][0]["content"].as_str().unwrap();
    assert!(first.ends_with("# step two\n```"), "{first}");
}

#[tokio::test]
async fn a_reply_of_another_shape_is_an_error_that_names_the_fields() {
    let desk = ReasoningTestRegistry::new();
    let mut same = exploration();
    same["approaches"][1]["thought"] = json!("build a TRAM!");
    let mut one = exploration();
    one["approaches"].as_array_mut().unwrap().pop();
    for reply in [json!("Build a tram."), json!({}), json!([1]), same, one] {
        let arguments = json!({ "content": "x", "reply": reply });
        let error = desk.call_err(TREE, arguments).await;
        assert_eq!(error.code(), "Validation", "{reply}");
        let message = error.to_string();
        for name in ["reply", "`approaches`", "`recommended`", "`weakest_point`"] {
            assert!(message.contains(name), "{name}: {message}");
        }
    }
    assert_eq!(desk.requests(), []);
    desk.assert_empty().await;
}

#[tokio::test]
async fn a_reply_continues_a_branch() {
    let desk = ReasoningTestRegistry::new();
    let first = bring(&desk, &exploration(), 4).await;
    let branch = &first["recommended_branch"];
    let arguments = json!({ "content": "y", "branch_id": branch, "reply": exploration() });
    let next = desk.call_ok(TREE, arguments).await;
    assert_eq!(next["branch_id"], *branch);
    assert_eq!(next["session_id"], first["session_id"]);
    assert_eq!(desk.requests(), []);
}
