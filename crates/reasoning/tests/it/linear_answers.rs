//! `reasoning_linear`: answers in the forms that real models give.

use deliberate_core::Score;
use serde_json::{Value, json};

use super::test_registry::{
    ReasoningTestRegistry, step_json, step_text, text_reply, truncated_reply,
};

/// The answer and the stored confidence of a step to which the model replies `reply`.
async fn think_with_reply(reply: &str) -> (Value, Score) {
    let desk = ReasoningTestRegistry::new();
    desk.script_replies([text_reply(reply)]);
    let output = desk.think_ok(json!({ "content": "x" })).await;
    assert_eq!(desk.requests().len(), 1, "asked once for {reply}");
    let thought = desk.only_thought().await;
    assert_eq!(output["content"], thought.content.as_str());
    assert_eq!(output["confidence"], json!(thought.confidence));
    (output["content"].clone(), thought.confidence)
}

#[tokio::test]
async fn plain_text_is_the_thought_at_the_documented_confidence() {
    for text in [
        "It follows that x = 3.",
        "  思考。\n\nДа.  ",
        "[1] shows it, {roughly}.",
    ] {
        // The fields are asked for once; a model that can't give them has thought all the same.
        for fields in ["no", "{}"] {
            let desk = ReasoningTestRegistry::new();
            desk.script_replies([text_reply(text), text_reply(fields)]);
            let output = desk.think_ok(json!({ "content": "x" })).await;
            assert_eq!(desk.requests().len(), 2);
            assert_eq!(desk.last_request().key, "linear/fields");
            let thought = desk.only_thought().await;
            assert_eq!(thought.content, text.trim());
            assert_eq!(thought.confidence, Score::DEFAULT_CONFIDENCE);
            assert_eq!(output["answer"], Value::Null);
        }
    }
}

#[tokio::test]
async fn the_text_is_the_thought_and_the_fields_follow_it() {
    for (answer, wanted) in [
        (json!("42"), json!("42")),
        (json!(42), json!("42")),
        (json!(["a", 7]), json!("a, 7")),
        (json!(null), json!(null)),
        (json!(" n/a "), json!(null)),
        (json!("-"), json!(null)),
        // Words for nothing are the right answer to some questions.
        (json!("None."), json!("None.")),
        (json!("unknown"), json!("unknown")),
    ] {
        let fields = json!({
            "answer": answer, "weakest_point": "none", "confidence_percent": 90,
        });
        let desk = ReasoningTestRegistry::new();
        desk.script_replies([text_reply(&format!("6 × 7 = 42.\n\n{fields}"))]);
        let output = desk.think_ok(json!({ "content": "x" })).await;
        assert_eq!(output["content"], "6 × 7 = 42.");
        assert_eq!(output["answer"], wanted, "{answer}");
        // A step that has concluded nothing yet is at most half sure.
        let confidence = if wanted.is_null() { 0.5 } else { 0.9 };
        assert_eq!(output["confidence"], confidence, "{answer}");
        assert_eq!(
            desk.only_thought().await.confidence,
            Score::clamped(confidence)
        );
        // A model that names no weakness has named none.
        assert_eq!(output.get("weakest_point"), None);
        assert_eq!(desk.requests().len(), 1);
    }
}

#[tokio::test]
async fn the_object_is_found_in_whatever_stands_around_it() {
    let plain = step_json("the thought");
    for text in [
        plain.clone(),
        format!("```json\n{plain}\n```"),
        format!("```\n{plain}\n```\n"),
        format!("Sure, here is the next step:\n\n{plain}\n\nLet me know!"),
        format!("<think>hmm {{}}</think>{plain}"),
        format!("[{plain}]"),
        plain.replace('}', ",}"),
    ] {
        let (content, confidence) = think_with_reply(&text).await;
        assert_eq!(
            (content, confidence.get()),
            (json!("the thought"), 0.7),
            "{text}"
        );
    }
}

