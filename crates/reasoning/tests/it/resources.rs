//! Tests of the resources and of the notifications about their changes.

use deliberate_core::{Change, Mode, SessionId, Timestamp};
use deliberate_reasoning::ReasoningResources;
use deliberate_toolkit::{
    CallerContext, ResourceBody, ResourceChange, ResourceContext as Reading, ResourceProvider,
    ToolError,
};
use serde_json::{Value, json};

use super::test_registry::{ReasoningTestRegistry, step_json, text_reply};

async fn read_resource(
    test_registry: &ReasoningTestRegistry,
    uri: &str,
) -> Result<String, ToolError> {
    let caller = CallerContext::default();
    let reading = Reading {
        registry: &test_registry.registry,
        caller: &caller,
    };
    let mut contents = ReasoningResources
        .read(uri, reading)
        .await
        .expect("one of ours")?;
    assert_eq!(contents.len(), 1);
    match contents.remove(0).body {
        ResourceBody::Text(text) => Ok(text),
        ResourceBody::Bytes(_) => panic!("{uri} is no text"),
    }
}

#[tokio::test]
async fn each_kind_of_thing_is_read_in_both_forms() {
    let desk = ReasoningTestRegistry::new();
    let approach = |name: &str| json!({ "name": name, "thought": name, "rationale": "r", "confidence_percent": 50 });
    let two = json!({
        "thought": "t", "recommended": 1, "relations": [], "confidence_percent": 50, "weakest_point": "w",
        "approaches": [approach("one"), approach("two")],
    });
    desk.script_replies([text_reply(&two.to_string())]);
    let tree = desk
        .call_ok("reasoning_tree", json!({ "content": "x" }))
        .await;
    let graph = desk
        .call_ok("reasoning_got_init", json!({ "content": "y" }))
        .await;
    for (folder, id) in [
        ("sessions", &tree["session_id"]),
        ("branches", &tree["branches"][0]["id"]),
        ("thoughts", &tree["thought_id"]),
        ("graphs", &graph["graph_id"]),
    ] {
        let id = id.as_str().unwrap();
        let data = read_resource(&desk, &format!("deliberate://{folder}/{id}")).await;
        let data: Value = serde_json::from_str(&data.unwrap()).unwrap();
        assert!(data.to_string().contains(id), "{data}");
        let page = read_resource(&desk, &format!("deliberate://{folder}/{id}/markdown")).await;
        assert!(page.unwrap().starts_with('#'));
        for other in ["sessions", "branches", "thoughts", "graphs"] {
            let uri = format!("deliberate://{other}/{id}");
            let found = read_resource(&desk, &uri).await;
            assert_eq!(found.is_ok(), other == folder, "{uri}");
            if let Err(error) = found {
                assert!(matches!(error, ToolError::NotFound { .. }), "{error:?}");
            }
        }
    }
}

#[tokio::test]
async fn an_imported_id_may_be_anything() {
    let desk = ReasoningTestRegistry::new();
    let at = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
    for id in [
        "a/b",
        "a.md",
        "a b",
        "é",
        "%2e",
        "..",
        "a?offset=1",
        "a/markdown",
    ] {
        let session = deliberate_core::Session {
            id: id.into(),
            mode: Mode::Linear,
            title: None,
            created_at: at,
            updated_at: at,
            active_branch_id: None,
            metadata: None,
        };
        let commit = desk.store.commit(vec![Change::AddSession(session)]);
        commit.await.unwrap();
    }
    let caller = CallerContext::default();
    let reading = Reading {
        registry: &desk.registry,
        caller: &caller,
    };
    let listed = ReasoningResources.list(None, 50, reading).await.unwrap();
    assert_eq!(listed.resources.len(), 9);
    for resource in listed.resources {
        read_resource(&desk, &resource.uri).await.unwrap();
    }
}

#[tokio::test]
async fn a_session_without_a_title_goes_by_its_first_words() {
    let desk = ReasoningTestRegistry::new();
    desk.add_session(Mode::Linear, [("what\n is  it?", "that")])
        .await;
    let id = SessionId::from("s");
    let mut session = desk.store.session(&id).await.unwrap().unwrap();
    session.id = "untitled".into();
    session.title = None;
    let mut thought = desk.only_thought().await;
    thought.id = "t".into();
    thought.session_id = "untitled".into();
    let changes = vec![Change::AddSession(session), Change::AddThought(thought)];
    desk.store.commit(changes).await.unwrap();
    let caller = CallerContext::default();
    let reading = Reading {
        registry: &desk.registry,
        caller: &caller,
    };
    let listed = ReasoningResources.list(None, 50, reading).await.unwrap();
    let names: Vec<&str> = listed.resources.iter().map(|it| it.name.as_str()).collect();
    assert!(names.contains(&"what is it?"), "{names:?}");
    let described = listed.resources[1].description.as_deref().unwrap();
    assert!(described.starts_with("linear session, 1 thought, last changed 2025-12-31"));
}

#[tokio::test]
async fn what_a_thought_changes_is_its_session_and_its_branch() {
    let desk = ReasoningTestRegistry::new();
    desk.script_replies([text_reply(&step_json("one"))]);
    desk.think_ok(json!({ "content": "x" })).await;
    let mut thought = desk.only_thought().await;
    thought.session_id = "s 1".into();
    thought.branch_id = Some("b".into());
    let touched = ReasoningResources.changes_for(&Change::AddThought(thought), None);
    let expected = [
        "deliberate://sessions/s%201/markdown",
        "deliberate://sessions/s%201",
        "deliberate://branches/b/markdown",
        "deliberate://branches/b",
        "deliberate://sessions",
    ];
    let expected = expected.map(|uri| ResourceChange::Resource(uri.to_owned()));
    assert_eq!(touched, expected);
}

#[test]
fn what_names_no_session_touches_the_one_of_the_call() {
    let at = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
    let pruned = Change::PruneNodes {
        graph_id: "g".into(),
        nodes: Vec::new(),
        at,
    };
    let session = SessionId::from("s");
    let touched = ReasoningResources.changes_for(&pruned, Some(&session));
    for uri in ["deliberate://graphs/g", "deliberate://sessions/s"] {
        assert!(
            touched.contains(&ResourceChange::Resource(uri.to_owned())),
            "{uri}"
        );
    }
    assert_eq!(
        ReasoningResources
            .changes_for(&Change::DeleteSession(session), None)
            .last(),
        Some(&ResourceChange::Resource(
            "deliberate://sessions".to_owned()
        ))
    );
}

#[test]
fn only_what_looks_like_one_of_ours_is_known() {
    for (uri, known) in [
        ("deliberate://sessions", true),
        ("deliberate://sessions/a", true),
        ("deliberate://sessions/a/markdown", true),
        ("deliberate://sessions/a/markdown?offset=5", true),
        ("deliberate://sessions/a/b", false),
        ("deliberate://sessions/a?limit=5", false),
        ("deliberate://nothing/a", false),
        ("file:///a", false),
    ] {
        assert_eq!(ReasoningResources.matches(uri), known, "{uri}");
    }
}
