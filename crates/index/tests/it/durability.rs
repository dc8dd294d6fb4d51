//! What was committed stays: over reopening, over a crash at any step, between processes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, SystemTime};
use std::{fs, io};

use deliberate_index::{Index, IndexError, IndexFilter, SearchMode};
use tokio_util::sync::CancellationToken;

use super::support::{document, documents, hashing, in_folder, search};

/// The folder as it was in one instant, as a crash would leave it: the index's own threads write
/// and delete beside us, so what changed while it was copied is copied again.
async fn copy_consistent(from: &Path, to: &Path) {
    for _ in 0..1000 {
        let before = listing(from);
        let copied = try_copy(from, to);
        if copied.is_ok() && before.is_ok_and(|before| listing(from).is_ok_and(|now| now == before))
        {
            return;
        }
        let _ = fs::remove_dir_all(to);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("the folder never rested");
}

fn try_copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Every file with what tells that it was written since.
fn listing(folder: &Path) -> io::Result<BTreeMap<OsString, (u64, SystemTime)>> {
    fs::read_dir(folder)?
        .map(|entry| {
            let entry = entry?;
            let about = entry.metadata()?;
            Ok((entry.file_name(), (about.len(), about.modified()?)))
        })
        .collect()
}

#[tokio::test]
async fn reopening_sees_what_was_committed() {
    let folder = tempfile::tempdir().unwrap();
    let index = in_folder(folder.path(), Some(hashing()));
    assert_eq!(index.mark().unwrap(), 0);
    let passages = document("a", &["one fish", "two fish"]);
    index.put(vec![passages.clone()]).await.unwrap();
    index.commit(41).await.unwrap();
    index.put(vec![document("b", &["red fish"])]).await.unwrap();
    drop(index);
    let index = in_folder(folder.path(), Some(hashing()));
    assert_eq!(index.mark().unwrap(), 41);
    let hits = search(&index, "fish", SearchMode::Hybrid).await;
    assert_eq!(documents(&hits), ["a", "a"]);
    assert_eq!(
        index.document_passages("a").await.unwrap(),
        passages.passages
    );
    assert!(index.document_passages("b").await.unwrap().is_empty());
    let stats = index.stats();
    assert_eq!((stats.documents, stats.passages, stats.vectors), (1, 2, 2));
    assert_eq!((stats.missing_vectors, stats.dimensions), (0, Some(64)));
    assert!(stats.bytes > 0);
}

#[tokio::test]
async fn a_crash_at_any_step_leaves_the_last_commit() {
    let live = tempfile::tempdir().unwrap();
    let crashes = tempfile::tempdir().unwrap();
    let crashed = |name: &str| crashes.path().join(name);
    let index = in_folder(live.path(), Some(hashing()));
    copy_consistent(live.path(), &crashed("made")).await;
    index.put(vec![document("a", &["one fish"])]).await.unwrap();
    copy_consistent(live.path(), &crashed("put")).await;
    index.commit(1).await.unwrap();
    copy_consistent(live.path(), &crashed("committed")).await;
    index.put(vec![document("a", &["red bird"])]).await.unwrap();
    index.remove(&["c".to_owned()]).await.unwrap();
    copy_consistent(live.path(), &crashed("put again")).await;
    index.commit(2).await.unwrap();
    copy_consistent(live.path(), &crashed("committed again")).await;
    for (step, mark, found) in [
        ("made", 0, None),
        ("put", 0, None),
        ("committed", 1, Some("one fish")),
        ("put again", 1, Some("one fish")),
        ("committed again", 2, Some("red bird")),
    ] {
        let index = in_folder(&crashed(step), Some(hashing()));
        assert_eq!(index.mark().unwrap(), mark, "{step}");
        let hits = search(&index, "fish bird", SearchMode::Hybrid).await;
        let text = hits.hits.first().map(|hit| hit.passage.text.as_str());
        assert_eq!(text, found, "{step}");
        // And life goes on from there.
        index.put(vec![document("z", &["new tree"])]).await.unwrap();
        index.commit(9).await.unwrap();
        let hits = search(&index, "tree", SearchMode::Text).await;
        assert_eq!(documents(&hits), ["z"], "{step}");
    }
}

#[tokio::test]
async fn vectors_torn_in_a_crash_are_missing_and_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let index = in_folder(folder.path(), Some(hashing()));
    for id in ["a", "b"] {
        index.put(vec![document(id, &["one fish"])]).await.unwrap();
        index.commit(1).await.unwrap();
    }
    index.release().await.unwrap();
    drop(index);
    let entries = fs::read_dir(folder.path()).unwrap();
    let vectors = entries
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("vectors-")
        })
        .unwrap();
    let whole = fs::read(&vectors).unwrap();
    fs::write(&vectors, &whole[..whole.len() - 10]).unwrap();
    let index = in_folder(folder.path(), Some(hashing()));
    let stats = index.stats();
    assert_eq!((stats.vectors, stats.missing_vectors), (1, 1));
    let worked = index
        .run_maintenance(&CancellationToken::new())
        .await
        .unwrap();
    assert_eq!((worked.embedded, worked.remaining), (1, 0));
    assert_eq!(index.stats().vectors, 2);
}

