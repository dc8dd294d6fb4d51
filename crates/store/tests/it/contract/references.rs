//! References between entities, and the effect of deletions on them.

use deliberate_core::{
    Branch, BranchState, Change, Checkpoint, Invocation, NodeUpdate, Session, StateSnapshot,
    SuspendedCall, Thought,
};
use deliberate_store::Store;
use serde_json::{Value, json};

use super::{
    ALL, Current, Fixture, assert_conflict, branches, chain_runs::run, commit, prune,
    round_trip::as_listed, set_state, update_node,
};
use crate::samples::{
    at_second, branch, checkpoint, cross_ref, edge, everything, full_branch, full_checkpoint,
    full_snapshot, full_thought, graph, invocation, node, session, snapshot, suspended_call,
    thought,
};

pub(crate) async fn what_belongs_to_an_unknown_session_is_refused(it: Fixture) {
    commit(&*it.store, everything("s").changes()).await;
    for change in [
        Change::AddThought(thought("t", "missing")),
        Change::AddBranch(branch("b", "missing")),
        Change::AddCheckpoint(checkpoint("c", "missing")),
        Change::AddSnapshot(snapshot("p", "missing")),
        Change::AddGraph(graph("g", "missing")),
        Change::AddNode(node("n", "s-g1", "missing")),
    ] {
        assert_conflict(&*it.store, change).await;
    }
    let session = it.store.session(&"missing".into()).await.unwrap();
    assert_eq!(session, None, "no session comes of it");
}

pub(crate) async fn what_refers_to_something_unknown_is_refused(it: Fixture) {
    let all = everything("s");
    commit(&*it.store, all.changes()).await;
    for change in [
        Change::AddThought(full_thought("t", "s", "missing", "s-b1")),
        Change::AddThought(full_thought("t", "s", "s-t1", "missing")),
        Change::AddBranch(full_branch("b", "s", "missing")),
        Change::AddCrossRef(cross_ref("r", "missing", "s-b1")),
        Change::AddCrossRef(cross_ref("r", "s-b1", "missing")),
        Change::AddCheckpoint(full_checkpoint("c", "s", "missing")),
        Change::AddSnapshot(full_snapshot("p", "s", "missing")),
        Change::AddNode(node("n", "missing", "s")),
        Change::AddEdge(edge("e", "missing", "s-n1", "s-n2")),
        Change::AddEdge(edge("e", "s-g1", "missing", "s-n2")),
        Change::AddEdge(edge("e", "s-g1", "s-n1", "missing")),
        Change::AddSession(Session {
            active_branch_id: Some("missing".into()),
            ..session("new")
        }),
        Change::SetActiveBranch {
            session_id: "s".into(),
            branch_id: Some("missing".into()),
            at: at_second(300),
        },
    ] {
        assert_conflict(&*it.store, change).await;
    }
    super::round_trip::assert_everything(&*it.store, &all).await;
}

pub(crate) async fn an_id_can_be_used_once(it: Fixture) {
    let all = everything("s");
    commit(&*it.store, all.changes()).await;
    commit(&*it.store, vec![Change::AddSession(session("other"))]).await;
    for change in [
        Change::AddSession(session("s")),
        Change::AddThought(thought("s-t1", "other")),
        Change::AddBranch(branch("s-b1", "other")),
        Change::AddCrossRef(cross_ref("s-r1", "s-b2", "s-b1")),
        Change::AddCheckpoint(checkpoint("s-c1", "other")),
        Change::AddSnapshot(snapshot("s-p1", "other")),
        Change::AddGraph(graph("s-g1", "other")),
        Change::AddNode(node("s-n1", "s-g2", "s")),
        Change::AddEdge(edge("s-e1", "s-g1", "s-n2", "s-n1")),
    ] {
        assert_conflict(&*it.store, change).await;
    }
    super::round_trip::assert_everything(&*it.store, &all).await;
}

