//! Callers that bring the thought in `reply`, so that no model is asked.

use deliberate_core::Mode;
use deliberate_store::EpochFilter;
use deliberate_toolkit::CallLimits;
use serde_json::{Value, json};

use super::{
    graph_fixtures::init_graph,
    test_registry::{FULL_PAGE, ReasoningTestRegistry},
};

/// A registry without a model, so that a request would suspend the call, with a session `s`.
async fn registry_with_session() -> ReasoningTestRegistry {
    let desk = ReasoningTestRegistry::without_model();
    desk.add_session(Mode::Linear, [("in 1", "out 1")]).await;
    desk
}

fn step_fields() -> Value {
    json!({ "answer": "42", "weakest_point": "the sum", "confidence_percent": 90 })
}

/// `fields` with one field more.
fn with_field(mut fields: Value, name: &str, value: Value) -> Value {
    fields[name] = value;
    fields
}

/// Asserts that a call fails with an error about `reply` that names these fields.
async fn assert_reply_refused(
    registry: &ReasoningTestRegistry,
    tool: &str,
    arguments: &Value,
    names: &[&str],
) {
    let error = registry.call_err(tool, arguments.clone()).await;
    assert_eq!(error.code(), "Validation", "{tool}: {error}");
    let issue = &error.to_json()["issues"][0];
    assert_eq!(issue["field"], "reply", "{tool}: {error}");
    for name in names {
        let text = error.to_string();
        assert!(
            text.contains(&format!("`{name}`")),
            "{tool}: {name} in {text}"
        );
    }
}

#[tokio::test]
async fn a_step_is_brought_as_text_or_as_fields() {
    let text = "6 × 7 = 42.";
    let whole = with_field(step_fields(), "thought", json!(text));
    for (reply, answer, confidence) in [
        (json!(text), Value::Null, 0.8),
        (
            json!(format!("{text}\n\n{}", step_fields())),
            json!("42"),
            0.9,
        ),
        (whole, json!("42"), 0.9),
        (
            json!({ "thought": text, "confidence": 0.75 }),
            Value::Null,
            0.75,
        ),
    ] {
        let desk = registry_with_session().await;
        let arguments = json!({ "content": "6 × 7?", "session_id": "s", "reply": reply });
        let output = desk.think_ok(arguments).await;
        assert_eq!(output["content"], text, "{reply}");
        assert_eq!(output["answer"], answer, "{reply}");
        assert_eq!(output["confidence"], confidence, "{reply}");
        assert_eq!(output["previous_thought"], "t1");
        assert_eq!(output["reply_recorded"], true);
        let thoughts = desk.thoughts().await;
        assert_eq!(thoughts[1].content, text);
        assert_eq!(thoughts[1].input.as_deref(), Some("6 × 7?"));
        assert_eq!(desk.last_record().await.spent.model_calls, 0);
    }
}

#[tokio::test]
async fn a_reply_is_used_although_there_is_a_model() {
    let desk = ReasoningTestRegistry::new();
    let output = desk
        .think_ok(json!({ "content": "x", "reply": "my own" }))
        .await;
    assert_eq!(output["content"], "my own");
    assert_eq!(output.get("model"), None);
    assert_eq!(desk.requests(), []);
    // A null is no reply.
    let output = desk
        .think_ok(json!({ "content": "x", "reply": null }))
        .await;
    assert_eq!(output["content"], "thought 1");
    assert_eq!(output.get("reply_recorded"), None);
}

#[tokio::test]
async fn a_step_of_another_shape_is_refused() {
    let desk = registry_with_session().await;
    let names = ["thought", "answer", "weakest_point", "confidence_percent"];
    for reply in [
        json!({}),
        json!({ "thought": " " }),
        json!({ "confidence_percent": 50 }),
    ] {
        let arguments = json!({ "content": "x", "session_id": "s", "reply": reply });
        assert_reply_refused(&desk, "reasoning_linear", &arguments, &names).await;
    }
    let arguments = json!({ "content": "x", "reply": " \n" });
    let error = desk.think_err(arguments).await;
    assert_eq!(error.code(), "Validation");
    assert!(error.to_string().starts_with("reply: must not be empty"));
    assert_eq!(desk.thoughts().await.len(), 1);
}