#[tokio::test]
async fn confidence_is_read_as_models_write_it() {
    for (written, wanted) in [
        (json!(85), 0.85),
        (json!(0.85), 0.85),
        (json!("85%"), 0.85),
        (json!("85"), 0.85),
        (json!(76.8), 0.77),
        (json!(0), 0.0),
        (json!(100), 1.0),
        (json!(104), 1.0),
        (json!(-3), 0.0),
        (json!(1e308), 1.0),
        (json!(null), 0.8),
        (json!("very sure"), 0.8),
        (json!({ "value": 90 }), 0.8),
    ] {
        let reply = json!({ "thought": "t", "confidence_percent": written }).to_string();
        let (_, confidence) = think_with_reply(&reply).await;
        assert!(
            (confidence.get() - wanted).abs() < 1e-9,
            "{written}: {confidence:?}"
        );
    }
    let (_, confidence) = think_with_reply(r#"{"thought": "t"}"#).await;
    assert_eq!(confidence, Score::DEFAULT_CONFIDENCE);
}

#[tokio::test]
async fn answers_in_the_form_of_the_originals_pipes_are_understood() {
    for (written, wanted) in [
        (json!(0.85), 0.85),
        (json!(85), 0.85),
        (json!("85%"), 0.85),
        (json!(76.8), 0.77),
        (json!(-3), 0.0),
        (json!(1e308), 1.0),
        (json!(1), 1.0),
    ] {
        let reply = json!({ "thought": "t", "confidence": written, "metadata": {} }).to_string();
        let (_, confidence) = think_with_reply(&reply).await;
        assert!(
            (confidence.get() - wanted).abs() < 1e-9,
            "{written}: {confidence:?}"
        );
    }
    let desk = ReasoningTestRegistry::new();
    desk.script_replies([text_reply(
        r#"{"thought": "t", "confidence": 0.5, "metadata": {"k": [1]}}"#,
    )]);
    desk.think_ok(json!({ "content": "x" })).await;
    assert_eq!(
        desk.only_thought().await.metadata,
        Some(json!({ "model": { "k": [1] } }))
    );
}

#[tokio::test]
async fn an_unusable_answer_is_asked_for_once_more() {
    for bad in [
        text_reply(""),
        text_reply(" \n "),
        text_reply("{}"),
        text_reply(r#"{"thought": ""}"#),
        text_reply(r#"{"thought": "   "}"#),
        text_reply(r#"{"thou"#),
        text_reply("```json\n{"),
        truncated_reply(r#"{"confidence_percent": 50, "#),
        text_reply("<think>only thinking</think>"),
    ] {
        let desk = ReasoningTestRegistry::new();
        desk.script_replies([bad.clone(), text_reply(&step_json("better"))]);
        let output = desk.think_ok(json!({ "content": "x" })).await;
        assert_eq!(output["content"], "better", "{bad:?}");
        assert_eq!(desk.requests().len(), 2, "{bad:?}");
        let complaint = desk.last_request().messages.pop().unwrap().text;
        assert!(
            complaint.starts_with("Your last answer can't be used: "),
            "{complaint}"
        );
        assert_eq!(desk.only_thought().await.content, "better");
        assert_eq!(desk.last_record().await.spent.model_calls, 2);
    }
}

#[tokio::test]
async fn a_model_that_gives_only_fields_is_asked_anew_for_the_work() {
    for bare in [
        r#"{"thought": null, "confidence_percent": 50}"#,
        r#"{"confidence_percent": 50}"#,
        r#"{"answer": null, "weakest_point": "all of it", "confidence_percent": 50}"#,
    ] {
        let desk = ReasoningTestRegistry::new();
        desk.script_replies([text_reply(bare), text_reply(&step_json("better"))]);
        let output = desk.think_ok(json!({ "content": "x" })).await;
        assert_eq!(output["content"], "better", "{bare}");
        // It does not see its first reply, which it would only repeat.
        let ask = desk.last_request();
        assert_eq!(ask.messages.len(), 1, "{bare}");
        let ask = &ask.messages[0].text;
        assert!(ask.contains("Begin with the work in plain text"), "{ask}");
        assert_eq!(desk.last_record().await.spent.model_calls, 2);
    }
}

#[tokio::test]
async fn an_answer_that_stays_unusable_is_an_error_and_nothing_is_stored() {
    for bad in ["", "{}", r#"{"thought": "  "}"#, r#"{"thou"#] {
        let desk = ReasoningTestRegistry::new();
        desk.script_replies([text_reply(bad), text_reply(bad)]);
        let error = desk.think_err(json!({ "content": "x" })).await;
        assert_eq!(error.code(), "InvalidResponse", "{bad:?}");
        assert_eq!(desk.requests().len(), 2, "{bad:?}");
        desk.assert_empty().await;
        let record = desk.last_record().await;
        assert!(!record.success);
        assert_eq!(record.output, Some(json!({ "unusable_answer": bad })));
        assert_eq!(record.spent.model_calls, 2);
    }
}

#[tokio::test]
async fn half_an_object_is_asked_for_again_with_more_room_and_never_stored() {
    for cut in [
        truncated_reply(r#"{"thought": "half a sen"#),
        text_reply(r#"{"thought": "half a sen"#),
        truncated_reply(r#"{"confidence_percent": 5"#),
    ] {
        let desk = ReasoningTestRegistry::new();
        desk.script_replies([cut.clone(), text_reply(&step_json("whole"))]);
        let output = desk.think_ok(json!({ "content": "x" })).await;
        assert_eq!(output["content"], "whole", "{cut:?}");
        let requests = desk.requests();
        assert_eq!(requests.len(), 2, "{cut:?}");
        let is_cut = cut.finish_reason == deliberate_llm::FinishReason::Length;
        assert_eq!(requests[1].max_tokens > requests[0].max_tokens, is_cut);

        let desk = ReasoningTestRegistry::new();
        desk.script_replies([cut.clone(), cut.clone()]);
        let error = desk.think_err(json!({ "content": "x" })).await;
        assert_eq!(error.code(), "InvalidResponse", "{cut:?}");
        desk.assert_empty().await;
    }
}

#[tokio::test]
async fn a_thought_that_reached_the_token_limit_is_continued() {
    let desk = ReasoningTestRegistry::new();
    desk.script_replies([
        truncated_reply("half a sen"),
        text_reply(&step_text("tence, and its end.")),
    ]);
    desk.think_ok(json!({ "content": "x" })).await;
    let thought = desk.only_thought().await;
    assert_eq!(thought.content, "half a sentence, and its end.");
    assert_eq!(desk.last_record().await.spent.model_calls, 2);
}

#[tokio::test]
async fn a_thought_that_stays_cut_is_stored_with_a_note() {
    let desk = ReasoningTestRegistry::new();
    desk.script_replies([
        truncated_reply("half a "),
        truncated_reply("sentence, and "),
        truncated_reply("no"),
        text_reply(r#"{"answer": "7", "confidence_percent": 50}"#),
    ]);
    let output = desk.think_ok(json!({ "content": "x" })).await;
    assert_eq!(output["content"], "half a sentence, and no");
    let note = output["note"].as_str().unwrap();
    assert!(note.contains("stopped by its length limit"), "{note}");
    let whole = desk.think_ok(json!({ "content": "x" })).await;
    assert_eq!(whole.get("note"), None);
}

#[tokio::test]
async fn native_reasoning_becomes_the_thought_of_bare_fields() {
    let desk = ReasoningTestRegistry::new();
    desk.script_replies([deliberate_llm::ModelReply {
        reasoning: "Six sevens are forty-two.".to_owned(),
        ..text_reply(r#"{"answer": "42", "weakest_point": "none", "confidence_percent": 90}"#)
    }]);
    let output = desk.think_ok(json!({ "content": "x" })).await;
    assert_eq!(output["content"], "Six sevens are forty-two.");
    assert_eq!(output["answer"], "42");
}

#[tokio::test]
async fn the_callers_threshold_never_changes_what_is_stored() {
    let reply = json!({
        "thought": "t", "confidence_percent": 44, "weakest_point": "the sample is small",
    });
    for (threshold, below) in [
        (Value::Null, None),
        (json!(0.0), None),
        (json!(0.44), None),
        (json!(0.45), Some(true)),
        (json!(1.0), Some(true)),
    ] {
        let desk = ReasoningTestRegistry::new();
        desk.script_replies([text_reply(&reply.to_string())]);
        let output = desk
            .think_ok(json!({ "content": "x", "confidence": threshold }))
            .await;
        assert_eq!(output["confidence"], 0.44);
        assert_eq!(
            output.get("below_threshold").and_then(Value::as_bool),
            below
        );
        assert_eq!(output["weakest_point"], "the sample is small");
        let thought = desk.only_thought().await;
        assert_eq!(thought.confidence, Score::new(0.44).unwrap());
        assert_eq!(
            thought.metadata,
            Some(json!({ "weakest_point": "the sample is small" }))
        );
    }
}
