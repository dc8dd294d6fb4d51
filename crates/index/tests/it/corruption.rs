//! Damaged folders: said to be so, wiped, and nothing of others touched.

use std::fs;
use std::path::{Path, PathBuf};

use deliberate_index::{Index, IndexError, IndexOptions, SearchMode};

use tokio_util::sync::CancellationToken;

use super::support::{document, hashing, in_folder, search};

async fn build_index(folder: &Path) {
    let index = in_folder(folder, Some(hashing()));
    for id in ["a", "b", "c"] {
        index
            .put(vec![document(id, &["one fish", "two fish"])])
            .await
            .unwrap();
        index.commit(1).await.unwrap();
    }
    index.release().await.unwrap();
}

fn open(folder: &Path) -> Result<Index, IndexError> {
    Index::open(IndexOptions {
        folder: Some(folder.to_owned()),
        embedder: Some(hashing()),
        ..IndexOptions::default()
    })
}

fn kind_of(name: &str) -> &str {
    name.split_once('.').map_or("", |(_, kind)| kind)
}

fn files(folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .filter(|path| wanted(&path.file_name().unwrap().to_string_lossy()))
        .collect()
}

#[tokio::test]
async fn broken_files_are_said_to_be_broken_and_can_be_wiped() {
    let kinds: [fn(&str) -> bool; 5] = [
        |name| name == "meta.json",
        |name| matches!(kind_of(name), "idx" | "term"),
        |name| matches!(kind_of(name), "fast" | "store"),
        |name| name.starts_with("vectors-"),
        |name| kind_of(name) == "fieldnorm",
    ];
    for (kind, wanted) in kinds.into_iter().enumerate() {
        for cut in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            build_index(folder.path()).await;
            let hit = files(folder.path(), wanted);
            assert!(!hit.is_empty(), "kind {kind} has files");
            for path in hit {
                let bytes = fs::read(&path).unwrap();
                let broken = if cut {
                    bytes[..bytes.len().min(9)].to_vec()
                } else {
                    vec![0xa5; bytes.len()]
                };
                fs::write(&path, broken).unwrap();
            }
            let error = open(folder.path()).err().expect("damage is seen");
            assert!(
                matches!(error, IndexError::Corrupt { .. }),
                "{kind}: {error:?}"
            );
            Index::wipe(folder.path()).unwrap();
            let index = open(folder.path()).unwrap();
            assert_eq!(index.mark().unwrap(), 0);
            index.put(vec![document("a", &["one fish"])]).await.unwrap();
            index.commit(1).await.unwrap();
            assert_eq!(
                search(&index, "fish", SearchMode::Hybrid).await.hits.len(),
                1
            );
        }
    }
}

#[tokio::test]
async fn vectors_that_are_not_what_was_written_are_made_again() {
    let folder = tempfile::tempdir().unwrap();
    build_index(folder.path()).await;
    let hit = files(folder.path(), |name| name.starts_with("vectors-"));
    let mut bytes = fs::read(&hit[0]).unwrap();
    // Behind two headers, two keys, two scales and their signs are the values of the first piece.
    bytes[64 * 2 + 100] ^= 0x10;
    fs::write(&hit[0], bytes).unwrap();
    let index = open(folder.path()).unwrap();
    let stats = index.stats();
    assert_eq!((stats.vectors, stats.missing_vectors), (4, 2));
    let stop = CancellationToken::new();
    while index.run_maintenance(&stop).await.unwrap().remaining > 0 {}
    index.run_maintenance(&stop).await.unwrap();
    let stats = index.stats();
    assert_eq!((stats.vectors, stats.missing_vectors), (6, 0));
    drop(index);
    assert_eq!(open(folder.path()).unwrap().stats().missing_vectors, 0);
}

#[tokio::test]
async fn a_folder_that_goes_while_it_is_used_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("index");
    build_index(&place).await;
    let index = open(&place).unwrap();
    assert_eq!(index.mark(), Ok(1));
    fs::remove_dir_all(&place).unwrap();
    assert!(matches!(index.mark(), Err(IndexError::Corrupt { .. })));
}

#[tokio::test]
async fn wiping_leaves_what_is_not_ours() {
    let folder = tempfile::tempdir().unwrap();
    build_index(folder.path()).await;
    fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    fs::create_dir(folder.path().join("vectors-of-mine.bin")).unwrap();
    Index::wipe(folder.path()).unwrap();
    let mut left: Vec<String> = files(folder.path(), |_| true)
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["notes.txt", "vectors-of-mine.bin"]);
    Index::wipe(&folder.path().join("not there")).unwrap();
}

#[tokio::test]
async fn what_can_not_be_indexed_is_refused() {
    let index = super::support::in_memory(None);
    let huge = "x".repeat(300 * 1024);
    let bad_name = super::support::with_words(document("a", &["x"]), &[("no such.name", &["y"])]);
    let empty_word = super::support::with_words(document("a", &["x"]), &[("name", &[""])]);
    let long_id = document(&"i".repeat(2000), &["x"]);
    for bad in [
        document("", &["x"]),
        document("a", &[&huge]),
        bad_name,
        empty_word,
        long_id,
    ] {
        let refused = index.put(vec![bad]).await;
        assert!(matches!(refused, Err(IndexError::Invalid { .. })));
    }
}
