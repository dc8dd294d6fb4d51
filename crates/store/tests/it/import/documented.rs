//! Imports of a database with the documented tables.

use deliberate_core::{
    Branch, BranchState, Checkpoint, CheckpointKind, CrossRef, CrossRefKind, EdgeKind, Graph,
    GraphEdge, GraphNode, Invocation, Mode, ModelUsage, NodeKind, Session, StateSnapshot, Thought,
};
use deliberate_store::{Store, sqlite::ImportReport};
use serde_json::{Value, json};

use super::{ImportFixture, counts, time};
use crate::{
    contract::{ALL, Current, branches},
    legacy_database::{DOCUMENTED, DOCUMENTED_ROWS},
    samples::score,
};

#[tokio::test]
async fn a_database_as_documented_is_taken_whole() {
    let it = ImportFixture::from(DOCUMENTED, DOCUMENTED_ROWS).await;
    let before = std::fs::read(&it.old).unwrap();
    let report = it.import().await.unwrap();
    assert_eq!(
        report,
        ImportReport {
            tables: counts([3, 2, 3, 1, 1, 2, 3, 1, 2].map(|taken| (taken, 0, 0))),
            notes: Vec::new(),
        }
    );
    assert_eq!(
        std::fs::read(&it.old).unwrap(),
        before,
        "the old file is only read"
    );
    assert_linear_session(&it.new).await;
    assert_tree_session(&it.new).await;
    assert_graphs(&it.new).await;
}

async fn assert_linear_session(store: &dyn Store) {
    let lin = "lin".into();
    assert_eq!(
        store.session(&lin).await.unwrap(),
        Some(Session {
            id: "lin".into(),
            mode: Mode::Linear,
            title: None,
            created_at: time("2025-12-16T10:00:00Z"),
            updated_at: time("2025-12-16T10:05:00.250Z"),
            active_branch_id: None,
            metadata: Some(json!({ "user": "ann" })),
        })
    );
    let first = Thought {
        id: "t1".into(),
        session_id: "lin".into(),
        input: None,
        content: "первая мысль 思考".to_owned(),
        confidence: score(0.9),
        mode: Mode::Linear,
        parent_id: None,
        branch_id: None,
        set_aside: false,
        created_at: time("2025-12-16T10:00:01Z"),
        metadata: None,
    };
    let second = Thought {
        id: "t2".into(),
        content: "second".to_owned(),
        confidence: score(0.25),
        parent_id: Some("t1".into()),
        created_at: time("2025-12-16T10:00:02Z"),
        metadata: Some(json!({ "k": [1] })),
        ..first.clone()
    };
    assert_eq!(
        store.thoughts(&lin, Current, ALL).await.unwrap(),
        [first, second]
    );
    assert_eq!(
        store.invocations(Some(&lin), ALL).await.unwrap(),
        [Invocation {
            id: "i1".into(),
            session_id: Some("lin".into()),
            tool_name: "reasoning_linear".to_owned(),
            principal: None,
            input: json!({ "content": "x" }),
            output: Some(json!({ "thought": "y" })),
            pipe_name: Some("linear-reasoning-v1".to_owned()),
            latency_ms: Some(120),
            success: true,
            error: None,
            error_code: None,
            spent: ModelUsage::default(),
            created_at: time("2025-12-16T10:00:01Z"),
        }]
    );
}

