//! Typed answers.

use deliberate_thinker::{Answer, Failed, Finish, Message, Reply, ThinkError, Usage, ask_for};

use crate::support::{Script, Step, ask, from_plain, later, plain_ask, reply, step};

async fn asked(script: &Script) -> Result<Answer<Step>, Failed> {
    ask_for(script, ask(), None, later()).await
}

async fn asked_plainly(script: &Script) -> Result<Answer<Step>, Failed> {
    ask_for(script, plain_ask(), Some(from_plain), later()).await
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
        let script = Script::saying(&[text]);
        let answer = asked(&script).await.unwrap();
        assert_eq!(answer.value, step("42", 90), "{text}");
        assert_eq!(answer.replies, [reply(text)]);
        assert_eq!(script.asked(), [ask()]);
    }
    let script = Script::saying(&[r#"{"thought": "x", "confidence": 250, "tags": "a"}"#]);
    let answer = asked(&script).await.unwrap();
    assert_eq!(answer.value.confidence, 100);
    assert_eq!(answer.value.tags, ["a"]);
}

#[tokio::test]
async fn a_bad_answer_is_asked_for_once_more() {
    let script = Script::saying(&[
        r#"{"thought": "42"}"#,
        r#"{"thought": "42", "confidence": 90}"#,
    ]);
    let answer = asked(&script).await.unwrap();
    assert_eq!(answer.value, step("42", 90));
    assert_eq!(answer.replies.len(), 2);

    let asks = script.asked();
    assert_eq!(asks[1].key, "step/again");
    assert_eq!(asks[1].messages.len(), 3);
    assert_eq!(
        asks[1].messages[1],
        Message::assistant(r#"{"thought": "42"}"#)
    );
    insta::assert_snapshot!(
        asks[1].messages[2].text,
        @r#"Your last answer can't be used: the answer: "confidence" is a required property. Answer again with exactly one JSON object that fits the schema, and nothing else: no fences, no words around it."#
    );
}

#[tokio::test]
async fn what_is_wrong_is_said_by_field() {
    let script = Script::saying(&[
        r#"{"thought": {"text": "42"}, "confidence": "high"}"#,
        "No.",
    ]);
    let failed = asked(&script).await.unwrap_err();
    let complaint = &script.asked()[1].messages[2].text;
    assert!(complaint.contains("field `thought`"), "{complaint}");
    assert!(complaint.contains("field `confidence`"), "{complaint}");
    assert_eq!(
        failed.error,
        ThinkError::InvalidResponse {
            provider: "script".to_owned(),
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
        let script = Script::saying(&[empty, empty]);
        let failed = asked_plainly(&script).await.unwrap_err();
        assert_eq!(failed.error.code(), "InvalidResponse", "{empty}");
        // An empty message is refused by some providers: it is not shown again.
        let messages = script.asked()[1].messages.len();
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
        let script = Script::saying(&[text]);
        let answer = asked_plainly(&script).await.unwrap();
        assert_eq!(answer.value, from_plain(expected.to_owned()));
    }
    // Where it does not say so, the same text is asked for again.
    let script = Script::saying(&["It is 42.", "It is 42."]);
    assert!(
        ask_for(&script, ask(), Some(from_plain), later())
            .await
            .is_err()
    );
    assert_eq!(script.asked().len(), 2);
}

#[tokio::test]
async fn broken_json_is_not_plain_text() {
    for broken in ["{thought 42}", "```\nfoo\n```", "[{oh"] {
        let script = Script::saying(&[broken, r#"{"thought": "42", "confidence": 1}"#]);
        let answer = asked_plainly(&script).await.unwrap();
        assert_eq!(answer.value, step("42", 1), "{broken}");
        assert_eq!(answer.replies.len(), 2);
    }
}

#[tokio::test]
async fn a_cut_answer_is_asked_for_in_short() {
    let cut = Reply {
        text: r#"{"thought": "42", "confidence": 9"#.to_owned(),
        finish: Finish::Length,
        ..Reply::default()
    };
    let script = Script::new([
        Ok(cut.clone()),
        Ok(reply(r#"{"thought": "42", "confidence": 95}"#)),
    ]);
    let answer = asked(&script).await.unwrap();
    assert_eq!(answer.value, step("42", 95));
    let complaint = &script.asked()[1].messages[2].text;
    assert!(
        complaint.contains("cut off at the limit of 400 tokens"),
        "{complaint}"
    );

    // What is whole in it is enough; half a string is not.
    let script = Script::new([Ok(Reply {
        text: r#"{"confidence": 95, "thought": "it is forty", "more": "#.to_owned(),
        ..cut.clone()
    })]);
    assert_eq!(asked(&script).await.unwrap().value, step("it is forty", 95));
    let half = Reply {
        text: r#"{"confidence": 95, "thought": "it is fort"#.to_owned(),
        ..cut
    };
    let script = Script::new([Ok(half.clone()), Ok(half)]);
    let failed = asked(&script).await.unwrap_err();
    assert_eq!(failed.error.code(), "InvalidResponse");
}

#[tokio::test]
async fn a_refusal_is_not_asked_again() {
    let refusal = Reply {
        text: "I can't help with that.".to_owned(),
        finish: Finish::Refusal,
        ..Reply::default()
    };
    let script = Script::new([Ok(refusal.clone())]);
    let failed = asked_plainly(&script).await.unwrap_err();
    assert_eq!(
        failed.error,
        ThinkError::InvalidResponse {
            provider: "script".to_owned(),
            reason: "the model refused to answer".to_owned(),
            answer: refusal.text.clone(),
        }
    );
    assert_eq!(failed.replies, [refusal]);
}

#[tokio::test]
async fn errors_pass_and_what_was_paid_is_kept() {
    let script = Script::new([Err(ThinkError::Pending)]);
    let failed = asked(&script).await.unwrap_err();
    assert_eq!(failed.error, ThinkError::Pending);
    assert_eq!(failed.replies, []);

    let paid = Reply {
        text: "hm".to_owned(),
        usage: Usage {
            prompt_tokens: 3,
            completion_tokens: 1,
            cost_usd: None,
        },
        ..Reply::default()
    };
    let script = Script::new([Ok(paid.clone()), Err(ThinkError::Pending)]);
    let failed = asked(&script).await.unwrap_err();
    assert_eq!(failed.error, ThinkError::Pending);
    assert_eq!(failed.replies, [paid]);
}

#[tokio::test]
async fn long_bad_answers_are_shown_in_part() {
    let long = "ü".repeat(50_000);
    let script = Script::saying(&[&long, &long]);
    let failed = asked(&script).await.unwrap_err();
    let shown = &script.asked()[1].messages[1].text;
    assert_eq!(shown.chars().count(), 2_001);
    let ThinkError::InvalidResponse { answer, .. } = failed.error else {
        panic!("{}", failed.error);
    };
    assert_eq!(answer.chars().count(), 2_001);
}
