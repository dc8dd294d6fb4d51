//! Databases of earlier versions of this store, opened by this one.

use std::path::Path;

use deliberate_core::{
    BranchState, Change, GraphNode, Mode, NodeUpdate, Session, StoredProgress, SuspendedCall,
    Thought, Timestamp,
};
use deliberate_store::{
    BacktrackPreview, EntityCounts, SearchEntity, SearchQuery, Store, sqlite::SqliteStore,
};
use serde_json::json;
use sqlx::{
    Connection, SqlStr,
    migrate::{Migration, MigrationType, Migrator},
};

use crate::{
    contract::{ALL, All, Current, branches, commit, prune, set_state, update_node},
    samples::{checkpoint, node, score, thought},
    sqlite::{open, raw_connection},
};

const FIRST_MIGRATION: &str = include_str!("../../migrations/sqlite/0001_reasoning.sql");

/// Session `s` with checkpoints at the times 3 (two of them) and 6, and session `plain` without
/// any.
const ROWS: &[&str] = &[
    "INSERT INTO sessions VALUES ('s', 'tree', 'a title', 0, 9, 'b5', '{\"thread\": \"x\"}')",
    "INSERT INTO sessions VALUES ('plain', 'linear', NULL, 0, 9, NULL, NULL)",
    "INSERT INTO branches VALUES (NULL, 'b1', 's', 'one', NULL, 'completed', 0.1, 3, 1, 8, '{\"f\": 0.1}')",
    "INSERT INTO branches VALUES (NULL, 'b5', 's', NULL, 'b1', 'active', 0.5, 1, 5, 5, NULL)",
    "INSERT INTO thoughts VALUES (NULL, 't2', 's', 'asked', 'two', 0.25, 'tree', NULL, 'b1', 2, NULL)",
    "INSERT INTO thoughts VALUES (NULL, 't3', 's', NULL, 'three', 0.5, 'tree', 't2', 'b1', 3, NULL)",
    "INSERT INTO thoughts VALUES (NULL, 't5', 's', NULL, 'five', 0.5, 'tree', NULL, 'b5', 5, NULL)",
    "INSERT INTO thoughts VALUES (NULL, 't7', 's', NULL, 'seven', 0.5, 'tree', 't3', 'b5', 7, NULL)",
    "INSERT INTO thoughts VALUES (NULL, 'p', 'plain', NULL, 'plain', 0.5, 'linear', NULL, NULL, 7, NULL)",
    "INSERT INTO cross_refs VALUES (NULL, 'r5', 'b1', 'b5', 'supports', NULL, 0.5, 5)",
    "INSERT INTO checkpoints VALUES (NULL, 'c6', 's', 'b5', 'six', NULL, '{\"n\": 6}', 6)",
    "INSERT INTO checkpoints VALUES (NULL, 'c3', 's', 'b1', 'three', NULL, '{}', 3)",
    "INSERT INTO checkpoints VALUES (NULL, 'c3-too', 's', 'b1', 'three', NULL, '{}', 3)",
    "INSERT INTO graphs VALUES (NULL, 'g', 's', 'a problem', '{\"most\": 9}', 2, 8)",
    "INSERT INTO graph_nodes VALUES (NULL, 'n2', 'g', 's', 'an old pelican', 'root', 0.1, 0, 1, 0, 2, NULL)",
    "INSERT INTO graph_nodes VALUES (NULL, 'n8', 'g', 's', '一只老鹈鹕', 'thought', NULL, 1, 1, 0, 8, NULL)",
    "INSERT INTO graph_edges VALUES (NULL, 'e8', 'g', 'n2', 'n8', 'generates', 1, 8, NULL)",
    "INSERT INTO suspensions VALUES ('w', 'reasoning_linear', '{}', '{\"replies\": {}}', '[\"a\"]', 1, 9, NULL)",
];

/// Opens a database that has the first version of the tables.
async fn first_version(path: &Path) -> SqliteStore {
    let mut connection = raw_connection(path).await;
    let sql = SqlStr::from_static(FIRST_MIGRATION);
    let first = Migration::new(1, "reasoning".into(), MigrationType::Simple, sql, false);
    Migrator::with_migrations(vec![first])
        .run_direct(None, &mut connection, false)
        .await
        .unwrap();
    let mut transaction = connection.begin().await.unwrap();
    for sql in ROWS {
        sqlx::query(*sql).execute(&mut *transaction).await.unwrap();
    }
    transaction.commit().await.unwrap();
    connection.close().await.unwrap();
    open(path)
}

