//! Every change, and the read that gives it back.

use deliberate_core::{
    BranchState, Change, Checkpoint, CrossRef, EdgeKind, Graph, Mode, NodeKind, RefKind, Score,
    Session, Thought, Timestamp,
};
use deliberate_store::{BranchEntry, State, Store};
use serde_json::{Value, json};

use super::{ALL, All, Current, Fixture, branches, commit};
use crate::samples::{
    ODD_TEXT, at, branch, checkpoint, cross_ref, edge, everything, full_branch, full_invocation,
    full_node, full_session, full_thought, graph, invocation, node, odd_json, score, session,
    thought,
};

pub(crate) async fn one_of_everything_comes_back_whole(it: Fixture) {
    let all = everything("s");
    commit(&*it.store, all.changes()).await;
    assert_everything(&*it.store, &all).await;
}

/// Asserts that every list of the store is exactly what `all` says.
pub(crate) async fn assert_everything(store: &dyn Store, all: &crate::samples::Everything) {
    let id = &all.session.id;
    assert_eq!(
        store.session(id).await.unwrap().as_ref(),
        Some(&all.session)
    );
    let entries: Vec<_> = all.branches.iter().map(|it| entry(it, all)).collect();
    let graph = &all.graphs[0].id;
    for which in [Current, All] {
        assert_eq!(store.branches(id, which, ALL).await.unwrap(), entries);
        assert_eq!(store.thoughts(id, which, ALL).await.unwrap(), all.thoughts);
        assert_eq!(
            store.cross_refs(id, which, ALL).await.unwrap(),
            all.cross_refs
        );
        assert_eq!(store.graphs(id, which, ALL).await.unwrap(), all.graphs);
        assert_eq!(store.nodes(graph, which, ALL).await.unwrap(), all.nodes);
        assert_eq!(store.edges(graph, which, ALL).await.unwrap(), all.edges);
    }
    let places: Vec<_> = all.checkpoints.iter().cloned().map(listed).collect();
    assert_eq!(store.checkpoints(id, ALL).await.unwrap(), places);
    assert_eq!(store.snapshots(id, ALL).await.unwrap(), all.snapshots);
    assert_eq!(
        store.invocations(Some(id), ALL).await.unwrap(),
        all.invocations
    );
}

/// The branch as lists give it.
fn entry(branch: &deliberate_core::Branch, all: &crate::samples::Everything) -> BranchEntry {
    let on_it = |it: &&Thought| it.branch_id.as_ref() == Some(&branch.id);
    let thoughts: Vec<_> = all.thoughts.iter().filter(on_it).collect();
    BranchEntry {
        branch: branch.clone(),
        thoughts: thoughts.len() as u64,
        opening: thoughts.first().map(|it| it.content.clone()),
    }
}

/// The checkpoint as lists give it: a snapshot may be large.
pub(crate) fn listed(checkpoint: Checkpoint) -> Checkpoint {
    Checkpoint {
        snapshot: Value::Null,
        ..checkpoint
    }
}

pub(crate) async fn one_of_everything_is_found_by_its_id(it: Fixture) {
    let all = everything("s");
    commit(&*it.store, all.changes()).await;
    for wanted in &all.thoughts {
        assert_eq!(
            it.store.thought(&wanted.id).await.unwrap().as_ref(),
            Some(wanted)
        );
    }
    for wanted in &all.branches {
        assert_eq!(
            it.store.branch(&wanted.id).await.unwrap().as_ref(),
            Some(wanted)
        );
    }
    for wanted in &all.checkpoints {
        assert_eq!(
            it.store.checkpoint(&wanted.id).await.unwrap().as_ref(),
            Some(wanted)
        );
    }
    for wanted in &all.graphs {
        assert_eq!(
            it.store.graph(&wanted.id).await.unwrap().as_ref(),
            Some(wanted)
        );
    }
    for wanted in &all.nodes {
        assert_eq!(
            it.store.node(&wanted.id).await.unwrap().as_ref(),
            Some(wanted)
        );
    }
}

