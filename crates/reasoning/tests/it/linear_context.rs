//! `reasoning_linear`: the history in the prompt stays bounded.

use deliberate_core::{Change, Mode};
use deliberate_toolkit::CallLimits;
use serde_json::json;

use super::test_registry::{ReasoningTestRegistry, reply_with_fields};

const GAP: &str = "(steps in between are left out: ";

/// The prompt of the step after `steps` steps of `words` words each.
async fn request_after_steps(steps: usize, words: usize, bounds: CallLimits) -> String {
    let desk = ReasoningTestRegistry::with_bounds(bounds);
    let text = |number: usize| format!("step {number}: {}", "word ".repeat(words));
    desk.add_session(
        Mode::Linear,
        (1..=steps).map(|number| (format!("input {number}."), text(number))),
    )
    .await;
    desk.think_ok(json!({ "content": "next", "session_id": "s" }))
        .await;
    desk.last_request().messages.remove(0).text
}

fn count_steps(text: &str) -> usize {
    text.matches("<step").count()
}

#[tokio::test]
async fn the_ask_of_step_two_hundred_is_no_longer_than_that_of_step_fifty() {
    for words in [5, 50, 500] {
        let fifty = request_after_steps(49, words, CallLimits::default())
            .await
            .len();
        let two_hundred = request_after_steps(199, words, CallLimits::default())
            .await
            .len();
        let two_thousand = request_after_steps(1_999, words, CallLimits::default())
            .await
            .len();
        let bar = fifty * 12 / 10;
        assert!(two_hundred <= bar, "{two_hundred} bytes against {fifty}");
        assert!(two_thousand <= bar, "{two_thousand} bytes against {fifty}");
    }
}

#[tokio::test]
async fn long_steps_are_shortened_in_the_middle_and_keep_to_the_budget() {
    let bounds = CallLimits {
        context_tokens: 2_000,
        ..CallLimits::default()
    };
    let shown = request_after_steps(30, 20_000, bounds).await;
    assert!(
        deliberate_core::approximate_tokens(&shown) < 2_500,
        "{} bytes",
        shown.len()
    );
    assert!(shown.contains("input 1.") && shown.contains("input 30."));
    assert!(shown.contains(" characters left out ...] word") && shown.contains(GAP));
    assert!(
        count_steps(&shown) >= 3,
        "one long step does not push out all others"
    );
}

#[tokio::test]
async fn the_gap_is_mentioned_only_where_there_is_one() {
    for (steps, shown_steps, gap) in [
        (1, 1, false),
        (2, 2, false),
        (24, 24, false),
        (25, 25, false),
        (26, 25, true),
        (100, 25, true),
    ] {
        let shown = request_after_steps(steps, 3, CallLimits::default()).await;
        assert_eq!(
            (count_steps(&shown), shown.contains(GAP)),
            (shown_steps, gap),
            "{steps} steps"
        );
        assert!(shown.contains("input 1.") && shown.contains(&format!("input {steps}.")));
    }
}

#[tokio::test]
async fn even_the_smallest_budget_leaves_the_question() {
    for context_tokens in [0, 1, 20] {
        let bounds = CallLimits {
            context_tokens,
            ..CallLimits::default()
        };
        let shown = request_after_steps(30, 1_000, bounds).await;
        let (history, instruction) = shown.split_once("\n\nFirst work it out").unwrap();
        assert!(
            history.ends_with("<given-7e57ed>\nnext\n</given-7e57ed>"),
            "{shown}"
        );
        assert!(history.len() < 1_000, "{shown}");
        assert!(instruction.contains("\"answer\""), "{shown}");
    }
}

#[tokio::test]
async fn a_long_answer_and_a_long_doubt_keep_to_the_budget() {
    let bounds = CallLimits {
        context_tokens: 2_000,
        ..CallLimits::default()
    };
    let desk = ReasoningTestRegistry::with_bounds(bounds);
    let long = "word ".repeat(1_000);
    let fields = json!({
        "answer": long, "weakest_point": long, "confidence_percent": 70,
    });
    let mut session = json!(null);
    for _ in 0..12 {
        desk.script_replies([reply_with_fields("short", &fields)]);
        let mut arguments = json!({ "content": "next" });
        if !session.is_null() {
            arguments["session_id"] = session;
        }
        session = desk.think_ok(arguments).await["session_id"].clone();
    }
    let shown = desk.last_request().messages.remove(0).text;
    assert!(
        shown.contains("settle that first: <step-7e57ed>word"),
        "{shown}"
    );
    assert!(
        deliberate_core::approximate_tokens(&shown) < 2_500,
        "{} bytes",
        shown.len()
    );
}

#[tokio::test]
async fn a_parallel_step_is_not_shown_as_one_before() {
    for steps in [2, 60] {
        let desk = ReasoningTestRegistry::new();
        let texts = (1..=steps).map(|number| (format!("in {number}."), format!("out {number}.")));
        desk.add_session(Mode::Linear, texts).await;
        // Two callers continued the first step at once; the latest builds on the second of them.
        let mut beside = desk.thoughts().await.remove(1);
        beside.id = "beside".into();
        beside.content = "BESIDE".to_owned();
        let mut latest = beside.clone();
        latest.id = "latest".into();
        latest.parent_id = Some(format!("t{steps}").into());
        latest.content = "LATEST".to_owned();
        let changes = [beside, latest].map(Change::AddThought);
        desk.store.commit(changes.into()).await.unwrap();
        desk.think_ok(json!({ "content": "next", "session_id": "s" }))
            .await;
        let shown = desk.last_request().messages.remove(0).text;
        assert!(!shown.contains("BESIDE"), "{shown}");
        for text in ["in 1.", &format!("out {steps}."), "LATEST"] {
            assert!(shown.contains(text), "{text} is missing in {shown}");
        }
        assert_eq!(shown.contains(GAP), steps > 24, "{shown}");
    }
}

#[tokio::test]
async fn the_next_step_sees_the_perspectives_of_the_synthesis_before_it() {
    let desk = ReasoningTestRegistry::new();
    desk.add_session(Mode::Linear, [("in", "out")]).await;
    let views = json!({ "perspectives": [
        { "viewpoint": "a", "content": "FROM A" }, { "viewpoint": "b", "content": "FROM B" },
    ], "synthesis": "BOTH" });
    let arguments = json!({ "content": "x", "session_id": "s", "reply": views });
    desk.call_ok("reasoning_divergent", arguments).await;
    desk.think_ok(json!({ "content": "next", "session_id": "s" }))
        .await;
    let shown = desk.last_request().messages.remove(0).text;
    for text in ["out", "FROM A", "FROM B", "BOTH"] {
        assert!(shown.contains(text), "{text} is missing in {shown}");
    }
}