async fn thoughts(store: &dyn Store) -> String {
    let thoughts = store.thoughts(&"s".into(), Current, ALL).await.unwrap();
    let ids: Vec<_> = thoughts.iter().map(|it| it.id.as_str()).collect();
    ids.join(" ")
}

#[tokio::test]
async fn a_database_of_the_first_version_reads_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let store = first_version(&folder.path().join("store.db")).await;
    let state = store.info().await.unwrap();
    assert_eq!(
        (state.schema_version, state.sessions, state.thoughts),
        (9, 2, 5)
    );
    let s = "s".into();
    assert_eq!(
        store.session(&s).await.unwrap(),
        Some(Session {
            id: "s".into(),
            mode: Mode::Tree,
            title: Some("a title".to_owned()),
            created_at: Timestamp::from_micros(0),
            updated_at: Timestamp::from_micros(9),
            active_branch_id: Some("b5".into()),
            metadata: Some(json!({ "thread": "x" })),
        })
    );
    assert_eq!(thoughts(&store).await, "t2 t3 t5 t7");
    let latest = store.latest_thoughts(&s, 9).await.unwrap();
    assert_eq!(latest.len(), 4);
    assert!(latest.iter().all(|it| !it.set_aside));
    let on_branch = store.latest_branch_thoughts(&"b1".into(), 9).await.unwrap();
    assert_eq!(on_branch.len(), 2);
    let opened = branches(&store, &s, All).await;
    assert_eq!(
        (opened.len(), opened[0].confidence, &opened[0].metadata),
        (2, score(0.1), &Some(json!({ "f": 0.1 })))
    );
    assert_eq!(store.cross_refs(&s, Current, ALL).await.unwrap().len(), 1);
    let places = store.checkpoints(&s, ALL).await.unwrap();
    let names: Vec<_> = places.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(names, ["c3-too", "c3", "c6"]);
    let named = store.checkpoint_by_name(&s, "six").await.unwrap();
    assert_eq!(named, Some("c6".into()));
    let place = store.checkpoint(&"c6".into()).await.unwrap().unwrap();
    assert_eq!(place.snapshot, json!({ "n": 6 }));
    let graph = store.graph(&"g".into()).await.unwrap().unwrap();
    assert_eq!(
        (graph.updated_at, graph.set_aside),
        (Timestamp::from_micros(8), false)
    );
    let nodes = store.nodes(&"g".into(), Current, ALL).await.unwrap();
    assert_eq!(nodes.len(), 2);
    assert!(nodes.iter().all(|it| !it.pruned && !it.set_aside));
    assert_eq!(
        store.edges(&"g".into(), Current, ALL).await.unwrap().len(),
        1
    );
}

#[tokio::test]
async fn its_nodes_are_found_by_their_words() {
    let folder = tempfile::tempdir().unwrap();
    let store = first_version(&folder.path().join("store.db")).await;
    let found = async |words: &str| {
        let search = SearchQuery {
            text: words.to_owned(),
            limit: 9,
            ..SearchQuery::default()
        };
        let found = store.search(&search).await.unwrap().hits;
        let ids = found.into_iter().map(|it| match it.entity {
            SearchEntity::Node(node) => node.id.to_string(),
            SearchEntity::Thought(thought) => thought.id.to_string(),
        });
        ids.collect::<Vec<_>>()
    };
    assert_eq!(found("pelicans").await, ["n2"]);
    assert_eq!(found("鹈鹕").await, ["n8"]);
    assert_eq!(found("seven").await, ["t7"]);
    // Later changes update the index.
    let young = GraphNode {
        content: "a young heron".to_owned(),
        ..node("new", "g", "s")
    };
    commit(&store, vec![Change::AddNode(young), prune("g", &["n2"])]).await;
    assert_eq!(found("pelicans").await, ["n2"]);
    assert_eq!(found("herons").await, ["new"]);
    commit(&store, vec![Change::DeleteSession("s".into())]).await;
    assert_eq!(found("pelicans").await, [""; 0]);
    assert_eq!(found("herons").await, [""; 0]);
}