pub(crate) async fn what_is_not_there_can_not_be_changed(it: Fixture) {
    let all = everything("s");
    commit(&*it.store, all.changes()).await;
    for change in [
        Change::RenameSession {
            session_id: "missing".into(),
            title: "new".to_owned(),
            at: at_second(300),
        },
        Change::SetProviderThread {
            session_id: "missing".into(),
            thread: Some("new".to_owned()),
        },
        Change::SetProviderThread {
            session_id: "missing".into(),
            thread: None,
        },
        prune("s-g1", &["missing"]),
        prune("s-g2", &["s-n1"]),
        Change::DeleteSession("missing".into()),
        set_state("missing", BranchState::Active),
        update_node("missing", NodeUpdate::default()),
        Change::SetActiveBranch {
            session_id: "missing".into(),
            branch_id: Some("s-b1".into()),
            at: at_second(300),
        },
    ] {
        assert_conflict(&*it.store, change).await;
    }
    super::round_trip::assert_everything(&*it.store, &all).await;
}

async fn assert_nothing_of(store: &dyn Store, all: &crate::samples::Everything) {
    let id = &all.session.id;
    assert_eq!(store.session(id).await.unwrap(), None);
    for thought in &all.thoughts {
        assert_eq!(store.thought(&thought.id).await.unwrap(), None);
    }
    for branch in &all.branches {
        assert_eq!(store.branch(&branch.id).await.unwrap(), None);
    }
    for checkpoint in &all.checkpoints {
        assert_eq!(store.checkpoint(&checkpoint.id).await.unwrap(), None);
    }
    for graph in &all.graphs {
        assert_eq!(store.graph(&graph.id).await.unwrap(), None);
        assert_eq!(store.edges(&graph.id, Current, ALL).await.unwrap(), []);
    }
    for node in &all.nodes {
        assert_eq!(store.node(&node.id).await.unwrap(), None);
    }
    assert_eq!(store.cross_refs(id, Current, ALL).await.unwrap(), []);
    assert_eq!(store.snapshots(id, ALL).await.unwrap(), []);
}

pub(crate) async fn deleting_a_session_takes_along_all_that_belongs_to_it(it: Fixture) {
    let all = everything("s");
    commit(&*it.store, all.changes()).await;
    commit(&*it.store, vec![Change::DeleteSession("s".into())]).await;
    assert_nothing_of(&*it.store, &all).await;
    // The log records stay, because they describe what happened, but not what was said.
    let records: Vec<_> = all
        .invocations
        .into_iter()
        .map(|record| match record.session_id {
            Some(_) => Invocation {
                session_id: None,
                input: serde_json::json!({}),
                output: None,
                error: None,
                ..record
            },
            None => record,
        })
        .collect();
    assert_eq!(it.store.invocations(None, ALL).await.unwrap(), records);
}

pub(crate) async fn deleting_a_session_leaves_the_others_alone(it: Fixture) {
    let other = everything("other");
    commit(&*it.store, everything("s").changes()).await;
    commit(&*it.store, other.changes()).await;
    commit(&*it.store, vec![Change::DeleteSession("s".into())]).await;
    super::round_trip::assert_everything(&*it.store, &other).await;
    let state = it.store.info().await.unwrap();
    assert_eq!((state.sessions, state.thoughts), (1, 2));
}

pub(crate) async fn references_into_a_deleted_session_are_let_go(it: Fixture) {
    let follower = Session {
        active_branch_id: Some("s-b1".into()),
        updated_at: at_second(90),
        ..session("other")
    };
    let step = full_thought("t", "other", "s-t1", "s-b1");
    let offshoot = full_branch("b", "other", "s-b1");
    let place = full_checkpoint("c", "other", "s-b1");
    let state = full_snapshot("p", "other", "s-p1");
    commit(&*it.store, everything("s").changes()).await;
    commit(
        &*it.store,
        vec![
            Change::AddSession(follower.clone()),
            Change::AddBranch(offshoot.clone()),
            Change::AddThought(step.clone()),
            Change::AddCrossRef(cross_ref("r", "b", "s-b1")),
            Change::AddCheckpoint(place.clone()),
            Change::AddSnapshot(state.clone()),
        ],
    )
    .await;
    commit(&*it.store, vec![Change::DeleteSession("s".into())]).await;

    let (store, other) = (&it.store, "other".into());
    assert_eq!(
        store.session(&other).await.unwrap(),
        Some(Session {
            active_branch_id: None,
            ..follower
        })
    );
    assert_eq!(
        store.thoughts(&other, Current, ALL).await.unwrap(),
        [Thought {
            parent_id: None,
            branch_id: None,
            ..step
        }]
    );
    assert_eq!(
        branches(&**store, &other, Current).await,
        [Branch {
            parent_id: None,
            ..offshoot
        }]
    );
    assert_eq!(
        store.checkpoints(&other, ALL).await.unwrap(),
        [Checkpoint {
            branch_id: None,
            ..as_listed(place)
        }]
    );
    assert_eq!(
        store.snapshots(&other, ALL).await.unwrap(),
        [StateSnapshot {
            parent_id: None,
            ..state
        }]
    );
    assert_eq!(store.cross_refs(&other, Current, ALL).await.unwrap(), []);
}