pub(crate) async fn every_word_of_every_kind_is_kept(it: Fixture) {
    use EdgeKind::{Aggregates, Contradicts, Generates, Refines, Supports};
    use NodeKind::{Aggregation, Conclusion, Hypothesis, Refinement, Root, Terminal};

    let mut changes = Vec::new();
    let mut thoughts = Vec::new();
    for mode in Mode::ALL {
        changes.push(Change::AddSession(Session {
            mode,
            ..session(mode.as_str())
        }));
    }
    for mode in Mode::ALL {
        let thought = Thought {
            mode,
            ..thought(&format!("t-{mode}"), "linear")
        };
        changes.push(Change::AddThought(thought.clone()));
        thoughts.push(thought);
    }
    let states = [
        BranchState::Active,
        BranchState::Completed,
        BranchState::Abandoned,
    ];
    let opened = states.map(|state| deliberate_core::Branch {
        state,
        ..branch(state.as_str(), "tree")
    });
    changes.extend(opened.iter().cloned().map(Change::AddBranch));
    let kinds = [
        RefKind::Supports,
        RefKind::Contradicts,
        RefKind::Extends,
        RefKind::Alternative,
        RefKind::Depends,
    ];
    let references = kinds.map(|ref_type| CrossRef {
        ref_type,
        ..cross_ref(ref_type.as_str(), "active", "completed")
    });
    changes.extend(references.iter().cloned().map(Change::AddCrossRef));
    changes.push(Change::AddGraph(graph("g", "got")));
    let nodes = [
        Root,
        NodeKind::Thought,
        Hypothesis,
        Conclusion,
        Aggregation,
        Refinement,
        Terminal,
    ]
    .map(|node_type| deliberate_core::GraphNode {
        node_type,
        ..node(node_type.as_str(), "g", "got")
    });
    changes.extend(nodes.iter().cloned().map(Change::AddNode));
    let edges = [Generates, Refines, Aggregates, Supports, Contradicts].map(|edge_type| {
        deliberate_core::GraphEdge {
            edge_type,
            ..edge(edge_type.as_str(), "g", "root", "thought")
        }
    });
    changes.extend(edges.iter().cloned().map(Change::AddEdge));
    commit(&*it.store, changes).await;

    for mode in Mode::ALL {
        let stored = it.store.session(&mode.as_str().into()).await.unwrap();
        assert_eq!(stored.map(|session| session.mode), Some(mode));
    }
    let store = &it.store;
    assert_eq!(
        store
            .thoughts(&"linear".into(), Current, ALL)
            .await
            .unwrap(),
        thoughts
    );
    assert_eq!(branches(&**store, &"tree".into(), Current).await, opened);
    assert_eq!(
        store
            .cross_refs(&"tree".into(), Current, ALL)
            .await
            .unwrap(),
        references
    );
    assert_eq!(store.nodes(&"g".into(), Current, ALL).await.unwrap(), nodes);
    assert_eq!(store.edges(&"g".into(), Current, ALL).await.unwrap(), edges);
}

pub(crate) async fn moments_and_scores_are_kept_exactly(it: Fixture) {
    let moments = [
        0,
        -1,
        -62_135_596_800_000_000,
        1_767_225_600_000_001,
        253_402_300_799_999_999,
    ];
    let scores = [0.0, 1.0, f64::MIN_POSITIVE, 1.0 / 3.0, 1.0 - f64::EPSILON];
    let thoughts: Vec<_> = moments
        .into_iter()
        .zip(scores)
        .enumerate()
        .map(|(number, (micros, confidence))| Thought {
            created_at: Timestamp::from_micros(micros),
            confidence: score(confidence),
            ..thought(&format!("t{number}"), "s")
        })
        .collect();
    let mut changes = vec![Change::AddSession(session("s"))];
    changes.extend(thoughts.iter().cloned().map(Change::AddThought));
    commit(&*it.store, changes).await;
    assert_eq!(
        it.store.thoughts(&"s".into(), Current, ALL).await.unwrap(),
        thoughts
    );
}