#[tokio::test]
async fn a_reply_is_as_long_as_a_content_at_most() {
    let desk = ReasoningTestRegistry::with_bounds(CallLimits {
        content_chars: 100,
        ..CallLimits::default()
    });
    let long = "x".repeat(101);
    for reply in [json!(long), json!({ "thought": long })] {
        let error = desk
            .think_err(json!({ "content": "x", "reply": reply }))
            .await;
        assert_eq!(error.code(), "Validation");
        let text = error.to_string();
        assert!(text.starts_with("reply: must have at most 100"), "{text}");
    }
    desk.assert_empty().await;
}

#[tokio::test]
async fn tools_and_a_reply_exclude_each_other() {
    let desk = ReasoningTestRegistry::new();
    let graph = init_graph(&desk, json!({})).await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let tools = json!(["reasoning_sessions"]);
    for (tool, arguments) in [
        (
            "reasoning_linear",
            json!({ "content": "x", "reply": "so", "tools": tools }),
        ),
        (
            "reasoning_got_generate",
            json!({ "graph_id": id, "node_id": root, "reply": "so", "tools": tools }),
        ),
    ] {
        let error = desk.call_err(tool, arguments).await;
        assert_eq!(error.code(), "Validation", "{tool}");
        let text = error.to_string();
        assert!(
            text.starts_with("tools: cannot be combined with reply"),
            "{tool}: {text}"
        );
    }
    assert_eq!(desk.requests(), []);
    // No tools at all are no conflict.
    desk.think_ok(json!({ "content": "x", "reply": "so", "tools": [] }))
        .await;
    assert_eq!(desk.requests(), []);
}

#[tokio::test]
async fn a_direction_is_brought_as_text_or_as_fields() {
    let text = "The other way leads to 42.";
    let whole = with_field(step_fields(), "thought", json!(text));
    for (reply, answer) in [(json!(text), Value::Null), (whole, json!("42"))] {
        let desk = registry_with_session().await;
        let create = json!({ "session_id": "s", "name": "here" });
        let place = desk.call_ok("reasoning_checkpoint_create", create).await;
        let turn = json!({
            "checkpoint_id": place["checkpoint_id"], "new_direction": "elsewhere", "reply": reply,
        });
        let turned = desk.call_ok("reasoning_backtrack", turn).await;
        assert_eq!(turned["content"], text);
        assert_eq!(turned["answer"], answer);
        let thought = desk.thoughts().await.pop().unwrap();
        assert_eq!(json!(thought.branch_id), turned["new_branch_id"]);
        assert_eq!(thought.parent_id, Some("t1".into()));
    }
}

#[tokio::test]
async fn a_return_without_a_direction_takes_no_reply() {
    let desk = registry_with_session().await;
    let create = json!({ "session_id": "s", "name": "here" });
    let place = desk.call_ok("reasoning_checkpoint_create", create).await;
    desk.think_ok(json!({ "content": "on", "session_id": "s", "reply": "further" }))
        .await;
    let mut turn = json!({ "checkpoint_id": place["checkpoint_id"], "reply": "so" });
    let error = desk.call_err("reasoning_backtrack", turn.clone()).await;
    assert_eq!(error.code(), "Validation");
    assert!(error.to_string().contains("needs new_direction"), "{error}");
    turn["new_direction"] = json!("elsewhere");
    turn["reply"] = json!({ "confidence_percent": 50 });
    assert_reply_refused(&desk, "reasoning_backtrack", &turn, &["thought", "answer"]).await;
    // Nothing was set aside.
    let session = "s".into();
    let current = desk
        .store
        .thoughts(&session, EpochFilter::Current, FULL_PAGE);
    assert_eq!(current.await.unwrap().len(), 2);
}

fn perspectives() -> Value {
    json!([
        { "viewpoint": "a gardener", "content": "It grows.", "novelty_percent": 40 },
        { "viewpoint": "a child", "content": "It is a ship.", "novelty_percent": 80 },
        { "content": "It rots." },
    ])
}

