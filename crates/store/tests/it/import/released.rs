//! Imports of a database as version 0.2.0 created it, and of one with missing rows.

use deliberate_core::{BranchState, EdgeKind, Mode, Score};
use deliberate_store::{Store, sqlite::ImportReport};
use serde_json::{Value, json};

use super::{ImportFixture, counts, time};
use crate::{
    contract::{ALL, Current, branches},
    legacy_database::{DOCUMENTED, RELEASED},
    samples::score,
};

/// Every difference between version 0.2.0 and its documentation, in one session each.
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
    let it = ImportFixture::from(RELEASED, RELEASED_ROWS).await;
    let report = it.import().await.unwrap();
    assert_eq!(
        report,
        ImportReport {
            tables: counts([3, 2, 2, 1, 0, 2, 2, 1, 1].map(|taken| (taken, 0, 0))),
            notes: vec![
                "Sessions and thoughts of unknown modes (decision, evidence) were imported as \
                 linear; their metadata holds the original mode."
                    .to_owned()
            ],
        }
    );
    let store = &it.new;
    let tree = store.session(&"tree".into()).await.unwrap().unwrap();
    assert_eq!(tree.created_at, time("2025-12-20T08:00:00.123456Z"));
    assert_eq!(tree.updated_at, time("2025-12-20T08:30:00Z"));
    assert_eq!(tree.active_branch_id, Some("b2".into()));
    let opened = branches(store, &"tree".into(), Current).await;
    let seen: Vec<_> = opened
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
    let references = store
        .cross_refs(&"tree".into(), Current, ALL)
        .await
        .unwrap();
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

    let graphs = store.graphs(&"got".into(), Current, ALL).await.unwrap();
    let ids: Vec<_> = graphs.iter().map(|graph| graph.id.as_str()).collect();
    assert_eq!(ids, ["graph-of-got"]);
    let nodes = store
        .nodes(&"graph-of-got".into(), Current, ALL)
        .await
        .unwrap();
    let seen: Vec<_> = nodes
        .iter()
        .map(|node| (node.score, node.is_active))
        .collect();
    assert_eq!(seen, [(None, true), (Some(score(0.768)), true)]);
    let edges = store
        .edges(&"graph-of-got".into(), Current, ALL)
        .await
        .unwrap();
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
    let it = ImportFixture::from(DOCUMENTED, &orphans).await;
    let report = it.import().await.unwrap();
    assert_eq!(
        report,
        ImportReport {
            tables: counts([
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
                "The rows that failed belong to sessions or branches that the old database no longer has."
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
    assert_eq!(branches(store, &s, Current).await[0].parent_id, None);
    let thoughts = store.thoughts(&s, Current, ALL).await.unwrap();
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
