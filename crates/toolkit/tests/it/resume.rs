//! Tests of calls that wait for their client's model and continue when it has replied.

use std::{sync::Arc, time::Duration};

use deliberate_core::{StoredProgress, SuspendedCall, Timestamp};
use deliberate_llm::{ChatMessage, ModelError};
use deliberate_testkit::CountingIds;
use deliberate_toolkit::{
    CallLimits, CallerContext, ClientPrompt, NeedsReply, ToolError, answer_schema,
};
use futures::future::join_all;
use serde_json::{Value, json};

use super::{
    registry_fixture::{ALL, RegistryFixture, expect_done, expect_needs_reply},
    scripted_model::{ScriptedModel, reply},
    test_tools::ViewAnswer,
};

pub(crate) fn good_reply() -> Value {
    json!([{ "view": "yes", "percent": 85 }])
}

/// Suspends a call of `ponder` and returns its id.
async fn suspend_call(fixture: &RegistryFixture) -> String {
    expect_needs_reply(fixture.call("ponder", json!({ "content": "why?" })).await).id
}

#[tokio::test]
async fn a_client_that_declines_sampling_replies_itself() {
    let declining = ScriptedModel::with_results([Err(ModelError::Declined {
        reason: "The person said no.".to_owned(),
    })]);
    let caller = CallerContext {
        client_model: Some(declining.clone()),
        ..CallerContext::default()
    };
    let house = RegistryFixture::without_model();
    let arguments = json!({ "content": "why?" });
    let needs = expect_needs_reply(house.registry.call("ponder", arguments, caller).await);
    assert_eq!(needs.asks.len(), 1);
    assert_eq!(needs.asks[0].messages, [ChatMessage::user("why?")]);
    let start = "This client declined sampling (\"The person said no.\"), so you think: work out";
    assert!(needs.next.starts_with(start), "{}", needs.next);
    assert_eq!(declining.requests().len(), 1);

    let reply = json!({ "id": needs.id, "replies": good_reply() });
    let answer = expect_done(house.call("reasoning_resume", reply).await);
    assert_eq!(answer["content"], "yes");
    assert_eq!(declining.requests().len(), 1);
}

#[tokio::test]
async fn requests_that_a_client_declines_are_asked_together() {
    let declined = || {
        Err(ModelError::Declined {
            reason: "Sampling not supported".to_owned(),
        })
    };
    let caller = CallerContext {
        client_model: Some(ScriptedModel::with_results([declined(), declined()])),
        ..CallerContext::default()
    };
    let house = RegistryFixture::without_model();
    let arguments = json!({ "content": "tea" });
    let needs = expect_needs_reply(house.registry.call("debate", arguments, caller).await);
    let keys: Vec<&str> = needs.asks.iter().map(|ask| ask.key.as_str()).collect();
    assert_eq!(keys, ["for", "against"]);
}

#[tokio::test]
async fn a_call_without_a_model_is_suspended_with_all_it_needs() {
    let house = RegistryFixture::without_model();
    let needs = expect_needs_reply(house.call("ponder", json!({ "content": "why?" })).await);
    let id = CountingIds::nth(1).to_string();
    assert_eq!(
        needs,
        NeedsReply {
            id: id.clone(),
            asks: vec![ClientPrompt {
                key: "view".to_owned(),
                system: "Be brief.".to_owned(),
                messages: vec![ChatMessage::user("why?")],
                schema: answer_schema::<ViewAnswer>(),
                max_tokens: needs.asks[0].max_tokens,
                temperature: needs.asks[0].temperature,
            }],
            next: "No model is set up here, so you think: work out each ask, then call \
                   reasoning_resume with this id and your replies in order."
                .to_owned(),
        }
    );
    let begun = Timestamp::parse("2026-01-01T00:00:00.001Z").unwrap();
    assert_eq!(
        house
            .store
            .suspended_call(&id.as_str().into())
            .await
            .unwrap(),
        Some(SuspendedCall {
            id: id.as_str().into(),
            tool_name: "ponder".to_owned(),
            arguments: json!({ "content": "why?" }),
            journal: json!({ "replies": {}, "notes": {} }),
            asks: json!(["view"]),
            created_at: begun,
            expires_at: begun.plus_micros(7 * 24 * 3_600 * 1_000_000),
            owner: None,
            running_until: None,
            outcome: None,
            failed: false,
            fence: 0,
            notes: None,
            progress: StoredProgress::default(),
        })
    );
    let record = house.last_record().await;
    assert!(record.success);
    assert_eq!(record.output, Some(json!({ "needs_reply": { "id": id } })));
    assert_eq!(
        house.store.sessions(ALL).await.unwrap(),
        [],
        "nothing is thought yet"
    );
}