#[tokio::test]
async fn its_lines_start_where_they_did() {
    let folder = tempfile::tempdir().unwrap();
    let store = first_version(&folder.path().join("store.db")).await;
    let starts = async |thoughts: &[&str]| {
        let mut starts = Vec::new();
        for id in thoughts {
            let start = store.root_thought(&(*id).into()).await.unwrap().unwrap();
            starts.push(start.id.to_string());
        }
        starts.join(" ")
    };
    let old = ["t2", "t3", "t5", "t7", "p"];
    assert_eq!(starts(&old).await, "t2 t2 t5 t2 p");
    // Later thoughts continue the lines.
    let on = |id: &str, parent: &str| {
        Change::AddThought(Thought {
            parent_id: Some(parent.into()),
            ..thought(id, "s")
        })
    };
    commit(&store, vec![on("x", "t7"), on("y", "x"), on("z", "t5")]).await;
    assert_eq!(starts(&["x", "y", "z"]).await, "t2 t2 t5");
    assert_eq!(starts(&old).await, "t2 t2 t5 t2 p");
}

#[tokio::test]
async fn its_nodes_and_branches_can_be_changed_and_return() {
    let folder = tempfile::tempdir().unwrap();
    let store = first_version(&folder.path().join("store.db")).await;
    let now = async || {
        let node = store.node(&"n2".into()).await.unwrap().unwrap();
        let branch = store.branch(&"b1".into()).await.unwrap().unwrap();
        (node, branch)
    };
    let before = now().await;
    let marks = NodeUpdate {
        score: Some(score(1.0 / 3.0)),
        notes: Some(json!({ "critique": "short" })),
        ..NodeUpdate::default()
    };
    commit(
        &store,
        vec![
            update_node("n2", marks),
            set_state("b1", BranchState::Abandoned),
        ],
    )
    .await;
    let (node, branch) = now().await;
    assert_eq!(node.score, Some(score(1.0 / 3.0)));
    assert_eq!(node.metadata, Some(json!({ "critique": "short" })));
    assert_eq!(branch.state, BranchState::Abandoned);
    let back = Change::Backtrack {
        session_id: "s".into(),
        to: "c3".into(),
        left: checkpoint("left", "s"),
    };
    commit(&store, vec![back]).await;
    assert_eq!(now().await, before);
}

#[tokio::test]
async fn its_checkpoints_can_be_returned_to() {
    let folder = tempfile::tempdir().unwrap();
    let store = first_version(&folder.path().join("store.db")).await;
    let way = async |to: &str| {
        store
            .preview_backtrack(&to.into())
            .await
            .unwrap()
            .unwrap()
            .set_aside
    };
    let back = |to: &str, left: &str| Change::Backtrack {
        session_id: "s".into(),
        to: to.into(),
        left: checkpoint(left, "s"),
    };
    let moved = |thoughts, branches, nodes| EntityCounts {
        thoughts,
        branches,
        nodes,
    };
    assert_eq!(way("c6").await, moved(1, 0, 1));
    assert_eq!(way("c3").await, moved(2, 1, 1));
    assert_eq!(way("c3-too").await, moved(2, 1, 1));
    commit(&store, vec![Change::AddThought(thought("new", "s"))]).await;
    assert_eq!(way("c6").await, moved(2, 0, 1));

    commit(&store, vec![back("c6", "left")]).await;
    assert_eq!(thoughts(&store).await, "t2 t3 t5");
    commit(&store, vec![back("c3", "left-too")]).await;
    assert_eq!(thoughts(&store).await, "t2 t3");
    let s = "s".into();
    assert_eq!(branches(&store, &s, Current).await.len(), 1);
    assert_eq!(store.cross_refs(&s, Current, ALL).await.unwrap(), []);
    assert_eq!(store.graphs(&s, Current, ALL).await.unwrap().len(), 1);
    assert_eq!(store.edges(&"g".into(), Current, ALL).await.unwrap(), []);
    let session = store.session(&s).await.unwrap().unwrap();
    assert_eq!(session.active_branch_id, Some("b1".into()));
    commit(&store, vec![back("left", "last")]).await;
    assert_eq!(thoughts(&store).await, "t2 t3 t5 t7 new");
    assert_eq!(
        store
            .preview_backtrack(&"last".into())
            .await
            .unwrap()
            .unwrap(),
        BacktrackPreview {
            set_aside: moved(3, 1, 1),
            ..BacktrackPreview::default()
        }
    );
}

#[tokio::test]
async fn its_suspended_calls_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = first_version(&folder.path().join("store.db")).await;
    let waits = store.suspended_call(&"w".into()).await.unwrap().unwrap();
    assert_eq!((waits.fence, waits.notes.clone()), (0, None));
    assert_eq!(waits.progress, StoredProgress::default());
    let next = SuspendedCall {
        fence: 1,
        ..waits.clone()
    };
    commit(&store, vec![Change::Suspend(next.clone())]).await;
    let stored = store.suspended_call(&"w".into()).await.unwrap();
    assert_eq!(stored, Some(next));
}