#[tokio::test]
async fn perspectives_and_synthesis_are_brought_together() {
    let synthesis = "All of them sit on it.";
    let fields = with_field(step_fields(), "perspectives", perspectives());
    for (reply, what) in [
        (
            with_field(fields.clone(), "synthesis", json!(synthesis)),
            "an object",
        ),
        (
            json!(format!("{synthesis}\n\n{fields}")),
            "the synthesis as text, and an object",
        ),
    ] {
        let desk = registry_with_session().await;
        let mut arguments = json!({ "content": "A bench", "session_id": "s", "reply": reply });
        let output = desk.call_ok("reasoning_divergent", arguments.clone()).await;
        assert_eq!(output["synthesis"], synthesis, "{what}");
        assert_eq!(output["answer"], "42", "{what}");
        assert_eq!(output["most_novel"], output["perspectives"][1]["id"]);
        assert_eq!(output["perspectives"][2]["viewpoint"], "It rots.");
        assert_eq!(output.get("perspectives_missing"), None);
        assert_eq!(desk.thoughts().await.len(), 5, "{what}");
        // More than asked for are cut off; fewer are said to be missing.
        arguments["num_perspectives"] = json!(2);
        let output = desk.call_ok("reasoning_divergent", arguments.clone()).await;
        assert_eq!(output["perspectives"].as_array().unwrap().len(), 2);
        arguments["num_perspectives"] = json!(5);
        let output = desk.call_ok("reasoning_divergent", arguments).await;
        assert_eq!(output["perspectives_missing"], 2);
    }
}

#[tokio::test]
async fn perspectives_of_another_shape_are_refused() {
    let desk = registry_with_session().await;
    for reply in [
        json!("All of them sit on it."),
        json!({ "perspectives": perspectives() }),
        json!({ "synthesis": "together" }),
        json!({ "synthesis": "together", "perspectives": [{ "content": "One." }, { "content": "one" }] }),
        json!({ "synthesis": "together", "perspectives": [{ "viewpoint": "a" }, { "viewpoint": "b" }] }),
    ] {
        let arguments = json!({ "content": "A bench", "reply": reply });
        let names = ["synthesis", "perspectives"];
        assert_reply_refused(&desk, "reasoning_divergent", &arguments, &names).await;
    }
    assert_eq!(desk.thoughts().await.len(), 1);
}

fn reflection_fields() -> Value {
    json!({
        "strengths": ["short"], "weaknesses": ["wrong"], "recommendations": [],
        "reaches_result": true, "quality_percent": 30, "answer": "42", "weakest_point": "w",
        "confidence_percent": 90,
    })
}

#[tokio::test]
async fn a_check_is_brought_with_its_revision_and_not_compared() {
    let text = format!(
        "5 is wrong.\n\n## Revised\n\nIt is 42.\n\n{}",
        reflection_fields()
    );
    let mut object = with_field(reflection_fields(), "analysis", json!("5 is wrong."));
    object["improved_reasoning"] = json!("It is 42.");
    object["improved_quality_percent"] = json!(95);
    for (reply, quality_after) in [(json!(text), Value::Null), (object, json!(0.95))] {
        let desk = registry_with_session().await;
        let arguments = json!({ "thought_id": "t1", "max_iterations": 5, "reply": reply });
        let output = desk.call_ok("reasoning_reflection", arguments).await;
        assert_eq!(output["content"], "5 is wrong.");
        assert_eq!(output["improved_reasoning"], "It is 42.");
        assert_eq!(output["answer"], "42");
        assert_eq!(output["quality_before"], 0.3);
        assert_eq!(output["quality_after"], quality_after);
        assert_eq!(output["iterations"], 1);
        assert_eq!(output.get("note"), None);
        let thoughts = desk.thoughts().await;
        assert_eq!(thoughts.len(), 3);
        assert_eq!(thoughts[2].content, "It is 42.");
    }
    // The same text is no revision.
    let desk = registry_with_session().await;
    let reply = format!("Right.\n\n## Revised\n\nOut 1.\n\n{}", reflection_fields());
    let arguments = json!({ "thought_id": "t1", "reply": reply });
    let output = desk.call_ok("reasoning_reflection", arguments).await;
    assert_eq!(output["improved_reasoning"], Value::Null);
}

#[tokio::test]
async fn a_revision_that_names_no_answer_keeps_the_earlier_one() {
    for (answer, kept) in [
        (None, json!("42")),
        // The revision says that there is no result.
        (Some(Value::Null), Value::Null),
        (Some(json!("43")), json!("43")),
    ] {
        let desk = ReasoningTestRegistry::without_model();
        let reply = with_field(step_fields(), "thought", json!("It is 42."));
        let arguments = json!({ "content": "6 × 7?", "reply": reply });
        let first = desk.think_ok(arguments).await;
        let mut reply = json!({
            "analysis": "Too short.", "improved_reasoning": "Six sevens are 42.",
        });
        if let Some(answer) = answer {
            reply["answer"] = answer;
        }
        let arguments = json!({ "thought_id": first["thought_id"], "reply": reply });
        let output = desk.call_ok("reasoning_reflection", arguments).await;
        assert_eq!(output["answer"], kept);
        let thoughts = desk.thoughts().await;
        assert_eq!(thoughts[2].content, "Six sevens are 42.");
        for thought in &thoughts[1..] {
            let stored = thought.metadata.as_ref().unwrap().get("answer");
            assert_eq!(stored.cloned().unwrap_or_default(), kept);
        }
    }
}

