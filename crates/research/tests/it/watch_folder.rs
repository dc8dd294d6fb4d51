//! Tests of watched folders and of the state that survives a restart.

use std::sync::Arc;

use deliberate_research::ResearchOptions;
use deliberate_testkit::wait_until_async;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::research_harness::ResearchHarness;

fn watch_papers(options: &mut ResearchOptions) {
    options.watched_folders = vec![options.papers_folder.clone()];
}

/// A harness that watches its papers folder from now on.
fn start_watching(folder: Arc<TempDir>) -> (ResearchHarness, CancellationToken) {
    let kit = ResearchHarness::in_folder_with_options(folder, watch_papers);
    let stop = CancellationToken::new();
    kit.services.start(&kit.registry, stop.clone());
    (kit, stop)
}

/// Stops a harness and returns its folder.
async fn stop_watching(harness: ResearchHarness, stop: CancellationToken) -> Arc<TempDir> {
    stop.cancel();
    harness.store.close().await;
    harness.folder.clone()
}

fn read_seen_files(folder: &TempDir) -> Value {
    let json = std::fs::read(folder.path().join("derived/watched.json"));
    serde_json::from_slice(&json.unwrap_or_default()).unwrap_or_default()
}

fn seen_file_count(folder: &TempDir) -> usize {
    read_seen_files(folder)
        .as_object()
        .map_or(0, serde_json::Map::len)
}

async fn article_count(harness: &ResearchHarness) -> u64 {
    let listed = harness.call_ok("list_articles", json!({})).await;
    listed["total"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_went_into_another_database_is_read_again() {
    let (kit, stop) = start_watching(Arc::new(tempfile::tempdir().unwrap()));
    let bees = kit.write_paper("bees.md", "# On bees\n\nWords about bees.");
    let blank = kit.write_paper("blank.txt", " \n \n");
    wait_until_async(async || seen_file_count(&kit.folder) == 2).await;
    let failed = read_seen_files(&kit.folder)[blank.as_str()].clone();
    assert_eq!(failed["failed"], true, "{failed}");
    let read = read_seen_files(&kit.folder)[bees.as_str()].clone();
    let folder = stop_watching(kit, stop).await;
    for file in ["store.db", "store.db-wal", "store.db-shm"] {
        let _ = std::fs::remove_file(folder.path().join(file));
    }
    let (kit, stop) = start_watching(folder);
    wait_until_async(async || article_count(&kit).await == 1).await;
    wait_until_async(async || {
        let now = read_seen_files(&kit.folder)[bees.as_str()].clone();
        !now.is_null() && now != read
    })
    .await;
    // The unreadable file is still remembered.
    assert_eq!(read_seen_files(&kit.folder)[blank.as_str()], failed);
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_of_an_article_that_was_deleted_is_not_read_again() {
    let (kit, stop) = start_watching(Arc::new(tempfile::tempdir().unwrap()));
    kit.write_paper("bees.md", "# On bees\n\nWords about bees.");
    wait_until_async(async || seen_file_count(&kit.folder) == 1).await;
    let gone = json!({ "article_identifier": "On bees", "confirm_deletion": true });
    kit.call_ok("delete_article", gone).await;
    let folder = stop_watching(kit, stop).await;
    let (kit, stop) = start_watching(folder);
    kit.write_paper("ants.md", "# On ants\n\nWords about ants.");
    wait_until_async(async || seen_file_count(&kit.folder) == 2).await;
    let listed = kit.call_ok("list_articles", json!({})).await;
    assert_eq!(listed["total"], 1, "{listed:#}");
    assert_eq!(listed["articles"][0]["title"], "On ants");
    stop.cancel();
}