pub(crate) async fn long_text_is_kept_whole(it: Fixture) {
    let long = Thought {
        input: Some("ж".repeat(1_000_000)),
        content: "🧠".repeat(500_000),
        metadata: Some(json!({ "long": "x".repeat(1_000_000) })),
        ..thought("t", "s")
    };
    commit(
        &*it.store,
        vec![
            Change::AddSession(session("s")),
            Change::AddThought(long.clone()),
        ],
    )
    .await;
    assert!(it.store.thought(&"t".into()).await.unwrap() == Some(long));
}

pub(crate) async fn what_is_not_there_is_none_or_empty(it: Fixture) {
    for id in ["nothing", "", "' OR '1'='1", ODD_TEXT] {
        let store = &*it.store;
        assert_eq!(store.session(&id.into()).await.unwrap(), None);
        assert_eq!(store.thought(&id.into()).await.unwrap(), None);
        assert_eq!(store.branch(&id.into()).await.unwrap(), None);
        assert_eq!(store.checkpoint(&id.into()).await.unwrap(), None);
        assert_eq!(store.graph(&id.into()).await.unwrap(), None);
        assert_eq!(store.node(&id.into()).await.unwrap(), None);
        assert_eq!(store.suspension(&id.into()).await.unwrap(), None);
        assert_eq!(store.thoughts(&id.into(), Current, ALL).await.unwrap(), []);
        assert_eq!(store.latest_thoughts(&id.into(), 9).await.unwrap(), []);
        assert_eq!(store.latest_on_branch(&id.into(), 9).await.unwrap(), []);
        assert_eq!(store.line(&id.into(), 9).await.unwrap(), []);
        assert_eq!(store.way_back(&id.into()).await.unwrap(), None);
        assert_eq!(store.branches(&id.into(), Current, ALL).await.unwrap(), []);
        assert_eq!(
            store.cross_refs(&id.into(), Current, ALL).await.unwrap(),
            []
        );
        assert_eq!(store.checkpoints(&id.into(), ALL).await.unwrap(), []);
        assert_eq!(store.snapshots(&id.into(), ALL).await.unwrap(), []);
        assert_eq!(store.graphs(&id.into(), Current, ALL).await.unwrap(), []);
        assert_eq!(store.nodes(&id.into(), Current, ALL).await.unwrap(), []);
        assert_eq!(store.edges(&id.into(), Current, ALL).await.unwrap(), []);
        assert_eq!(store.invocations(Some(&id.into()), ALL).await.unwrap(), []);
    }
    assert_eq!(it.store.invocations(None, ALL).await.unwrap(), []);
    assert_eq!(it.store.sessions(ALL).await.unwrap(), []);
}

pub(crate) async fn a_session_is_renamed(it: Fixture) {
    let named = |title: &str, moment| Change::RenameSession {
        session_id: "s".into(),
        title: title.to_owned(),
        at: moment,
    };
    commit(&*it.store, vec![Change::AddSession(full_session("s"))]).await;
    for (title, second) in [("first", 50), (ODD_TEXT, 60), ("", 70)] {
        commit(&*it.store, vec![named(title, at(second))]).await;
        let renamed = Session {
            title: Some(title.to_owned()),
            updated_at: at(second),
            ..full_session("s")
        };
        assert_eq!(it.store.session(&"s".into()).await.unwrap(), Some(renamed));
    }
}

fn keep_thread(thread: Option<&str>) -> Change {
    Change::KeepThread {
        session_id: "s".into(),
        thread: thread.map(str::to_owned),
    }
}