#[tokio::test]
async fn a_text_is_found_under_any_name_and_a_judgment_may_be_text_alone() {
    let desk = registry_with_session().await;
    for reply in [
        json!({ "reasoning": "7 × 13", "answer": "no" }),
        json!({ "steps": ["7 × 13"], "answer": "no" }),
    ] {
        let arguments = json!({ "content": "Is 91 a prime?", "reply": reply });
        let output = desk.think_ok(arguments).await;
        assert_eq!(output["content"], "7 × 13", "{reply}");
        assert_eq!(output["answer"], "no");
    }
    for (tool, field) in [
        ("reasoning_reflection", "content"),
        ("reasoning_reflection_evaluate", "assessment"),
    ] {
        for reply in [json!("It is fine."), json!({ "judgment": "It is fine." })] {
            let arguments = json!({ "session_id": "s", "reply": reply });
            let output = desk.call_ok(tool, arguments).await;
            assert_eq!(output[field], "It is fine.", "{tool} {reply}");
        }
    }
}

#[tokio::test]
async fn approaches_and_perspectives_are_brought_as_a_list_in_plain_text() {
    let desk = registry_with_session().await;
    let text = "Two ways.\n\n1. **Tram**: build one\n   along the river\n2. **Bus**: buy ten";
    let arguments = json!({ "content": "How to get there?", "reply": text });
    let tree = desk.call_ok("reasoning_tree", arguments).await;
    assert_eq!(tree["content"], "Two ways.");
    assert_eq!(tree["branches"][1]["name"], "Bus");
    let text = "## A child\nIt is a ship.\n## A judge\nIt is a bench.\n## Synthesis\nBoth sit.";
    let arguments = json!({ "content": "A bench", "reply": text });
    let views = desk.call_ok("reasoning_divergent", arguments).await;
    assert_eq!(views["synthesis"], "Synthesis\nBoth sit.");
    assert_eq!(views["perspectives"][0]["viewpoint"], "A child");
    // A text without a list says nothing of several approaches.
    let arguments = json!({ "content": "x", "reply": "Only one way." });
    let error = desk.call_err("reasoning_tree", arguments).await.to_string();
    assert!(error.contains("approaches"), "{error}");
}

#[tokio::test]
async fn judgments_of_another_shape_are_refused() {
    let desk = registry_with_session().await;
    for (tool, text_field) in [
        ("reasoning_reflection", "analysis"),
        ("reasoning_reflection_evaluate", "assessment"),
    ] {
        for reply in [json!({}), json!({ "quality_percent": 50 })] {
            let arguments = json!({ "session_id": "s", "reply": reply });
            let names = [text_field, "strengths", "quality_percent"];
            assert_reply_refused(&desk, tool, &arguments, &names).await;
        }
    }
    assert_eq!(desk.thoughts().await.len(), 1);
}

#[tokio::test]
async fn an_evaluation_is_brought_as_text_with_fields_or_as_an_object() {
    let fields = json!({
        "strengths": ["clear"], "weaknesses": [], "recommendations": [], "coherence_percent": 90,
        "quality_percent": 70, "confidence_percent": 60,
    });
    for reply in [
        json!(format!("It holds.\n\n{fields}")),
        with_field(fields, "assessment", json!("It holds.")),
    ] {
        let desk = registry_with_session().await;
        let arguments = json!({ "session_id": "s", "reply": reply });
        let output = desk
            .call_ok("reasoning_reflection_evaluate", arguments)
            .await;
        assert_eq!(output["assessment"], "It holds.");
        // The computed half of the score does not come from the caller.
        assert_eq!(output["coherence_score"], 0.95);
        assert_eq!(output["total_thoughts"], 1);
        assert_eq!(desk.thoughts().await.len(), 1);
    }
}
