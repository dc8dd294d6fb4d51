//! The contents of the tables of an `SQLite` file after a history, read from outside.

use std::path::Path;

use deliberate_core::{
    BranchState, ChainState, Change, Checkpoint, GraphNode, NodeUpdate, Thought,
};
use deliberate_store::{Store, StoreError};
use serde_json::json;

use super::contract::chain_runs::{continue_run, end, event, run};
use crate::{
    contract::{assert_conflict, commit, prune, set_state, update_node},
    samples::{
        ODD_TEXT, branch, checkpoint, everything, full_invocation, graph, invocation, node,
        session, thought,
    },
    sqlite::{open, raw_connection},
};

/// Counts the epochs and the saved revisions.
async fn revision_counts(path: &Path) -> [i64; 3] {
    let mut connection = raw_connection(path).await;
    let mut counts = [0; 3];
    for (count, sql) in counts.iter_mut().zip([
        "SELECT count(*) FROM epochs",
        "SELECT count(*) FROM branch_revisions",
        "SELECT count(*) FROM node_revisions",
    ]) {
        *count = sqlx::query_scalar(sql)
            .fetch_one(&mut connection)
            .await
            .unwrap();
    }
    counts
}

#[tokio::test]
async fn a_deleted_session_takes_its_epochs_and_former_values_along() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path);
    for name in ["s", "other"] {
        let own = |thing: &str| format!("{name}-{thing}");
        let (b, g, n) = (own("b"), own("g"), own("n"));
        commit(
            &store,
            vec![
                Change::AddSession(session(name)),
                Change::AddBranch(branch(&b, name)),
                Change::AddGraph(graph(&g, name)),
                Change::AddNode(node(&n, &g, name)),
                Change::AddCheckpoint(checkpoint(&own("c"), name)),
                set_state(&b, BranchState::Completed),
                update_node(&n, NodeUpdate::default()),
                Change::Backtrack {
                    session_id: name.into(),
                    to: own("c").into(),
                    left: checkpoint(&own("left"), name),
                },
            ],
        )
        .await;
    }
    // Per session: the epochs that its two checkpoints started, and the values of its branch and
    // its node before and after the change.
    assert_eq!(revision_counts(&path).await, [4, 4, 4]);
    commit(&store, vec![Change::DeleteSession("s".into())]).await;
    assert_eq!(revision_counts(&path).await, [2, 2, 2]);
    commit(&store, vec![Change::DeleteSession("other".into())]).await;
    assert_eq!(revision_counts(&path).await, [0, 0, 0]);
}

#[tokio::test]
async fn a_deleted_session_leaves_no_contents_in_the_invocation_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path);
    let mut failed = full_invocation("failed", "s");
    failed.error = Some("the secret was wrong".to_owned());
    let changes = vec![
        Change::AddSession(session("s")),
        Change::AddSession(session("other")),
        Change::AddInvocation(full_invocation("i", "s")),
        Change::AddInvocation(failed),
        Change::AddInvocation(invocation("kept", Some("other"))),
    ];
    commit(&store, changes).await;
    commit(&store, vec![Change::DeleteSession("s".into())]).await;
    let sql = "SELECT id, input, output, error FROM invocations ORDER BY id";
    let rows: Vec<(String, String, Option<String>, Option<String>)> = sqlx::query_as(sql)
        .fetch_all(&mut raw_connection(&path).await)
        .await
        .unwrap();
    let empty = |id: &str| (id.to_owned(), "{}".to_owned(), None, None);
    let kept = (
        "kept".to_owned(),
        r#"{"content":"x"}"#.to_owned(),
        None,
        None,
    );
    assert_eq!(rows, [empty("failed"), empty("i"), kept]);
}

/// A checkpoint only ends an epoch: whatever the session contains, nothing is copied.
#[tokio::test]
async fn a_checkpoint_copies_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path);
    commit(&store, everything("s").changes()).await;
    let [epochs, ..] = revision_counts(&path).await;
    commit(&store, vec![Change::AddCheckpoint(checkpoint("c", "s"))]).await;
    assert_eq!(revision_counts(&path).await, [epochs + 1, 0, 0]);
}