pub(crate) async fn the_id_of_a_deleted_session_can_be_used_again(it: Fixture) {
    let all = everything("s");
    commit(&*it.store, all.changes()).await;
    let mut changes = vec![Change::DeleteSession("s".into())];
    changes.extend(
        all.changes()
            .into_iter()
            .filter(|it| !matches!(it, Change::AddInvocation(_))),
    );
    commit(&*it.store, changes).await;
    assert_eq!(
        it.store.session(&"s".into()).await.unwrap(),
        Some(all.session)
    );
    assert_eq!(
        it.store.thoughts(&"s".into(), Current, ALL).await.unwrap(),
        all.thoughts
    );
}

fn record(id: &str, tool: &str, input: Value, output: Option<Value>) -> Invocation {
    Invocation {
        tool_name: tool.to_owned(),
        input,
        output,
        error: Some("private".to_owned()),
        ..invocation(id, None)
    }
}

/// Returns the ids of the records that still have a text.
async fn records_with_texts(store: &dyn Store) -> Vec<String> {
    let mut records = store.invocations(None, ALL).await.unwrap();
    records.retain(|it| format!("{:?}{:?}{:?}", it.input, it.output, it.error).contains("private"));
    records.iter().map(|it| it.id.to_string()).collect()
}

pub(crate) async fn records_and_calls_that_name_a_deleted_session_lose_their_texts(it: Fixture) {
    let store = &*it.store;
    commit(store, everything("s").changes()).await;
    commit(store, everything("other").changes()).await;
    let node = json!({ "graph_id": "s-g1", "text": "private" });
    let thought = json!({ "thought_id": "s-t1", "text": "private" });
    let hits = |session: &str| {
        Some(json!({ "results": [{ "session_id": session, "content": "private" }] }))
    };
    let reply = json!({ "call_id": "asked", "reply": "private" });
    let records = [
        record("r1", "reasoning_got_score", node, None),
        record("r2", "reasoning_reflection", thought, None),
        record("r3", "reasoning_search", json!({}), hits("s")),
        record("r4", "reasoning_resume", reply, None),
        record("r5", "reasoning_search", json!({}), hits("other")),
        record("r6", "reasoning_get", json!({ "id": "s-g12" }), None),
        record("r7", "files__read", json!({ "id": "s-t1" }), None),
    ];
    commit(
        store,
        records.into_iter().map(Change::AddInvocation).collect(),
    )
    .await;
    let named = |id: &str, names: &str| SuspendedCall {
        arguments: json!({ "items": [{ "id": names }] }),
        ..suspended_call(id)
    };
    let calls = [named("asked", "s-b1"), named("kept", "other-b1")];
    commit(store, calls.into_iter().map(Change::Suspend).collect()).await;
    commit(store, vec![Change::DeleteSession("s".into())]).await;
    assert_eq!(records_with_texts(store).await, ["r7", "r6", "r5"]);
    assert!(
        store
            .suspended_call(&"asked".into())
            .await
            .unwrap()
            .is_none()
    );
    assert!(
        store
            .suspended_call(&"kept".into())
            .await
            .unwrap()
            .is_some()
    );
}

pub(crate) async fn records_of_chains_that_show_a_deleted_session_lose_their_texts(it: Fixture) {
    let store = &*it.store;
    let (gone, other) = ("session-one", "session-two");
    let sessions = [gone, other].map(|id| Change::AddSession(session(id)));
    commit(store, sessions.to_vec()).await;
    let shows = |id: &str| {
        let step = json!({ "session_id": id, "content": "private" }).to_string();
        Some(json!({ "said": format!("Step 1 answered {step}") }))
    };
    let records = [
        record("r1", "prompt_engine", json!({}), shows(gone)),
        record("r2", "prompt_engine", json!({ "command": gone }), None),
        record("r3", "prompt_engine", json!({}), shows(other)),
        record("r4", "files__read", json!({}), shows(gone)),
    ];
    let records = records.into_iter().map(Change::AddInvocation);
    commit(store, records.collect()).await;
    commit(store, vec![Change::DeleteSession(gone.into())]).await;
    assert_eq!(records_with_texts(store).await, ["r4", "r3"]);
}