#[tokio::test]
async fn one_writes_while_others_read() {
    let folder = tempfile::tempdir().unwrap();
    let first = in_folder(folder.path(), Some(hashing()));
    let second = in_folder(folder.path(), Some(hashing()));
    first.put(vec![document("a", &["one fish"])]).await.unwrap();
    let refused = second.put(vec![document("b", &["two fish"])]).await;
    assert_eq!(refused, Err(IndexError::Busy));
    assert_eq!(second.commit(5).await, Err(IndexError::Busy));
    assert_eq!(Index::wipe(folder.path()), Err(IndexError::Busy));
    first.commit(1).await.unwrap();
    assert_eq!(second.mark().unwrap(), 1);
    // The writer is given back soon after the commit.
    let put = async || second.put(vec![document("b", &["two fish"])]).await;
    for _ in 0..200 {
        match put().await {
            Err(IndexError::Busy) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
            done => {
                done.unwrap();
                break;
            }
        }
    }
    second.commit(2).await.unwrap();
    for _ in 0..200 {
        if first.stats().documents == 2 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    for index in [&first, &second] {
        assert_eq!(index.mark().unwrap(), 2);
        for mode in [SearchMode::Text, SearchMode::Vector] {
            let hits = search(index, "fish", mode).await;
            let mut found = documents(&hits);
            found.sort_unstable();
            assert_eq!(found, ["a", "b"], "{mode:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_put_and_ask_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let index = in_folder(folder.path(), Some(hashing()));
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let index = index.clone();
            tokio::spawn(async move {
                for turn in 0..5 {
                    let id = format!("{task}-{turn}");
                    let two = document(&id, &["one fish", "two fish"]);
                    index.put(vec![two]).await.unwrap();
                    index.commit(1).await.unwrap();
                    let hits = search(&index, "fish", SearchMode::Hybrid).await;
                    assert!(!hits.hits.is_empty());
                    assert_eq!(index.document_passages(&id).await.unwrap().len(), 2);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let stats = index.stats();
    assert_eq!((stats.documents, stats.passages), (40, 80));
    assert_eq!((stats.vectors, stats.missing_vectors), (80, 0));
}

#[tokio::test]
async fn clearing_empties_it_and_the_mark() {
    let folder = tempfile::tempdir().unwrap();
    let index = in_folder(folder.path(), Some(hashing()));
    index.put(vec![document("a", &["one fish"])]).await.unwrap();
    index.commit(7).await.unwrap();
    index.clear().await.unwrap();
    assert_eq!(index.mark().unwrap(), 0);
    let stats = index.stats();
    assert_eq!((stats.documents, stats.passages, stats.vectors), (0, 0, 0));
    assert!(
        search(&index, "fish", SearchMode::Hybrid)
            .await
            .hits
            .is_empty()
    );
    index.put(vec![document("a", &["one fish"])]).await.unwrap();
    index.commit(8).await.unwrap();
    let near = index
        .nearest(&["fish".to_owned()], &IndexFilter::All, 5)
        .await;
    assert_eq!(near.unwrap().hits.len(), 1);
}

#[tokio::test]
async fn a_document_is_replaced_wholly() {
    let index = super::support::in_memory(Some(hashing()));
    let long = document("a", &["one fish", "two fish", "three fish"]);
    index
        .put(vec![long, document("b", &["a bird"])])
        .await
        .unwrap();
    index.commit(1).await.unwrap();
    index.put(vec![document("a", &["one tree"])]).await.unwrap();
    index.commit(2).await.unwrap();
    assert_eq!(index.document_passages("a").await.unwrap().len(), 1);
    assert!(
        search(&index, "fish", SearchMode::Text)
            .await
            .hits
            .is_empty()
    );
    index.put(vec![document("a", &[])]).await.unwrap();
    index.commit(3).await.unwrap();
    assert_eq!(index.stats().documents, 1);
}
