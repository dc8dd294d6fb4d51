//! Tests of typed answers.

use deliberate_llm::{
    ChatMessage, FinishReason, ModelError, ModelReply, StructuredError, StructuredOutput,
    TokenUsage, ask_structured,
};

use crate::support::{
    ScriptedModel, ThoughtAnswer, far_deadline, from_plain, plain_request, reply, thought_answer,
    thought_request,
};

async fn ask_script(
    script: &ScriptedModel,
) -> Result<StructuredOutput<ThoughtAnswer>, StructuredError> {
    ask_structured(script, thought_request(), None, far_deadline()).await
}

async fn ask_script_plain(
    script: &ScriptedModel,
) -> Result<StructuredOutput<ThoughtAnswer>, StructuredError> {
    ask_structured(script, plain_request(), Some(from_plain), far_deadline()).await
}

#[tokio::test]
async fn an_answer_is_read_and_fitted() {
    let texts = [
        r#"{"thought": "42", "confidence": 90}"#,
        "```json\n{\"thought\": \"42\", \"confidence\": \"90\"}\n```",
        r#"Sure! {"thought": 42, "confidence": 90.2, "more": [1]} Anything else?"#,
        r#"[{"thought": "42", "confidence": "90%", "tags": null}]"#,
    ];
    for text in texts {
        let script = ScriptedModel::with_texts(&[text]);
        let answer = ask_script(&script).await.unwrap();
        assert_eq!(answer.value, thought_answer("42", 90), "{text}");
        assert_eq!(answer.replies, [reply(text)]);
        assert_eq!(script.requests(), [thought_request()]);
    }
    let script =
        ScriptedModel::with_texts(&[r#"{"thought": "x", "confidence": 250, "tags": "a"}"#]);
    let answer = ask_script(&script).await.unwrap();
    assert_eq!(answer.value.confidence, 100);
    assert_eq!(answer.value.tags, ["a"]);
}

#[tokio::test]
async fn a_wrong_value_is_quoted_only_in_part() {
    let text = format!(
        r#"{{"thought": "42", "confidence": "{}"}}"#,
        "x".repeat(10_000)
    );
    let script = ScriptedModel::with_texts(&[&text, &text]);
    let failed = ask_script(&script).await.unwrap_err();
    let reason = failed.error.to_string();
    assert!(reason.chars().count() < 1_000, "{}", reason.len());
}

#[tokio::test]
async fn a_bad_answer_is_asked_for_once_more() {
    let script = ScriptedModel::with_texts(&[
        r#"{"thought": "42"}"#,
        r#"{"thought": "42", "confidence": 90}"#,
    ]);
    let answer = ask_script(&script).await.unwrap();
    assert_eq!(answer.value, thought_answer("42", 90));
    assert_eq!(answer.replies.len(), 2);

    let asks = script.requests();
    assert_eq!(asks[1].key, "step/again");
    assert_eq!(asks[1].messages.len(), 3);
    assert_eq!(
        asks[1].messages[1],
        ChatMessage::assistant(r#"{"thought": "42"}"#)
    );
    insta::assert_snapshot!(
        asks[1].messages[2].text,
        @r#"Your last answer can't be used: the answer: "confidence" is a required property. Answer again with exactly one JSON object that fits the schema, and nothing else: no fences, no words around it."#
    );
}

#[tokio::test]
async fn what_is_wrong_is_said_by_field() {
    let script = ScriptedModel::with_texts(&[
        r#"{"thought": {"text": "42"}, "confidence": "high"}"#,
        "No.",
    ]);
    let failed = ask_script(&script).await.unwrap_err();
    let complaint = &script.requests()[1].messages[2].text;
    assert!(complaint.contains("field `thought`"), "{complaint}");
    assert!(complaint.contains("field `confidence`"), "{complaint}");
    assert_eq!(
        failed.error,
        ModelError::InvalidResponse {
            provider: "scripted".to_owned(),
            reason: "there is no JSON object in it".to_owned(),
            answer: "No.".to_owned(),
        }
    );
    assert_eq!(failed.replies.len(), 2);
}

#[tokio::test]
async fn an_empty_answer_is_never_an_answer() {
    for empty in [
        "",
        "  \n",
        "<think>hm</think>",
        r#"{"thought": "", "confidence": 9}"#,
        "{}",
    ] {
        let script = ScriptedModel::with_texts(&[empty, empty]);
        let failed = ask_script_plain(&script).await.unwrap_err();
        assert_eq!(failed.error.code(), "InvalidResponse", "{empty}");
        // Some providers reject an empty message, so it is not quoted.
        let messages = script.requests()[1].messages.len();
        assert_eq!(messages, if empty.trim().is_empty() { 2 } else { 3 });
    }
}

#[tokio::test]
async fn plain_text_is_the_answer_where_the_ask_says_so() {
    for (text, expected) in [
        ("It is 42.", "It is 42."),
        ("  42\n", "42"),
        ("\"It is 42.\"", "It is 42."),
        (
            "<think>6 × 7…</think>\nIt is 42, see [1].",
            "It is 42, see [1].",
        ),
        (
            "The set {x} has one element.",
            "The set {x} has one element.",
        ),
    ] {
        let script = ScriptedModel::with_texts(&[text]);
        let answer = ask_script_plain(&script).await.unwrap();
        assert_eq!(answer.value, from_plain(expected.to_owned()));
    }
    // Without that option, the same text leads to a second request.
    let script = ScriptedModel::with_texts(&["It is 42.", "It is 42."]);
    assert!(
        ask_structured(
            &*script,
            thought_request(),
            Some(from_plain),
            far_deadline()
        )
        .await
        .is_err()
    );
    assert_eq!(script.requests().len(), 2);
}

#[tokio::test]
async fn broken_json_is_not_plain_text() {
    for broken in ["{thought: 42", "```\nfoo\n```", "[{\"oh"] {
        let script = ScriptedModel::with_texts(&[broken, r#"{"thought": "42", "confidence": 1}"#]);
        let answer = ask_script_plain(&script).await.unwrap();
        assert_eq!(answer.value, thought_answer("42", 1), "{broken}");
        assert_eq!(answer.replies.len(), 2);
    }
}

#[tokio::test]
async fn a_cut_answer_is_asked_for_again_with_more_room() {
    let cut = ModelReply {
        text: r#"{"thought": "42", "confidence": 9"#.to_owned(),
        finish_reason: FinishReason::Length,
        ..ModelReply::default()
    };
    let script = ScriptedModel::with_results([
        Ok(cut.clone()),
        Ok(reply(r#"{"thought": "42", "confidence": 95}"#)),
    ]);
    let answer = ask_script(&script).await.unwrap();
    assert_eq!(answer.value, thought_answer("42", 95));
    let again = &script.requests()[1];
    let complaint = &again.messages[2].text;
    assert!(complaint.contains("twice the room"), "{complaint}");
    assert_eq!(again.max_tokens, 2 * thought_request().max_tokens);

    // Its complete part is enough; half a string is not.
    let script = ScriptedModel::with_results([Ok(ModelReply {
        text: r#"{"confidence": 95, "thought": "it is forty", "more": "#.to_owned(),
        ..cut.clone()
    })]);
    assert_eq!(
        ask_script(&script).await.unwrap().value,
        thought_answer("it is forty", 95)
    );
    let half = ModelReply {
        text: r#"{"confidence": 95, "thought": "it is fort"#.to_owned(),
        ..cut
    };
    let script = ScriptedModel::with_results([Ok(half.clone()), Ok(half)]);
    let failed = ask_script(&script).await.unwrap_err();
    assert_eq!(failed.error.code(), "InvalidResponse");
}

#[tokio::test]
async fn a_refusal_is_not_asked_again() {
    let refusal = ModelReply {
        text: "I can't help with that.".to_owned(),
        finish_reason: FinishReason::Refusal,
        ..ModelReply::default()
    };
    let script = ScriptedModel::with_results([Ok(refusal.clone())]);
    let failed = ask_script_plain(&script).await.unwrap_err();
    assert_eq!(
        failed.error,
        ModelError::InvalidResponse {
            provider: "scripted".to_owned(),
            reason: "the model refused to answer".to_owned(),
            answer: refusal.text.clone(),
        }
    );
    assert_eq!(failed.replies, [refusal]);
}

#[tokio::test]
async fn errors_pass_and_what_was_paid_is_kept() {
    let script = ScriptedModel::with_results([Err(ModelError::Pending)]);
    let failed = ask_script(&script).await.unwrap_err();
    assert_eq!(failed.error, ModelError::Pending);
    assert_eq!(failed.replies, []);

    let paid = ModelReply {
        text: "hm".to_owned(),
        usage: TokenUsage {
            prompt_tokens: 3,
            completion_tokens: 1,
            cost_usd: None,
        },
        ..ModelReply::default()
    };
    let script = ScriptedModel::with_results([Ok(paid.clone()), Err(ModelError::Pending)]);
    let failed = ask_script(&script).await.unwrap_err();
    assert_eq!(failed.error, ModelError::Pending);
    assert_eq!(failed.replies, [paid]);
}

#[tokio::test]
async fn long_bad_answers_are_shown_in_part() {
    let long = "ü".repeat(50_000);
    let script = ScriptedModel::with_texts(&[&long, &long]);
    let failed = ask_script(&script).await.unwrap_err();
    let shown = &script.requests()[1].messages[1].text;
    assert_eq!(shown.chars().count(), 2_001);
    let ModelError::InvalidResponse { answer, .. } = failed.error else {
        panic!("{}", failed.error);
    };
    assert_eq!(answer.chars().count(), 2_001);
}