pub(crate) async fn a_thread_is_kept_and_let_go_of_beside_other_metadata(it: Fixture) {
    let with = |thread: Option<&str>| {
        let mut metadata = odd_json();
        if let Some(thread) = thread {
            metadata["thread"] = json!(thread);
        }
        Some(Session {
            metadata: Some(metadata),
            ..full_session("s")
        })
    };
    commit(&*it.store, vec![Change::AddSession(full_session("s"))]).await;
    for thread in [None, Some("one"), Some(ODD_TEXT), None, Some(""), None] {
        commit(&*it.store, vec![keep_thread(thread)]).await;
        let stored = it.store.session(&"s".into()).await.unwrap();
        assert_eq!(stored, with(thread));
    }
}

pub(crate) async fn a_thread_is_kept_where_there_was_no_metadata(it: Fixture) {
    let metadata = async || {
        let stored = it.store.session(&"s".into()).await.unwrap();
        stored.unwrap().metadata
    };
    commit(&*it.store, vec![Change::AddSession(session("s"))]).await;
    commit(&*it.store, vec![keep_thread(None)]).await;
    assert_eq!(metadata().await, None);
    commit(&*it.store, vec![keep_thread(Some("one"))]).await;
    assert_eq!(metadata().await, Some(json!({ "thread": "one" })));
    commit(&*it.store, vec![keep_thread(None)]).await;
    assert_eq!(metadata().await, Some(json!({})));
}

/// Imported sessions may have metadata that is no object; there is no room for a thread in it, and
/// it is worth more than the thread.
pub(crate) async fn metadata_that_is_no_object_is_left_as_it_is(it: Fixture) {
    for (number, metadata) in [json!("text"), json!([1, { "a": 0.1 }]), json!(7)]
        .into_iter()
        .enumerate()
    {
        let odd = Session {
            metadata: Some(metadata),
            ..session(&format!("s{number}"))
        };
        commit(&*it.store, vec![Change::AddSession(odd.clone())]).await;
        for thread in [Some("one".to_owned()), None] {
            let session_id = odd.id.clone();
            let change = Change::KeepThread { session_id, thread };
            commit(&*it.store, vec![change]).await;
            let stored = it.store.session(&odd.id).await.unwrap();
            assert_eq!(stored.as_ref(), Some(&odd));
        }
    }
}

pub(crate) async fn a_node_moves_the_times_of_its_graph_and_session(it: Fixture) {
    let early = Graph {
        updated_at: at(7),
        ..graph("g", "s")
    };
    commit(
        &*it.store,
        vec![
            Change::AddSession(session("s")),
            Change::AddGraph(early.clone()),
        ],
    )
    .await;
    let times = async || {
        let graph = it.store.graph(&"g".into()).await.unwrap().unwrap();
        let session = it.store.session(&"s".into()).await.unwrap().unwrap();
        (graph.updated_at, session.updated_at)
    };
    assert_eq!(times().await, (at(7), at(7)));
    commit(&*it.store, vec![Change::AddNode(node("n", "g", "s"))]).await;
    assert_eq!(times().await, (at(8), at(8)));
}

pub(crate) async fn a_sessions_time_never_goes_back(it: Fixture) {
    let late = Session {
        title: Some("late".to_owned()),
        updated_at: at(100),
        ..session("s")
    };
    commit(
        &*it.store,
        vec![
            Change::AddSession(late.clone()),
            Change::AddThought(thought("t", "s")),
            Change::AddCheckpoint(checkpoint("c", "s")),
            Change::AddGraph(Graph {
                updated_at: at(7),
                ..graph("g", "s")
            }),
            Change::AddNode(node("n", "g", "s")),
            Change::RenameSession {
                session_id: "s".into(),
                title: "late".to_owned(),
                at: at(1),
            },
            Change::FollowBranch {
                session_id: "s".into(),
                branch_id: None,
                at: at(2),
            },
        ],
    )
    .await;
    assert_eq!(it.store.session(&"s".into()).await.unwrap(), Some(late));
}

