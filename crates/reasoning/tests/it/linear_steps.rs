//! `reasoning_linear`: sessions, steps and the links between them.

use deliberate_core::{Mode, Session, Thought, Timestamp};
use deliberate_testkit::CountingIds;
use deliberate_testkit::fixtures::{expect_done, expect_needs_reply};
use deliberate_toolkit::{CallLimits, CallerContext};
use serde_json::{Value, json};

use super::test_registry::{
    FULL_PAGE, ReasoningTestRegistry, conversation, reply_with_fields, step_json, text_reply,
};

fn id(number: u64) -> String {
    CountingIds::nth(number).to_string()
}

fn timestamp(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

#[tokio::test]
async fn the_first_step_begins_a_session_with_a_title() {
    let desk = ReasoningTestRegistry::new();
    let fields = json!({
        "answer": " yes ", "weakest_point": "a guess", "confidence_percent": 70,
    });
    desk.script_replies([reply_with_fields(" It is a prime. ", &fields)]);
    let content = "  Is 17\n\n  a prime?  ";
    let output = desk.think_ok(json!({ "content": content })).await;
    assert_eq!(
        output,
        json!({
            "thought_id": id(2),
            "session_id": id(1),
            "content": "It is a prime.",
            "answer": "yes",
            "confidence": 0.7,
            "weakest_point": "a guess",
            "previous_thought": null,
            "model": "scripted",
        })
    );
    let session = desk.store.session(&id(1).into()).await.unwrap().unwrap();
    assert_eq!(
        session,
        Session {
            id: id(1).into(),
            mode: Mode::Linear,
            title: Some("Is 17 a prime?".to_owned()),
            created_at: session.created_at,
            updated_at: session.updated_at,
            active_branch_id: None,
            metadata: None,
        }
    );
    let thought = desk.only_thought().await;
    assert_eq!(
        thought,
        Thought {
            id: id(2).into(),
            session_id: id(1).into(),
            input: Some(content.to_owned()),
            content: "It is a prime.".to_owned(),
            confidence: deliberate_core::Score::new(0.7).unwrap(),
            mode: Mode::Linear,
            parent_id: None,
            branch_id: None,
            set_aside: false,
            created_at: thought.created_at,
            metadata: Some(json!({ "answer": "yes", "weakest_point": "a guess" })),
        }
    );
    let start = timestamp("2026-01-01T00:00:00Z");
    assert!(session.created_at >= start && thought.created_at <= start.plus_micros(100_000));
    let record = desk.last_record().await;
    assert_eq!(record.session_id, Some(id(1).into()));
    assert_eq!(record.output, Some(output));
}

#[tokio::test]
async fn every_step_is_linked_to_the_one_before() {
    let desk = ReasoningTestRegistry::new();
    let first = desk.think_ok(json!({ "content": "one" })).await;
    let session = &first["session_id"];
    let mut previous = first.clone();
    for content in ["two", "three", "four"] {
        let next = desk
            .think_ok(json!({ "content": content, "session_id": session }))
            .await;
        assert_eq!(next["session_id"], *session);
        assert_eq!(next["previous_thought"], previous["thought_id"]);
        previous = next;
    }
    let thoughts = desk.thoughts().await;
    let parents: Vec<_> = thoughts.iter().map(|it| it.parent_id.clone()).collect();
    let ids: Vec<_> = thoughts.iter().map(|it| Some(it.id.clone())).collect();
    assert_eq!(parents[0], None);
    assert_eq!(parents[1..], ids[..3]);
    let inputs: Vec<_> = thoughts
        .iter()
        .map(|it| it.input.as_deref().unwrap())
        .collect();
    assert_eq!(inputs, ["one", "two", "three", "four"]);
    assert_eq!(desk.store.sessions(FULL_PAGE).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_step_moves_its_session_to_the_front() {
    let desk = ReasoningTestRegistry::new();
    let first = desk.think_ok(json!({ "content": "one" })).await;
    desk.think_ok(json!({ "content": "another session" })).await;
    desk.think_ok(json!({ "content": "two", "session_id": first["session_id"] }))
        .await;
    let sessions = desk.store.sessions(FULL_PAGE).await.unwrap();
    let seen: Vec<_> = sessions
        .iter()
        .map(|entry| (entry.session.title.as_deref().unwrap(), entry.thoughts))
        .collect();
    assert_eq!(seen, [("one", 2), ("another session", 1)]);
}

#[tokio::test]
async fn a_long_title_is_cut_between_characters() {
    let desk = ReasoningTestRegistry::new();
    desk.think_ok(json!({ "content": "思考 ".repeat(100) }))
        .await;
    let title = desk.store.sessions(FULL_PAGE).await.unwrap()[0]
        .session
        .title
        .clone()
        .unwrap();
    assert_eq!(title.chars().count(), 80);
    assert!(
        title.starts_with("思考 思考") && title.ends_with(" […]"),
        "{title}"
    );
}

#[tokio::test]
async fn an_unknown_session_is_an_error_and_makes_no_session() {
    let desk = ReasoningTestRegistry::new();
    let long = "x".repeat(1_000_000);
    for unknown in ["nothing", "", " ", "'; DROP TABLE sessions; --", &long] {
        let error = desk
            .think_err(json!({ "content": "x", "session_id": unknown }))
            .await;
        assert_eq!(error.code(), "SessionNotFound");
        assert!(error.to_string().len() < 200);
        assert_eq!(
            error.hint().unwrap(),
            "Use an id from an earlier answer (reasoning_sessions lists them). To begin a new session, omit session_id."
        );
        let record = desk.last_record().await;
        assert_eq!(record.error_code.as_deref(), Some("SessionNotFound"));
        assert_eq!(record.session_id, None);
    }
    desk.assert_empty().await;
    assert_eq!(desk.requests(), [], "nobody is asked for nothing");
}

#[tokio::test]
async fn a_session_of_another_mode_is_continued_with_its_context() {
    for mode in Mode::ALL.into_iter().filter(|mode| *mode != Mode::Linear) {
        let desk = ReasoningTestRegistry::new();
        desk.add_session(mode, [("in", "out of it")]).await;
        let output = desk
            .think_ok(json!({ "content": "x", "session_id": "s" }))
            .await;
        assert_eq!(output["session_id"], "s", "{mode}");
        assert_eq!(output["previous_thought"], "t1", "{mode}");
        let asked = conversation(&desk.last_request());
        assert!(asked.contains("out of it"), "{mode}: {asked}");
        let thoughts = desk.thoughts().await;
        assert_eq!(thoughts.len(), 2);
        assert_eq!(thoughts[1].mode, Mode::Linear);
        // The session stays what it was.
        let session = desk.store.session(&"s".into()).await.unwrap().unwrap();
        assert_eq!(session.mode, mode);
    }
}

#[tokio::test]
async fn the_next_step_sees_the_result_and_the_doubt_of_the_last() {
    let desk = ReasoningTestRegistry::new();
    let fields = json!({
        "answer": "about 42", "weakest_point": "the rounding", "confidence_percent": 70,
    });
    desk.script_replies([reply_with_fields("6.5 × 6.5 = 42.", &fields)]);
    let first = desk.think_ok(json!({ "content": "6.5 × 6.5?" })).await;
    desk.think_ok(json!({ "content": "go on", "session_id": first["session_id"] }))
        .await;
    let asked = conversation(&desk.last_request());
    assert!(asked.contains("Answer: about 42\n"), "{asked}");
    let doubt = "The last step may be wrong here; settle that first: <step-7e57ed>the rounding</step-7e57ed>";
    assert!(asked.contains(doubt), "{asked}");
}

#[tokio::test]
async fn content_that_says_nothing_is_refused() {
    let desk = ReasoningTestRegistry::new();
    for blank in ["", " ", "\n\t \u{a0}\u{2003}"] {
        let error = desk.think_err(json!({ "content": blank })).await;
        assert_eq!(error.code(), "Validation");
        assert!(
            error.to_string().starts_with("content: must not be empty"),
            "{error}"
        );
    }
    let error = desk.think_err(json!({})).await;
    assert_eq!(error.to_string(), "content: is required");
    desk.assert_empty().await;
    assert_eq!(desk.requests(), []);
}

#[tokio::test]
async fn content_is_measured_in_characters() {
    let desk = ReasoningTestRegistry::with_bounds(CallLimits {
        content_chars: 100,
        ..CallLimits::default()
    });
    desk.think_ok(json!({ "content": "思".repeat(100) })).await;
    for long in ["思".repeat(101), "x".repeat(101), "x".repeat(5_000_000)] {
        let error = desk.think_err(json!({ "content": long })).await;
        assert_eq!(error.code(), "Validation");
        let text = error.to_string();
        assert!(
            text.starts_with("content: must have at most 100 characters"),
            "{text}"
        );
        assert!(text.len() < 400);
    }
    assert_eq!(desk.requests().len(), 1);
}

#[tokio::test]
async fn a_threshold_outside_its_range_is_refused() {
    let desk = ReasoningTestRegistry::new();
    for confidence in [
        json!(-0.1),
        json!(1.1),
        json!(85),
        json!(1e308),
        json!("high"),
    ] {
        let error = desk
            .think_err(json!({ "content": "x", "confidence": confidence }))
            .await;
        assert_eq!(error.code(), "Validation", "{confidence}");
    }
    desk.assert_empty().await;
}

#[tokio::test]
async fn the_providers_conversation_is_continued() {
    let desk = ReasoningTestRegistry::new();
    let on = |thread: Option<&str>| deliberate_llm::ModelReply {
        thread: thread.map(str::to_owned),
        ..text_reply(&step_json("so"))
    };
    desk.script_replies([
        on(Some("th-1")),
        on(None),
        on(Some("th-1")),
        on(Some("th-2")),
        on(None),
    ]);
    let first = desk.think_ok(json!({ "content": "one" })).await;
    let session = || async {
        let id = first["session_id"].as_str().unwrap().into();
        desk.store.session(&id).await.unwrap().unwrap()
    };
    assert_eq!(session().await.metadata, Some(json!({ "thread": "th-1" })));
    for thread in ["th-1", "th-1", "th-2", "th-2"] {
        desk.think_ok(json!({ "content": "more", "session_id": first["session_id"] }))
            .await;
        assert_eq!(session().await.metadata, Some(json!({ "thread": thread })));
    }
    let threads: Vec<_> = desk.requests().into_iter().map(|ask| ask.thread).collect();
    let sent = |thread: &str| Some(thread.to_owned());
    assert_eq!(
        threads,
        [None, sent("th-1"), sent("th-1"), sent("th-1"), sent("th-2")]
    );
    assert_eq!(session().await.title.as_deref(), Some("one"));
}

#[tokio::test]
async fn a_conversation_is_noted_beside_what_is_known_of_the_session() {
    let desk = ReasoningTestRegistry::new();
    let moment = timestamp("2025-12-31T00:00:00Z");
    let session = Session {
        id: "s".into(),
        mode: Mode::Linear,
        title: None,
        created_at: moment,
        updated_at: moment,
        active_branch_id: None,
        metadata: Some(json!({ "user": "ann" })),
    };
    let change = deliberate_core::Change::AddSession(session);
    desk.store.commit(vec![change]).await.unwrap();
    desk.script_replies([deliberate_llm::ModelReply {
        thread: Some("th-1".to_owned()),
        ..text_reply(&step_json("so"))
    }]);
    desk.think_ok(json!({ "content": "x", "session_id": "s" }))
        .await;
    let session = desk.store.session(&"s".into()).await.unwrap().unwrap();
    assert_eq!(
        session.metadata,
        Some(json!({ "user": "ann", "thread": "th-1" }))
    );
}

#[tokio::test]
async fn without_a_model_the_client_thinks_and_the_step_is_the_same() {
    let desk = ReasoningTestRegistry::without_model();
    desk.add_session(Mode::Linear, [("in", "out")]).await;
    let arguments = json!({ "content": "go on", "session_id": "s" });
    let needs = expect_needs_reply(desk.call_linear(arguments).await);
    assert!(needs.asks[0].messages[0].text.contains("go on"));
    assert_eq!(desk.thoughts().await.len(), 1);
    let reply: Value = serde_json::from_str(&step_json("on we go")).unwrap();
    let resumed = desk
        .registry
        .call(
            "reasoning_resume",
            json!({ "id": needs.id, "replies": [reply] }),
            CallerContext::default(),
        )
        .await;
    let output = expect_done(resumed);
    assert_eq!(output["previous_thought"], "t1");
    let thoughts = desk.thoughts().await;
    assert_eq!(thoughts.len(), 2);
    assert_eq!(thoughts[1].content, "on we go");
    assert_eq!(thoughts[1].input.as_deref(), Some("go on"));
    assert_eq!(thoughts[1].parent_id, Some("t1".into()));
}

#[tokio::test]
async fn steps_at_the_same_time_are_all_kept() {
    let desk = ReasoningTestRegistry::new();
    desk.add_session(Mode::Linear, [("in", "out")]).await;
    let steps = (0..16).map(|number| {
        desk.think_ok(json!({ "content": format!("idea {number}"), "session_id": "s" }))
    });
    let outputs = futures::future::join_all(steps).await;
    assert_eq!(outputs.len(), 16);
    assert_eq!(desk.thoughts().await.len(), 17);
}