pub(crate) async fn a_record_of_a_call_that_outlived_its_session_has_no_texts(it: Fixture) {
    let store = &*it.store;
    commit(store, everything("s").changes()).await;
    commit(store, everything("other").changes()).await;
    commit(store, vec![Change::DeleteSession("s".into())]).await;
    let hits = |sessions: &[&str]| {
        let hit = |id: &&str| json!({ "session_id": id, "content": "private" });
        Some(json!({ "results": sessions.iter().map(hit).collect::<Vec<_>>() }))
    };
    let read = |id: &str, session: &str| Invocation {
        session_id: Some(session.into()),
        ..record(id, "reasoning_get", json!({}), None)
    };
    let of_run = Invocation {
        session_id: Some("chain-a#1".into()),
        ..record("r5", "system_control", json!({}), None)
    };
    let records = [
        read("r1", "s"),
        read("r2", "other"),
        record("r3", "reasoning_search", json!({}), hits(&["other", "s"])),
        record("r4", "reasoning_search", json!({}), hits(&["other"])),
        of_run,
    ];
    let records = records.into_iter().map(Change::AddInvocation);
    commit(store, records.collect()).await;
    assert_eq!(records_with_texts(store).await, ["r5", "r4", "r2"]);
}

/// Records of reads are written some time after their answers.
pub(crate) async fn a_record_that_is_written_after_the_deletion_has_no_texts(it: Fixture) {
    let store = &*it.store;
    let (gone, other) = ("session-one", "session-two");
    let sessions = [gone, other].map(|id| Change::AddSession(session(id)));
    commit(store, sessions.to_vec()).await;
    commit(store, vec![Change::DeleteSession(gone.into())]).await;
    let shows = |id: &str| {
        let step = json!({ "session_id": id, "content": "private" }).to_string();
        Some(json!({ "said": format!("Step 1 answered {step}") }))
    };
    let named = |id: &str, session: &str| Invocation {
        session_id: Some(session.into()),
        ..record(id, "files__read", json!({}), None)
    };
    let records = [
        record("r1", "prompt_engine", json!({}), shows(gone)),
        record("r2", "prompt_engine", json!({ "command": gone }), None),
        record("r3", "prompt_engine", json!({}), shows(other)),
        named("r4", gone),
        named("r5", "a session of its own"),
    ];
    let records = records.into_iter().map(Change::AddInvocation);
    commit(store, records.collect()).await;
    assert_eq!(records_with_texts(store).await, ["r5", "r3"]);
    // A session with the same id has its own records.
    let again = record("r6", "prompt_engine", json!({}), shows(gone));
    let changes = vec![
        Change::AddSession(session(gone)),
        Change::AddInvocation(again),
    ];
    commit(store, changes).await;
    assert_eq!(records_with_texts(store).await, ["r6", "r5", "r3"]);
}

pub(crate) async fn records_of_a_deleted_run_lose_their_texts(it: Fixture) {
    let store = &*it.store;
    let runs = [run("a", 1), run("a", 2)];
    commit(store, runs.map(Change::StartRun).to_vec()).await;
    let step = |run: &str| json!({ "chain_id": run, "user_response": "private" });
    let answer = Some(json!({ "chain_id": "chain-a#1", "text": "private" }));
    let records = [
        record("r1", "prompt_engine", json!({ "command": ">>a" }), answer),
        record("r2", "prompt_engine", step("chain-a#1"), None),
        record("r3", "prompt_engine", step("chain-a#2"), None),
    ];
    commit(
        store,
        records.into_iter().map(Change::AddInvocation).collect(),
    )
    .await;
    commit(store, vec![Change::DeleteRun("chain-a#1".into())]).await;
    assert_eq!(records_with_texts(store).await, ["r3"]);
}