pub(crate) async fn a_branch_becomes_what_an_update_says(it: Fixture) {
    let after = deliberate_core::Branch {
        parent_id: None,
        created_at: at(1),
        ..full_branch("b", "s", "")
    };
    commit(
        &*it.store,
        vec![
            Change::AddSession(session("s")),
            Change::AddBranch(branch("b", "s")),
            Change::AddBranch(branch("other", "s")),
            Change::UpdateBranch(after.clone()),
        ],
    )
    .await;
    let branches = branches(&*it.store, &"s".into(), Current).await;
    assert_eq!(branches, [after, branch("other", "s")]);
}

pub(crate) async fn a_node_becomes_what_an_update_says(it: Fixture) {
    let after = full_node("n", "g", "s");
    commit(
        &*it.store,
        vec![
            Change::AddSession(session("s")),
            Change::AddGraph(graph("g", "s")),
            Change::AddNode(node("n", "g", "s")),
            Change::AddNode(node("other", "g", "s")),
            Change::UpdateNode(after.clone()),
        ],
    )
    .await;
    let nodes = it.store.nodes(&"g".into(), Current, ALL).await.unwrap();
    assert_eq!(nodes, [after, node("other", "g", "s")]);
}

pub(crate) async fn a_session_follows_a_branch_and_lets_go_of_it(it: Fixture) {
    let follow = |branch: Option<&str>, moment| Change::FollowBranch {
        session_id: "s".into(),
        branch_id: branch.map(Into::into),
        at: moment,
    };
    commit(
        &*it.store,
        vec![
            Change::AddSession(full_session("s")),
            Change::AddBranch(branch("b", "s")),
            follow(Some("b"), at(20)),
        ],
    )
    .await;
    let following = Session {
        active_branch_id: Some("b".into()),
        updated_at: at(20),
        ..full_session("s")
    };
    assert_eq!(
        it.store.session(&"s".into()).await.unwrap(),
        Some(following)
    );

    commit(&*it.store, vec![follow(None, at(30))]).await;
    let free = Session {
        updated_at: at(30),
        ..full_session("s")
    };
    assert_eq!(it.store.session(&"s".into()).await.unwrap(), Some(free));
}

pub(crate) async fn recording_a_call_twice_records_it_once(it: Fixture) {
    let first = full_invocation("i", "s");
    let again = invocation("i", None);
    commit(
        &*it.store,
        vec![
            Change::AddSession(session("s")),
            Change::AddInvocation(first.clone()),
        ],
    )
    .await;
    commit(&*it.store, vec![Change::AddInvocation(again)]).await;
    assert_eq!(it.store.invocations(None, ALL).await.unwrap(), [first]);
}

pub(crate) async fn a_call_on_an_unknown_session_is_recorded_without_it(it: Fixture) {
    let record = full_invocation("i", "never made");
    commit(&*it.store, vec![Change::AddInvocation(record.clone())]).await;
    let kept = deliberate_core::Invocation {
        session_id: None,
        ..record
    };
    assert_eq!(it.store.invocations(None, ALL).await.unwrap(), [kept]);
}

pub(crate) async fn the_state_counts_what_is_there(it: Fixture) {
    let empty = it.store.state().await.unwrap();
    assert!(
        empty.schema_version >= 1 && !empty.location.is_empty(),
        "{empty:?}"
    );
    assert_eq!((empty.sessions, empty.thoughts), (0, 0));

    commit(&*it.store, everything("s").changes()).await;
    commit(
        &*it.store,
        vec![
            Change::AddSession(session("other")),
            Change::AddThought(Thought {
                confidence: Score::ONE,
                ..full_thought("t", "other", "s-t1", "s-b1")
            }),
        ],
    )
    .await;
    let counted = State {
        sessions: 2,
        thoughts: 3,
        ..empty
    };
    assert_eq!(it.store.state().await.unwrap(), counted);
}
