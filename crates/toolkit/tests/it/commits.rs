//! Tests that a call's changes are committed with its log record, or not at all.

use deliberate_core::{Change, Invocation, Mode, ModelUsage, Score, Session, Thought, Timestamp};
use deliberate_store::StoreError;
use deliberate_testkit::CountingIds;
use deliberate_toolkit::{CallerContext, Registry, ToolError};
use serde_json::{Value, json};

use super::{
    recording_store::RecordingStore,
    registry_fixture::{ALL, RegistryFixture, deps, expect_done, without_latency},
    test_tools::NoteTool,
};

fn timestamp(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

#[tokio::test]
async fn changes_and_record_are_one_commit() {
    let store = RecordingStore::new();
    let registry = Registry::new(deps(store.clone(), None)).with(NoteTool);
    let arguments = json!({ "content": "an idea" });
    let answer = registry
        .call("note", arguments.clone(), CallerContext::default())
        .await;
    let output = json!({
        "thought_id": CountingIds::nth(2).to_string(),
        "content": "an idea",
        "confidence": 1.0,
    });
    assert_eq!(expect_done(answer), output);

    let [mut changes] = <[Vec<Change>; 1]>::try_from(store.commits()).unwrap();
    let Some(Change::AddInvocation(record)) = changes.pop() else {
        panic!("{changes:?}");
    };
    let made = timestamp("2026-01-01T00:00:00.001Z");
    let session = Session {
        id: CountingIds::nth(1).into(),
        mode: Mode::Linear,
        title: None,
        created_at: made,
        updated_at: made,
        active_branch_id: None,
        metadata: None,
    };
    let thought = Thought {
        id: CountingIds::nth(2).into(),
        session_id: session.id.clone(),
        input: None,
        content: "an idea".to_owned(),
        confidence: Score::ONE,
        mode: Mode::Linear,
        parent_id: None,
        branch_id: None,
        set_aside: false,
        created_at: made,
        metadata: None,
    };
    assert_eq!(
        without_latency(record),
        Invocation {
            id: CountingIds::nth(3).into(),
            session_id: Some(session.id.clone()),
            tool_name: "note".to_owned(),
            principal: None,
            input: arguments,
            output: Some(output),
            pipe_name: None,
            latency_ms: Some(0),
            success: true,
            error: None,
            error_code: None,
            spent: ModelUsage::default(),
            created_at: timestamp("2026-01-01T00:00:00Z"),
        }
    );
    assert_eq!(
        changes,
        [Change::AddSession(session), Change::AddThought(thought)]
    );
}

#[tokio::test]
async fn what_was_answered_is_stored() {
    let house = RegistryFixture::without_model();
    let output = expect_done(house.call("note", json!({ "content": "kept" })).await);
    let thoughts = house.thoughts().await;
    assert_eq!(thoughts.len(), 1);
    assert_eq!(output["thought_id"], thoughts[0].id.as_str());
}

#[tokio::test]
async fn a_commit_that_fails_leaves_only_the_record_of_the_failure() {
    let house = RegistryFixture::without_model();
    let arguments = json!({ "content": "lost", "session_id": "never made" });
    let error = house.call("note", arguments).await.unwrap_err();
    assert_eq!(error.code(), "Conflict");
    assert_eq!(error.hint().unwrap(), "Read the session again, then retry.");
    assert_eq!(house.store.sessions(ALL).await.unwrap(), []);
    let records = house.records().await;
    let [record] = records.as_slice() else {
        panic!("{records:?}");
    };
    assert_eq!((record.success, record.session_id.as_ref()), (false, None));
    assert_eq!(record.error_code.as_deref(), Some("Conflict"));
    assert_eq!(record.output, None, "it was not answered");
}

#[tokio::test]
async fn a_failure_is_recorded_under_the_session_it_was_about() {
    let house = RegistryFixture::without_model();
    expect_done(house.call("note", json!({ "content": "first" })).await);
    let session = house.thoughts().await[0].session_id.clone();
    let arguments = json!({ "content": 1, "session_id": session });
    house.call("note", arguments).await.unwrap_err();
    let records = house.store.invocations(Some(&session), ALL).await.unwrap();
    let outcomes: Vec<bool> = records.iter().map(|record| record.success).collect();
    assert_eq!(outcomes, [false, true]);
}

#[tokio::test]
async fn a_store_that_fails_is_an_error_of_the_call_and_not_its_end() {
    for failure in [
        StoreError::Busy {
            reason: "locked".to_owned(),
        },
        StoreError::Closed,
    ] {
        let store = RecordingStore::failing(failure.clone());
        let registry = Registry::new(deps(store, None)).with(NoteTool);
        let good = registry.call("note", json!({ "content": "x" }), CallerContext::default());
        assert_eq!(good.await, Err(ToolError::Store(failure)));
        let bad = registry
            .call("note", Value::Null, CallerContext::default())
            .await;
        assert_eq!(
            bad.unwrap_err().code(),
            "Validation",
            "the first failure is told"
        );
    }
}