#[tokio::test]
async fn a_resumed_call_ends_as_one_with_a_model() {
    let with_model =
        RegistryFixture::with_model(ScriptedModel::new([reply(&good_reply()[0].to_string())]));
    let wanted = expect_done(
        with_model
            .call("ponder", json!({ "content": "why?" }))
            .await,
    );

    let house = RegistryFixture::without_model();
    let id = suspend_call(&house).await;
    let output = expect_done(house.resume(&id, good_reply()).await);
    for field in ["content", "confidence"] {
        assert_eq!(output[field], wanted[field]);
    }
    let thoughts = house.thoughts().await;
    assert_eq!(thoughts.len(), 1);
    assert_eq!(output["thought_id"], thoughts[0].id.as_str());

    let record = house.last_record().await;
    assert_eq!(record.tool_name, "reasoning_resume");
    assert_eq!(record.session_id.as_ref(), Some(&thoughts[0].session_id));
    assert_eq!(record.output, Some(output));
    assert_eq!(record.pipe_name.as_deref(), Some("client"));
}

#[tokio::test]
async fn resuming_twice_gives_the_same_answer_and_one_thought() {
    let house = RegistryFixture::without_model();
    let id = suspend_call(&house).await;
    let first = expect_done(house.resume(&id, good_reply()).await);
    let other = json!([{ "view": "no, after all", "percent": 1 }]);
    assert_eq!(expect_done(house.resume(&id, other).await), first);
    assert_eq!(house.thoughts().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resuming_at_once_gives_everyone_the_same_answer_and_one_thought() {
    for _ in 0..5 {
        let house = Arc::new(RegistryFixture::without_model());
        let id = suspend_call(&house).await;
        let tasks = (0..8).map(|number| {
            let (house, id) = (house.clone(), id.clone());
            tokio::spawn(async move {
                let reply = json!([{ "view": format!("view {number}"), "percent": 50 }]);
                expect_done(house.resume(&id, reply).await)
            })
        });
        let answers: Vec<Value> = join_all(tasks)
            .await
            .into_iter()
            .map(Result::unwrap)
            .collect();
        let thoughts = house.thoughts().await;
        assert_eq!(thoughts.len(), 1);
        assert_eq!(house.store.sessions(ALL).await.unwrap().len(), 1);
        assert_eq!(answers[0]["thought_id"], thoughts[0].id.as_str());
        assert_eq!(answers, vec![answers[0].clone(); 8]);
    }
}

#[tokio::test]
async fn a_bad_reply_is_asked_for_again_with_what_is_wrong() {
    let house = RegistryFixture::without_model();
    let id = suspend_call(&house).await;
    let again = expect_needs_reply(house.resume(&id, json!([{ "percent": 50 }])).await);
    assert_eq!(again.id, id);
    let [ask] = again.asks.as_slice() else {
        panic!("{again:?}");
    };
    assert_eq!(ask.key, "view/again");
    let complaint = &ask.messages.last().unwrap().text;
    assert!(
        complaint.contains("\"view\" is a required property"),
        "{complaint}"
    );
    assert_eq!(house.thoughts().await, []);

    let output = expect_done(house.resume(&id, good_reply()).await);
    assert_eq!(output["content"], "yes");
    assert_eq!(house.thoughts().await.len(), 1);
}

#[tokio::test]
async fn a_reply_that_stays_bad_is_an_error_and_may_be_given_again() {
    let house = RegistryFixture::without_model();
    let id = suspend_call(&house).await;
    expect_needs_reply(house.resume(&id, json!(["no idea"])).await);
    let error = house.resume(&id, json!(["still none"])).await.unwrap_err();
    assert_eq!(error.code(), "InvalidResponse");
    let record = house.last_record().await;
    assert_eq!(
        record.output,
        Some(json!({ "unusable_answer": "still none" }))
    );
    assert_eq!(house.thoughts().await, []);
    assert_eq!(
        expect_done(house.resume(&id, good_reply()).await)["content"],
        "yes"
    );
}

#[tokio::test]
async fn a_reply_may_be_text_that_holds_the_object() {
    let house = RegistryFixture::without_model();
    let id = suspend_call(&house).await;
    let text = "Here it is:\n```json\n{\"view\": \"yes\", \"percent\": \"85%\"}\n```";
    let output = expect_done(house.resume(&id, json!([text])).await);
    assert_eq!(
        (&output["content"], &output["confidence"]),
        (&json!("yes"), &json!(0.85))
    );
}

#[tokio::test]
async fn the_only_reply_needs_no_list() {
    let house = RegistryFixture::without_model();
    let id = suspend_call(&house).await;
    let output = expect_done(house.resume(&id, good_reply()[0].clone()).await);
    assert_eq!(output["content"], "yes");
}

#[tokio::test]
async fn more_replies_than_asks_are_refused() {
    let house = RegistryFixture::without_model();
    let id = suspend_call(&house).await;
    let reply = &good_reply()[0];
    let error = house.resume(&id, json!([reply, reply])).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "replies: must have at most 1 item(s), one for each ask, got 2"
    );
    assert_eq!(error.code(), "Validation");
    assert_eq!(house.thoughts().await, []);
    expect_done(house.resume(&id, good_reply()).await);
}

#[tokio::test]
async fn resuming_wants_an_id_and_no_more_replies_than_asks() {
    let house = RegistryFixture::without_model();
    let id = suspend_call(&house).await;
    for (arguments, text) in [
        (json!({ "replies": good_reply() }), "id: is required"),
        (
            json!({ "id": "", "replies": good_reply() }),
            "id: must not be empty, got \"\"",
        ),
        (
            json!({ "id": id, "replies": ["a", "b"] }),
            "replies: must have at most 1 item(s), one for each ask, got 2",
        ),
        (
            json!({ "id": id, "reply": good_reply(), "replies": good_reply() }),
            "reply: is not an argument of this tool, got [{\"view\":\"yes\",\"percent\":85}] \
             (did you mean \"replies\"?)",
        ),
    ] {
        let error = house.call("reasoning_resume", arguments).await.unwrap_err();
        assert_eq!(error.to_string(), text);
    }
}

#[tokio::test]
async fn an_unknown_id_is_not_found() {
    let house = RegistryFixture::without_model();
    for id in ["nothing", "' OR 1=1 --", &"x".repeat(100_000)] {
        let error = house.resume(id, good_reply()).await.unwrap_err();
        assert_eq!(error.code(), "SuspensionNotFound");
        assert!(error.to_string().len() < 200);
        assert!(error.hint().unwrap().contains("original call"));
    }
}

#[tokio::test]
async fn a_call_waits_only_so_long() {
    let bounds = CallLimits {
        suspension_time: Duration::from_mins(1),
        ..CallLimits::default()
    };
    let house = RegistryFixture::with_limits(None, bounds);
    let id = suspend_call(&house).await;
    house.clock.advance(59_000_000);
    expect_needs_reply(house.resume(&id, json!(["bad"])).await);
    // A new round extends the expiry.
    house.clock.advance(59_000_000);
    expect_needs_reply(house.call("ponder", json!({ "content": "another" })).await);
    house.clock.advance(2_000_000);
    let error = house.resume(&id, good_reply()).await.unwrap_err();
    assert!(matches!(&error, ToolError::NotFound { .. }), "{error:?}");
    assert_eq!(error.code(), "SuspensionNotFound");
    assert_eq!(house.thoughts().await, []);
}

#[tokio::test]
async fn a_suspended_call_survives_a_restart() {
    let house = RegistryFixture::without_model();
    let id = suspend_call(&house).await;
    expect_needs_reply(house.resume(&id, json!(["bad"])).await);
    let house = house.restart().await;
    let output = expect_done(house.resume(&id, good_reply()).await);
    assert_eq!(output["content"], "yes");
    let house = house.restart().await;
    assert_eq!(expect_done(house.resume(&id, good_reply()).await), output);
    assert_eq!(house.thoughts().await.len(), 1);
}

#[tokio::test]
async fn a_call_that_fails_when_resumed_leaves_its_record_and_can_be_resumed_again() {
    let house = RegistryFixture::without_model();
    let arguments = json!({ "content": "why?", "session_id": "not there yet" });
    let id = expect_needs_reply(house.call("ponder", arguments).await).id;
    let error = house.resume(&id, good_reply()).await.unwrap_err();
    assert_eq!(error.code(), "Conflict");
    assert_eq!(
        house.last_record().await.error_code.as_deref(),
        Some("Conflict")
    );

    let session = deliberate_core::Session {
        id: "not there yet".into(),
        mode: deliberate_core::Mode::Linear,
        title: None,
        created_at: Timestamp::from_micros(0),
        updated_at: Timestamp::from_micros(0),
        active_branch_id: None,
        metadata: None,
    };
    let change = deliberate_core::Change::AddSession(session);
    house.store.commit(vec![change]).await.unwrap();
    assert_eq!(
        expect_done(house.resume(&id, good_reply()).await)["content"],
        "yes"
    );
}
