//! Taking over a database of mcp-langbase-reasoning.

use std::path::{Path, PathBuf};

use deliberate_core::{
    Branch, BranchState, Change, Checkpoint, CrossRef, EdgeKind, Graph, GraphEdge, GraphNode,
    Invocation, Mode, NodeKind, RefKind, Score, Session, Spent, StateSnapshot, Thought, Timestamp,
};
use deliberate_store::{
    Store, StoreError,
    sqlite::{ImportReport, Imported, SqliteStore, import_original},
};
use serde_json::{Value, json};

use crate::{
    contract::{ALL, commit},
    original::{self, DOCUMENTED, DOCUMENTED_ROWS, RELEASED},
    samples::{score, session, thought},
    sqlite::open,
};

/// An old database and a new store, side by side.
struct Move {
    old: PathBuf,
    new: SqliteStore,
    _folder: tempfile::TempDir,
}

impl Move {
    async fn from(tables: &[&'static str], rows: &[&'static str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("reasoning.db");
        original::make(&old, tables, rows).await;
        Self {
            new: open(&folder.path().join("store.db")),
            old,
            _folder: folder,
        }
    }

    async fn import(&self) -> Result<ImportReport, StoreError> {
        import_original(&self.old, &self.new).await
    }
}

fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

const TABLES: [&str; 9] = [
    "sessions",
    "branches",
    "thoughts",
    "cross_refs",
    "checkpoints",
    "state_snapshots",
    "graph_nodes",
    "graph_edges",
    "invocations",
];

/// What a report says of each table: taken, known, left.
fn kinds(numbers: [(u64, u64, u64); 9]) -> Vec<Imported> {
    TABLES
        .into_iter()
        .zip(numbers)
        .map(|(table, (taken, known, left))| Imported {
            table,
            taken,
            known,
            left,
        })
        .collect()
}

#[tokio::test]
async fn a_database_as_documented_is_taken_whole() {
    let it = Move::from(DOCUMENTED, DOCUMENTED_ROWS).await;
    let before = std::fs::read(&it.old).unwrap();
    let report = it.import().await.unwrap();
    assert_eq!(
        report,
        ImportReport {
            kinds: kinds([3, 2, 3, 1, 1, 2, 3, 1, 2].map(|taken| (taken, 0, 0))),
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
    assert_eq!(store.thoughts(&lin, ALL).await.unwrap(), [first, second]);
    assert_eq!(
        store.invocations(Some(&lin), ALL).await.unwrap(),
        [Invocation {
            id: "i1".into(),
            session_id: Some("lin".into()),
            tool_name: "reasoning_linear".to_owned(),
            input: json!({ "content": "x" }),
            output: Some(json!({ "thought": "y" })),
            pipe_name: Some("linear-reasoning-v1".to_owned()),
            latency_ms: Some(120),
            success: true,
            error: None,
            error_code: None,
            spent: Spent::default(),
            created_at: time("2025-12-16T10:00:01Z"),
        }]
    );
}

async fn assert_tree_session(store: &dyn Store) {
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
    assert_eq!(store.branches(&tree, ALL).await.unwrap(), [root, child]);
    let on_branch = store.thought(&"t3".into()).await.unwrap().unwrap();
    assert_eq!(
        (on_branch.mode, on_branch.branch_id),
        (Mode::Tree, Some("b2".into()))
    );
    assert_eq!(
        store.cross_refs(&tree, ALL).await.unwrap(),
        [CrossRef {
            id: "r1".into(),
            from_branch: "b1".into(),
            to_branch: "b2".into(),
            ref_type: RefKind::Contradicts,
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
            snapshot: json!({ "thoughts": [] }),
            created_at: time("2025-12-16T11:00:06Z"),
        }]
    );
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

async fn assert_graphs(store: &dyn Store) {
    let graph = |id: &str, moment: &str| Graph {
        id: id.into(),
        session_id: "got".into(),
        problem: None,
        config: json!({}),
        created_at: time(moment),
        updated_at: time(moment),
    };
    assert_eq!(
        store.graphs(&"got".into(), ALL).await.unwrap(),
        [
            graph("g1", "2025-12-16T12:00:01Z"),
            graph("g2", "2025-12-16T12:00:03Z")
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
        store.nodes(&"g1".into(), ALL).await.unwrap(),
        [root, refined]
    );
    assert_eq!(
        store.edges(&"g1".into(), ALL).await.unwrap(),
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
    assert_eq!(store.nodes(&"g2".into(), ALL).await.unwrap().len(), 1);
}

/// Everything in which version 0.2.0 differs from its documents, in one session each.
const RELEASED_ROWS: &[&str] = &[
    "INSERT INTO sessions VALUES \
     ('tree', 'tree', '2025-12-20T08:00:00.123456789+00:00', '2025-12-20T09:30:00+01:00', NULL, 'b2'), \
     ('dec', 'decision', '2025-12-21 08:00:00', '2025-12-21T08:00:00+00:00', '{\"a\": 1}', NULL), \
     ('got', 'got', '2025-12-22T08:00:00+00:00', '2025-12-22T08:00:00+00:00', NULL, NULL)",
    "INSERT INTO branches (id, session_id, name, parent_branch_id, priority, confidence, state, created_at, updated_at) VALUES \
     ('b1', 'tree', 'root', NULL, 1.0, 0.8, 'active', '2025-12-20T08:00:00+00:00', '2025-12-20T08:00:00+00:00'), \
     ('b2', 'tree', 'best', 'b1', 2.0, 90.4, 'whatever', '2025-12-20T08:00:00+00:00', '2025-12-20T08:00:00+00:00')",
    "INSERT INTO thoughts (id, session_id, content, confidence, mode, created_at, branch_id) VALUES \
     ('t1', 'dec', 'weighed', NULL, 'evidence', '2025-12-21T08:00:00+00:00', NULL), \
     ('t2', 'tree', 'on it', 1.0, 'tree', '2025-12-20T08:00:00+00:00', 'b2')",
    "INSERT INTO cross_refs VALUES ('r1', 'b1', 'b2', 'supports', NULL, 1.0, '2025-12-20T08:00:00+00:00')",
    "INSERT INTO state_snapshots VALUES \
     ('p1', 'tree', 'full', '{\"a\": 1}', NULL, '2025-12-20T08:00:00+00:00', NULL), \
     ('p2', 'tree', 'full', '{\"a\": 2}', 'p1', '2025-12-20T08:00:00+00:00', 'next')",
    "INSERT INTO graph_nodes (id, session_id, content, node_type, score, is_root, created_at) VALUES \
     ('n1', 'got', 'start', 'root', NULL, 1, '2025-12-22T08:00:00+00:00'), \
     ('n2', 'got', 'on', 'thought', 76.8, 0, '2025-12-22T08:00:01+00:00')",
    "INSERT INTO graph_edges (id, session_id, from_node, to_node, created_at) VALUES \
     ('e1', 'got', 'n1', 'n2', '2025-12-22T08:00:02+00:00')",
    "INSERT INTO invocations VALUES ('i1', 'tree', 'reasoning.tree', 'not json', 'nor this', 'tree-reasoning-v1', 7, 1, NULL, '2025-12-20T08:00:00+00:00')",
    "INSERT INTO detections VALUES ('d1', 'tree', 'not ours')",
];

#[tokio::test]
async fn a_database_as_released_is_taken_whole() {
    let it = Move::from(RELEASED, RELEASED_ROWS).await;
    let report = it.import().await.unwrap();
    assert_eq!(
        report,
        ImportReport {
            kinds: kinds([3, 2, 2, 1, 0, 2, 2, 1, 1].map(|taken| (taken, 0, 0))),
            notes: vec![
                "Sessions and thoughts of modes that do not exist here (decision, evidence) were \
                 taken as linear; their own mode is kept in their metadata."
                    .to_owned()
            ],
        }
    );
    let store = &it.new;
    let tree = store.session(&"tree".into()).await.unwrap().unwrap();
    assert_eq!(tree.created_at, time("2025-12-20T08:00:00.123456Z"));
    assert_eq!(tree.updated_at, time("2025-12-20T08:30:00Z"));
    assert_eq!(tree.active_branch_id, Some("b2".into()));
    let branches = store.branches(&"tree".into(), ALL).await.unwrap();
    let seen: Vec<_> = branches
        .iter()
        .map(|it| {
            (
                it.parent_id.as_ref().map(ToString::to_string),
                it.priority,
                it.state,
                it.confidence,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (None, 1, BranchState::Active, score(0.8)),
            (Some("b1".to_owned()), 2, BranchState::Active, score(0.904)),
        ]
    );
    let references = store.cross_refs(&"tree".into(), ALL).await.unwrap();
    assert_eq!((references.len(), references[0].strength), (1, Score::ONE));
    let snapshots = store.snapshots(&"tree".into(), ALL).await.unwrap();
    assert_eq!(snapshots[1].parent_id, Some("p1".into()));
    assert_eq!(snapshots[1].data, json!({ "a": 2 }));

    let decision = store.session(&"dec".into()).await.unwrap().unwrap();
    assert_eq!(decision.mode, Mode::Linear);
    assert_eq!(decision.created_at, time("2025-12-21T08:00:00Z"));
    assert_eq!(
        decision.metadata,
        Some(json!({ "original_mode": "decision", "original_metadata": { "a": 1 } }))
    );
    let weighed = store.thought(&"t1".into()).await.unwrap().unwrap();
    assert_eq!(weighed.confidence, Score::DEFAULT_CONFIDENCE);
    assert_eq!(
        weighed.metadata,
        Some(json!({ "original_mode": "evidence", "original_metadata": null }))
    );

    let graphs = store.graphs(&"got".into(), ALL).await.unwrap();
    let ids: Vec<_> = graphs.iter().map(|graph| graph.id.as_str()).collect();
    assert_eq!(ids, ["graph-of-got"]);
    let nodes = store.nodes(&"graph-of-got".into(), ALL).await.unwrap();
    let seen: Vec<_> = nodes
        .iter()
        .map(|node| (node.score, node.is_active))
        .collect();
    assert_eq!(seen, [(None, true), (Some(score(0.768)), true)]);
    let edges = store.edges(&"graph-of-got".into(), ALL).await.unwrap();
    assert_eq!((edges.len(), edges[0].edge_type), (1, EdgeKind::Generates));
    let records = store.invocations(None, ALL).await.unwrap();
    assert_eq!(records[0].input, Value::String("not json".to_owned()));
}

#[tokio::test]
async fn what_lost_its_owner_is_left_and_counted() {
    let orphans = [
        "INSERT INTO sessions VALUES ('', 'linear', '2025', '2025', NULL, NULL), \
         ('s', 'tree', '2025-12-16T10:00:00Z', '2025-12-16T10:00:00Z', NULL, 'gone')",
        "INSERT INTO branches VALUES ('b', 's', NULL, 'gone', 'active', 0.5, 1, 'x', 'x', NULL), \
         ('b-gone', 'gone', NULL, NULL, 'active', 0.5, 1, 'x', 'x', NULL)",
        "INSERT INTO thoughts VALUES ('t', 's', 'kept', 0.5, 'tree', 'gone', 'gone', 'x', NULL), \
         ('t-gone', 'gone', 'lost', 0.5, 'tree', NULL, NULL, 'x', NULL)",
        "INSERT INTO cross_refs VALUES ('r-gone', 'b', 'gone', 'supports', NULL, 1, 'x')",
        "INSERT INTO checkpoints VALUES ('c-gone', 'gone', NULL, 'n', NULL, '{}', 'x'), \
         ('c', 's', 'gone', 'n', NULL, '{}', 'x')",
        "INSERT INTO state_snapshots VALUES ('p-gone', 'gone', NULL, 'full', NULL, '{}', 'x'), \
         ('p', 's', 'gone', 'full', NULL, '{}', 'x')",
        "INSERT INTO graph_nodes VALUES ('n', 'g', 's', 'c', 'root', 0, 0, 1, 0, 'x', NULL), \
         ('n-gone', 'g', 'gone', 'c', 'root', 0, 0, 1, 0, 'x', NULL)",
        "INSERT INTO graph_edges VALUES ('e-gone', 'g', 'n', 'n-gone', 'generates', 1, 'x', NULL)",
        "INSERT INTO invocations VALUES ('i', 'gone', 'reasoning_tree', '{}', NULL, NULL, NULL, 1, NULL, 'x')",
    ];
    let it = Move::from(DOCUMENTED, &orphans).await;
    let report = it.import().await.unwrap();
    assert_eq!(
        report,
        ImportReport {
            kinds: kinds([
                (1, 0, 1),
                (1, 0, 1),
                (1, 0, 1),
                (0, 0, 1),
                (1, 0, 1),
                (1, 0, 1),
                (1, 0, 1),
                (0, 0, 1),
                (1, 0, 0),
            ]),
            notes: vec![
                "What was left belongs to sessions or branches that the old database no longer has."
                    .to_owned()
            ],
        }
    );
    let store = &it.new;
    let s = "s".into();
    assert_eq!(
        store.session(&s).await.unwrap().unwrap().active_branch_id,
        None
    );
    assert_eq!(store.branches(&s, ALL).await.unwrap()[0].parent_id, None);
    let thoughts = store.thoughts(&s, ALL).await.unwrap();
    assert_eq!(
        (&thoughts[0].parent_id, &thoughts[0].branch_id),
        (&None, &None)
    );
    assert_eq!(store.checkpoints(&s, ALL).await.unwrap()[0].branch_id, None);
    assert_eq!(store.snapshots(&s, ALL).await.unwrap()[0].parent_id, None);
    assert_eq!(
        store.invocations(None, ALL).await.unwrap()[0].session_id,
        None
    );
}

#[tokio::test]
async fn importing_again_takes_nothing_twice() {
    let it = Move::from(DOCUMENTED, DOCUMENTED_ROWS).await;
    it.import().await.unwrap();
    let state = it.new.state().await.unwrap();
    let report = it.import().await.unwrap();
    let again = kinds([3, 2, 3, 1, 1, 2, 3, 1, 2].map(|known| (0, known, 0)));
    assert_eq!((report.kinds, report.notes), (again, Vec::new()));
    assert_eq!(it.new.state().await.unwrap(), state);
    assert_tree_session(&it.new).await;
    assert_graphs(&it.new).await;
    assert_eq!(it.new.invocations(None, ALL).await.unwrap().len(), 2);
}

#[tokio::test]
async fn sessions_that_came_later_are_taken_by_the_next_import() {
    let it = Move::from(DOCUMENTED, DOCUMENTED_ROWS).await;
    it.import().await.unwrap();
    let later = [
        "INSERT INTO sessions VALUES ('new', 'linear', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', NULL, NULL)",
        "INSERT INTO thoughts VALUES ('t9', 'new', 'later', 0.5, 'linear', NULL, NULL, '2026-01-01T00:00:00Z', NULL)",
    ];
    original::make(&it.old, &[], &later).await;
    let report = it.import().await.unwrap();
    let mut wanted = [3, 2, 3, 1, 1, 2, 3, 1, 2].map(|known| (0, known, 0));
    wanted[0].0 = 1;
    wanted[2].0 = 1;
    assert_eq!(report.kinds, kinds(wanted));
    let state = it.new.state().await.unwrap();
    assert_eq!((state.sessions, state.thoughts), (4, 4));
}

#[tokio::test]
async fn an_import_is_whole_or_did_not_happen() {
    let it = Move::from(DOCUMENTED, DOCUMENTED_ROWS).await;
    // Something of ours has the id of the very last things that would be taken.
    let ours = vec![
        Change::AddSession(session("ours")),
        Change::AddGraph(crate::samples::graph("g2", "ours")),
        Change::AddThought(thought("t", "ours")),
    ];
    commit(&it.new, ours).await;
    let error = it.import().await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict { .. }), "{error:?}");
    let state = it.new.state().await.unwrap();
    assert_eq!((state.sessions, state.thoughts), (1, 1));
    assert_eq!(it.new.invocations(None, ALL).await.unwrap(), []);
}

async fn refusal(path: &Path, target: &SqliteStore) -> StoreError {
    let error = import_original(path, target).await.unwrap_err();
    assert_eq!(target.state().await.unwrap().sessions, 0);
    error
}

#[tokio::test]
async fn what_is_not_the_originals_database_is_refused_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let target = open(&folder.path().join("store.db"));
    let foreign = |path: &Path, reason: &str| StoreError::Foreign {
        location: path.display().to_string(),
        reason: reason.to_owned(),
    };

    let ours = folder.path().join("ours.db");
    commit(&open(&ours), vec![Change::AddSession(session("s"))]).await;
    assert_eq!(
        refusal(&ours, &target).await,
        foreign(&ours, "it is one of ours already; nothing to import")
    );

    let other = folder.path().join("other.db");
    original::make(&other, &["CREATE TABLE sessions (id TEXT)"], &[]).await;
    assert_eq!(
        refusal(&other, &target).await,
        foreign(&other, "it has no sessions, thoughts and invocations")
    );

    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "not a database at all\n".repeat(100)).unwrap();
    assert_eq!(
        refusal(&text, &target).await,
        foreign(&text, "the file is not an SQLite database")
    );

    let missing = folder.path().join("missing.db");
    let error = refusal(&missing, &target).await;
    assert!(matches!(error, StoreError::Connection { .. }), "{error:?}");
    assert!(!missing.exists(), "looking for it does not make it");
}

/// Today's behaviour, and wrong: a record without a session is stored once, as it should be, but
/// the second report says again that it was taken, because the store can't be asked for one
/// record.
#[tokio::test]
async fn a_record_without_a_session_is_reported_as_taken_again_though_it_is_not() {
    let row = "INSERT INTO invocations VALUES ('i', NULL, 'reasoning_auto', '{}', NULL, NULL, \
               NULL, 1, NULL, '2025-12-16T10:00:00Z')";
    let it = Move::from(DOCUMENTED, &[row]).await;
    for _ in 0..2 {
        let report = it.import().await.unwrap();
        assert_eq!(report.kinds.last().unwrap().taken, 1);
        assert_eq!(it.new.invocations(None, ALL).await.unwrap().len(), 1);
    }
}

/// Today's behaviour, and wrong: steps that the old server added to a session after it was
/// imported are counted as known, and are not taken.
#[tokio::test]
async fn steps_added_to_a_known_session_are_not_taken() {
    let it = Move::from(DOCUMENTED, DOCUMENTED_ROWS).await;
    it.import().await.unwrap();
    let later = "INSERT INTO thoughts VALUES ('t9', 'lin', 'later', 0.5, 'linear', 't2', NULL, \
                 '2026-01-01T00:00:00Z', NULL)";
    original::make(&it.old, &[], &[later]).await;
    let report = it.import().await.unwrap();
    let wanted = Imported {
        table: "thoughts",
        taken: 0,
        known: 4,
        left: 0,
    };
    assert_eq!(report.kinds[2], wanted);
    assert_eq!(it.new.thought(&"t9".into()).await.unwrap(), None);
}