/// A rejected change ends no epoch and saves no revision.
#[tokio::test]
async fn what_is_refused_keeps_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path);
    let at_thought = |id: &str| Checkpoint {
        snapshot: json!({ "latest_thought_id": "t" }),
        ..checkpoint(id, "s")
    };
    let on_branch = |id: &str| Checkpoint {
        branch_id: Some("b".into()),
        ..checkpoint(id, "s")
    };
    let back = |left: Checkpoint| Change::Backtrack {
        session_id: "s".into(),
        to: "first".into(),
        left,
    };
    commit(
        &store,
        vec![
            Change::AddSession(session("s")),
            Change::AddGraph(graph("g", "s")),
            Change::AddNode(node("pruned", "g", "s")),
            prune("g", &["pruned"]),
            Change::AddCheckpoint(checkpoint("first", "s")),
            Change::AddBranch(branch("b", "s")),
            Change::AddThought(thought("t", "s")),
            Change::AddNode(node("aside", "g", "s")),
            back(checkpoint("left", "s")),
        ],
    )
    .await;
    let before = revision_counts(&path).await;
    for change in [
        Change::AddCheckpoint(at_thought("no")),
        Change::AddCheckpoint(on_branch("no")),
        back(at_thought("no")),
        back(on_branch("no")),
        set_state("b", BranchState::Completed),
        update_node("aside", NodeUpdate::default()),
        update_node("pruned", NodeUpdate::default()),
        prune("g", &["aside"]),
        Change::AddThought(Thought {
            parent_id: Some("t".into()),
            ..thought("no", "s")
        }),
    ] {
        assert_conflict(&store, change).await;
        assert_eq!(revision_counts(&path).await, before);
    }
    assert_eq!(store.checkpoint(&"no".into()).await.unwrap(), None);
}

/// A deletion from the index must name the exact old text, or the index keeps finding it.
#[tokio::test]
async fn the_index_agrees_with_the_rows_after_any_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path);
    let concluded = NodeUpdate {
        is_terminal: Some(true),
        notes: Some(json!({ "critique": "思考 short" })),
        ..NodeUpdate::default()
    };
    let back = |to: &str, left: &str| Change::Backtrack {
        session_id: "s".into(),
        to: to.into(),
        left: checkpoint(left, "s"),
    };
    let steps = [
        vec![
            Change::AddSession(session("s")),
            Change::AddThought(thought("t", "s")),
            Change::AddGraph(graph("g", "s")),
            Change::AddNode(GraphNode {
                content: format!("nul \0 {ODD_TEXT}"),
                ..node("n", "g", "s")
            }),
            Change::AddCheckpoint(checkpoint("c", "s")),
        ],
        vec![update_node("n", concluded)],
        vec![prune("g", &["n"])],
        vec![Change::AddThought(thought("later", "s")), back("c", "left")],
        vec![back("left", "again")],
        vec![Change::DeleteSession("s".into())],
    ];
    for changes in steps {
        let shown = format!("{changes:?}");
        commit(&store, changes).await;
        let mut connection = raw_connection(&path).await;
        // With rank 1 the check also compares the index with the rows.
        for check in [
            "INSERT INTO thoughts_text (thoughts_text, rank) VALUES ('integrity-check', 1)",
            "INSERT INTO nodes_text (nodes_text, rank) VALUES ('integrity-check', 1)",
            "PRAGMA foreign_key_check",
        ] {
            let outcome = sqlx::query(check).fetch_all(&mut connection).await;
            assert!(outcome.unwrap().is_empty(), "{check} after {shown}");
        }
    }
}

/// Deleted runs leave no events.
#[tokio::test]
async fn a_run_that_is_gone_takes_its_events_along() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path);
    let runs = [run("a", 1), run("a", 2), run("b", 1)];
    for run in &runs {
        let changes = vec![
            Change::StartRun(run.clone()),
            continue_run(event(run, 1)),
            end(event(run, 2), ChainState::Done),
        ];
        commit(&store, changes).await;
    }
    let forget = Change::PruneRuns {
        base: "a".to_owned(),
        keep: 1,
        idle_since: deliberate_core::Timestamp::from_micros(0),
    };
    let mut connection = raw_connection(&path).await;
    for (change, wanted) in [(forget, 4), (Change::DeleteRun("chain-a#2".into()), 2)] {
        commit(&store, vec![change]).await;
        let left: i64 = sqlx::query_scalar("SELECT count(*) FROM chain_events")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(left, wanted);
    }
}

/// A run whose events were edited by hand is reported as damaged.
#[tokio::test]
async fn a_run_with_damaged_events_says_so() {
    for damage in [
        "DELETE FROM chain_events WHERE seq = 1",
        "UPDATE chain_events SET data = '{' || char(10) || '}' WHERE seq = 1",
        "UPDATE chain_events SET data = '{ half' WHERE seq = 2",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let store = open(&path);
        let run = run("a", 1);
        let changes = vec![
            Change::StartRun(run.clone()),
            continue_run(event(&run, 1)),
            continue_run(event(&run, 2)),
        ];
        commit(&store, changes).await;
        let mut connection = raw_connection(&path).await;
        sqlx::query(damage).execute(&mut connection).await.unwrap();
        let outcome = store.run_with_events(&run.id).await;
        assert!(
            matches!(&outcome, Err(StoreError::Corrupt { what, .. }) if what == "column events"),
            "{outcome:?} after {damage}"
        );
        // It can still be read and deleted.
        assert!(store.run(&run.id).await.unwrap().is_some());
        commit(&store, vec![Change::DeleteRun(run.id)]).await;
    }
}
