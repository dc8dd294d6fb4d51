//! Watched folders, and what is remembered of them from one start to the next.

use std::sync::Arc;

use deliberate_research::Options;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::{collect_kit::Kit, lab::until};

fn watching(options: &mut Options) {
    options.watched = vec![options.papers.clone()];
}

/// One that watches its papers, from now on.
fn started(folder: Arc<TempDir>) -> (Kit, CancellationToken) {
    let kit = Kit::at(folder, watching);
    let stop = CancellationToken::new();
    kit.lab.start(&kit.registry, stop.clone());
    (kit, stop)
}

/// Ends it; its folder.
async fn ended(kit: Kit, stop: CancellationToken) -> Arc<TempDir> {
    stop.cancel();
    kit.store.close().await;
    kit.folder.clone()
}

fn remembered(folder: &TempDir) -> Value {
    let json = std::fs::read(folder.path().join("derived/watched.json"));
    serde_json::from_slice(&json.unwrap_or_default()).unwrap_or_default()
}

fn names(folder: &TempDir) -> usize {
    remembered(folder)
        .as_object()
        .map_or(0, serde_json::Map::len)
}

async fn total(kit: &Kit) -> u64 {
    let listed = kit.done("list_articles", json!({})).await;
    listed["total"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_went_into_another_database_is_read_again() {
    let (kit, stop) = started(Arc::new(tempfile::tempdir().unwrap()));
    let bees = kit.put("bees.md", "# On bees\n\nWords about bees.");
    let blank = kit.put("blank.txt", " \n \n");
    until(async || names(&kit.folder) == 2).await;
    let failed = remembered(&kit.folder)[blank.as_str()].clone();
    assert_eq!(failed["failed"], true, "{failed}");
    let read = remembered(&kit.folder)[bees.as_str()].clone();
    let folder = ended(kit, stop).await;
    for file in ["store.db", "store.db-wal", "store.db-shm"] {
        let _ = std::fs::remove_file(folder.path().join(file));
    }
    let (kit, stop) = started(folder);
    until(async || total(&kit).await == 1).await;
    until(async || {
        let now = remembered(&kit.folder)[bees.as_str()].clone();
        !now.is_null() && now != read
    })
    .await;
    // It is still remembered what can't be read.
    assert_eq!(remembered(&kit.folder)[blank.as_str()], failed);
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_of_an_article_that_was_deleted_is_not_read_again() {
    let (kit, stop) = started(Arc::new(tempfile::tempdir().unwrap()));
    kit.put("bees.md", "# On bees\n\nWords about bees.");
    until(async || names(&kit.folder) == 1).await;
    let gone = json!({ "article_identifier": "On bees", "confirm_deletion": true });
    kit.done("delete_article", gone).await;
    let folder = ended(kit, stop).await;
    let (kit, stop) = started(folder);
    kit.put("ants.md", "# On ants\n\nWords about ants.");
    until(async || names(&kit.folder) == 2).await;
    let listed = kit.done("list_articles", json!({})).await;
    assert_eq!(listed["total"], 1, "{listed:#}");
    assert_eq!(listed["articles"][0]["title"], "On ants");
    stop.cancel();
}