pub(super) async fn assert_tree_session(store: &dyn Store) {
    let tree = "tree".into();
    let session = store.session(&tree).await.unwrap().unwrap();
    assert_eq!(session.mode, Mode::Tree);
    assert_eq!(session.active_branch_id, Some("b2".into()));
    assert_eq!(session.updated_at, time("2025-12-16T11:05:00Z"));
    let root = Branch {
        id: "b1".into(),
        session_id: "tree".into(),
        name: Some("root".to_owned()),
        parent_id: None,
        state: BranchState::Completed,
        confidence: score(0.75),
        priority: 3,
        set_aside: false,
        created_at: time("2025-12-16T11:00:01Z"),
        updated_at: time("2025-12-16T11:00:02Z"),
        metadata: Some(json!({ "rationale": "ok" })),
    };
    let child = Branch {
        id: "b2".into(),
        name: None,
        parent_id: Some("b1".into()),
        state: BranchState::Active,
        confidence: score(0.5),
        priority: -1,
        created_at: time("2025-12-16T11:00:03Z"),
        updated_at: time("2025-12-16T11:00:03Z"),
        metadata: None,
        ..root.clone()
    };
    assert_eq!(branches(store, &tree, Current).await, [root, child]);
    let on_branch = store.thought(&"t3".into()).await.unwrap().unwrap();
    assert_eq!(
        (on_branch.mode, on_branch.branch_id),
        (Mode::Tree, Some("b2".into()))
    );
    assert_eq!(
        store.cross_refs(&tree, Current, ALL).await.unwrap(),
        [CrossRef {
            id: "r1".into(),
            from_branch: "b1".into(),
            to_branch: "b2".into(),
            ref_type: CrossRefKind::Contradicts,
            reason: Some("why not".to_owned()),
            strength: score(0.5),
            created_at: time("2025-12-16T11:00:05Z"),
        }]
    );
    assert_eq!(
        store.checkpoints(&tree, ALL).await.unwrap(),
        [Checkpoint {
            id: "c1".into(),
            session_id: "tree".into(),
            branch_id: Some("b1".into()),
            name: "here".to_owned(),
            description: Some("a place".to_owned()),
            snapshot: Value::Null,
            kind: CheckpointKind::Asked,
            created_at: time("2025-12-16T11:00:06Z"),
        }]
    );
    let place = store.checkpoint(&"c1".into()).await.unwrap().unwrap();
    assert_eq!(place.snapshot, json!({ "thoughts": [] }));
    let first = StateSnapshot {
        id: "p1".into(),
        session_id: "tree".into(),
        parent_id: None,
        snapshot_type: "full".to_owned(),
        description: None,
        data: json!({ "a": 1 }),
        created_at: time("2025-12-16T11:00:07Z"),
    };
    let second = StateSnapshot {
        id: "p2".into(),
        parent_id: Some("p1".into()),
        snapshot_type: "branch".to_owned(),
        description: Some("the next".to_owned()),
        data: json!([]),
        created_at: time("2025-12-16T11:00:08Z"),
        ..first.clone()
    };
    assert_eq!(store.snapshots(&tree, ALL).await.unwrap(), [first, second]);
}

pub(super) async fn assert_graphs(store: &dyn Store) {
    let graph = |id: &str, moment: &str, updated: &str| Graph {
        id: id.into(),
        session_id: "got".into(),
        problem: None,
        config: json!({}),
        set_aside: false,
        created_at: time(moment),
        updated_at: time(updated),
    };
    assert_eq!(
        store.graphs(&"got".into(), Current, ALL).await.unwrap(),
        [
            graph("g1", "2025-12-16T12:00:01Z", "2025-12-16T12:00:02Z"),
            graph("g2", "2025-12-16T12:00:03Z", "2025-12-16T12:00:03Z")
        ]
    );
    let root = GraphNode {
        id: "n1".into(),
        graph_id: "g1".into(),
        session_id: "got".into(),
        content: "root node".to_owned(),
        node_type: NodeKind::Root,
        score: None,
        depth: 0,
        is_active: true,
        is_terminal: false,
        pruned: false,
        set_aside: false,
        created_at: time("2025-12-16T12:00:01Z"),
        metadata: None,
    };
    let refined = GraphNode {
        id: "n2".into(),
        content: "refined".to_owned(),
        node_type: NodeKind::Refinement,
        score: Some(score(0.7)),
        depth: 1,
        is_active: false,
        is_terminal: true,
        created_at: time("2025-12-16T12:00:02Z"),
        metadata: Some(json!({ "m": 1 })),
        ..root.clone()
    };
    assert_eq!(
        store.nodes(&"g1".into(), Current, ALL).await.unwrap(),
        [root, refined]
    );
    assert_eq!(
        store.edges(&"g1".into(), Current, ALL).await.unwrap(),
        [GraphEdge {
            id: "e1".into(),
            graph_id: "g1".into(),
            from_node: "n1".into(),
            to_node: "n2".into(),
            edge_type: EdgeKind::Refines,
            weight: score(0.5),
            created_at: time("2025-12-16T12:00:04Z"),
            metadata: Some(json!({ "w": 2 })),
        }]
    );
    assert_eq!(
        store.nodes(&"g2".into(), Current, ALL).await.unwrap().len(),
        1
    );
}
