//! Backtracking to an imported checkpoint.

use deliberate_core::{Change, Checkpoint, CheckpointKind};
use deliberate_store::{BacktrackPreview, EntityCounts, Store};

use super::ImportFixture;
use crate::{
    contract::{ALL, All, Current, EpochFilter, branches, commit},
    legacy_database::DOCUMENTED,
    samples::checkpoint,
};

/// A session whose checkpoint `c` was created at second 5, in tables that have no order across
/// them.
const ROWS: &[&str] = &[
    "INSERT INTO sessions VALUES \
     ('s', 'tree', '2025-12-16T10:00:00Z', '2025-12-16T10:05:00Z', NULL, 'late'), \
     ('other', 'linear', '2025-12-16T10:00:00Z', '2025-12-16T10:05:00Z', NULL, NULL)",
    "INSERT INTO branches VALUES \
     ('early', 's', NULL, NULL, 'active', 0.5, 1, '2025-12-16T10:00:01Z', '2025-12-16T10:00:01Z', NULL), \
     ('late', 's', NULL, 'early', 'active', 0.5, 1, '2025-12-16T10:00:08Z', '2025-12-16T10:00:08Z', NULL)",
    // Not ordered by time; one has the time of the checkpoint, and one claims to be older than its
    // parent.
    "INSERT INTO thoughts VALUES \
     ('t7', 's', 'seven', 0.5, 'tree', NULL, 'early', '2025-12-16T10:00:07Z', NULL), \
     ('t2', 's', 'two', 0.5, 'tree', NULL, 'early', '2025-12-16T10:00:02Z', NULL), \
     ('t5', 's', 'five', 0.5, 'tree', 't2', 'early', '2025-12-16T10:00:05Z', NULL), \
     ('t9', 's', 'nine', 0.5, 'tree', NULL, 'late', '2025-12-16T10:00:09Z', NULL), \
     ('t3', 's', 'three', 0.5, 'tree', 't7', NULL, '2025-12-16T10:00:03Z', NULL), \
     ('o9', 'other', 'nine', 0.5, 'linear', NULL, NULL, '2025-12-16T10:00:09Z', NULL)",
    "INSERT INTO cross_refs VALUES ('r', 'early', 'late', 'supports', NULL, 1, '2025-12-16T10:00:09Z')",
    "INSERT INTO checkpoints VALUES ('c', 's', 'early', 'here', NULL, '{}', '2025-12-16T10:00:05Z')",
    "INSERT INTO graph_nodes VALUES \
     ('n4', 'g', 's', 'four', 'root', NULL, 0, 1, 0, '2025-12-16T10:00:04Z', NULL), \
     ('n6', 'g', 's', 'six', 'thought', NULL, 1, 1, 0, '2025-12-16T10:00:06Z', NULL)",
    "INSERT INTO graph_edges VALUES ('e', 'g', 'n4', 'n6', 'generates', 1, '2025-12-16T10:00:06Z', NULL)",
];

async fn thoughts(store: &dyn Store, which: EpochFilter) -> Vec<String> {
    let thoughts = store.thoughts(&"s".into(), which, ALL).await.unwrap();
    thoughts.iter().map(|it| it.id.to_string()).collect()
}

#[tokio::test]
async fn an_imported_checkpoint_can_be_returned_to() {
    let it = ImportFixture::from(DOCUMENTED, ROWS).await;
    it.import().await.unwrap();
    let store = &it.new;
    assert_eq!(
        thoughts(store, Current).await,
        ["t2", "t5", "t7", "t3", "t9"]
    );
    assert_eq!(
        store.preview_backtrack(&"c".into()).await.unwrap(),
        Some(BacktrackPreview {
            set_aside: EntityCounts {
                thoughts: 3,
                branches: 1,
                nodes: 1,
            },
            restored: EntityCounts::default(),
        })
    );

    let back = |to: &str, left: &str, branch: &str| Change::Backtrack {
        session_id: "s".into(),
        to: to.into(),
        left: Checkpoint {
            branch_id: Some(branch.into()),
            kind: CheckpointKind::Undo,
            ..checkpoint(left, "s")
        },
    };
    commit(store, vec![back("c", "left", "late")]).await;
    let s = "s".into();
    assert_eq!(thoughts(store, Current).await, ["t2", "t5"]);
    assert_eq!(thoughts(store, All).await, ["t2", "t5", "t7", "t3", "t9"]);
    let open = branches(store, &s, Current).await;
    assert_eq!(open.len(), 1);
    let session = store.session(&s).await.unwrap().unwrap();
    assert_eq!(session.active_branch_id, Some("early".into()));
    assert_eq!(store.cross_refs(&s, Current, ALL).await.unwrap(), []);
    let nodes = store.nodes(&"g".into(), Current, ALL).await.unwrap();
    assert_eq!((nodes.len(), nodes[0].id.as_str()), (1, "n4"));
    assert_eq!(store.edges(&"g".into(), Current, ALL).await.unwrap(), []);
    let others = store.thoughts(&"other".into(), Current, ALL).await;
    assert_eq!(others.unwrap().len(), 1, "another session stays as it is");

    commit(store, vec![back("left", "again", "early")]).await;
    assert_eq!(
        thoughts(store, Current).await,
        ["t2", "t5", "t7", "t3", "t9"]
    );
}
