//! Every change, and the read that returns its data.

use deliberate_core::{
    BranchState, Change, Checkpoint, CrossRef, CrossRefKind, EdgeKind, Mode, NodeKind, Score,
    Session, Thought, Timestamp,
};
use deliberate_store::{BranchEntry, Store, StoreInfo};
use serde_json::{Value, json};

use super::{ALL, All, Current, Fixture, branches, commit};
use crate::samples::{
    ODD_TEXT, branch, cross_ref, edge, everything, full_invocation, full_thought, graph,
    invocation, node, score, session, thought,
};

pub(crate) async fn one_of_everything_comes_back_whole(it: Fixture) {
    let all = everything("s");
    commit(&*it.store, all.changes()).await;
    assert_everything(&*it.store, &all).await;
}

/// Asserts that every list of the store equals `all`.
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
    let newest_first = all.checkpoints.iter().rev().cloned();
    let places: Vec<_> = newest_first.map(as_listed).collect();
    assert_eq!(store.checkpoints(id, ALL).await.unwrap(), places);
    assert_eq!(store.snapshots(id, ALL).await.unwrap(), all.snapshots);
    assert_eq!(
        store.invocations(Some(id), ALL).await.unwrap(),
        all.invocations
    );
}

/// Returns the branch as a list entry.
fn entry(branch: &deliberate_core::Branch, all: &crate::samples::Everything) -> BranchEntry {
    let on_it = |it: &&Thought| it.branch_id.as_ref() == Some(&branch.id);
    let thoughts: Vec<_> = all.thoughts.iter().filter(on_it).collect();
    BranchEntry {
        branch: branch.clone(),
        thoughts: thoughts.len() as u64,
        first_text: thoughts.first().map(|it| it.content.clone()),
    }
}

/// Returns the checkpoint as lists return it, without its snapshot, which may be large.
pub(crate) fn as_listed(checkpoint: Checkpoint) -> Checkpoint {
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
        CrossRefKind::Supports,
        CrossRefKind::Contradicts,
        CrossRefKind::Extends,
        CrossRefKind::Alternative,
        CrossRefKind::Depends,
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
        assert_eq!(store.suspended_call(&id.into()).await.unwrap(), None);
        assert_eq!(store.thoughts(&id.into(), Current, ALL).await.unwrap(), []);
        assert_eq!(store.latest_thoughts(&id.into(), 9).await.unwrap(), []);
        assert_eq!(
            store.latest_branch_thoughts(&id.into(), 9).await.unwrap(),
            []
        );
        assert_eq!(store.ancestors(&id.into(), 9).await.unwrap(), []);
        for which in [Current, All] {
            assert_eq!(
                store.branch_thoughts(&id.into(), which, ALL).await.unwrap(),
                []
            );
        }
        assert_eq!(store.first_prompt(&id.into()).await.unwrap(), None);
        assert_eq!(store.root_thought(&id.into()).await.unwrap(), None);
        assert_eq!(
            store.checkpoint_by_name(&id.into(), id).await.unwrap(),
            None
        );
        assert_eq!(store.preview_backtrack(&id.into()).await.unwrap(), None);
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
    // The session may have been deleted while the call was running.
    let kept = deliberate_core::Invocation {
        session_id: None,
        input: serde_json::json!({}),
        output: None,
        error: None,
        ..record
    };
    assert_eq!(it.store.invocations(None, ALL).await.unwrap(), [kept]);
}

pub(crate) async fn the_state_counts_what_is_there(it: Fixture) {
    let empty = it.store.info().await.unwrap();
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
    let counted = StoreInfo {
        sessions: 2,
        thoughts: 3,
        ..empty
    };
    assert_eq!(it.store.info().await.unwrap(), counted);
}
