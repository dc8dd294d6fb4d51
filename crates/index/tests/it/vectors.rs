//! Vectors over time: made once, made later, made again by another, and gone with their passages.

use std::sync::Arc;

use deliberate_index::{Embedder, IndexError, SearchMode};
use tokio_util::sync::CancellationToken;

use super::support::{CountingEmbedder, document, documents, in_folder, in_memory, search};

#[tokio::test]
async fn unchanged_passages_keep_their_vectors() {
    let embedder = CountingEmbedder::new("one", 32);
    let index = in_memory(Some(embedder.clone()));
    let first = document("a", &["one fish", "two fish", "one fish"]);
    index.put(vec![first.clone()]).await.unwrap();
    assert_eq!(embedder.embedded_count(), 3);
    index.put(vec![first.clone()]).await.unwrap();
    index.commit(1).await.unwrap();
    index.put(vec![first]).await.unwrap();
    assert_eq!(embedder.embedded_count(), 0);
    let changed = document("a", &["new start", "one fish", "two fish", "one fish"]);
    index.put(vec![changed]).await.unwrap();
    index.commit(2).await.unwrap();
    assert_eq!(embedder.embedded_count(), 1);
    assert_eq!(index.stats().vectors, 4);
    let mut titled = document("a", &["one fish"]);
    titled.title = "Other".to_owned();
    index.put(vec![titled]).await.unwrap();
    assert_eq!(
        embedder.embedded_count(),
        1,
        "what a vector is made of has changed"
    );
}

#[tokio::test]
async fn without_the_embedder_passages_are_found_by_text_and_made_up_for_later() {
    let embedder = CountingEmbedder::new("one", 32);
    let index = in_memory(Some(embedder.clone()));
    embedder.set_down(true);
    let texts = ["one fish", "two fish", "red fish", "blue fish", "old fish"];
    index.put(vec![document("a", &texts)]).await.unwrap();
    index.commit(1).await.unwrap();
    assert_eq!(index.stats().missing_vectors, 5);
    let hits = search(&index, "fish", SearchMode::Hybrid).await;
    assert_eq!((hits.mode, hits.hits.len()), (SearchMode::Text, 5));
    assert!(
        hits.notes[0].contains("refused the connection"),
        "{:?}",
        hits.notes
    );
    let stop = CancellationToken::new();
    let failed = index.run_maintenance(&stop).await;
    assert!(matches!(failed, Err(IndexError::Embedding(_))));
    embedder.set_down(false);
    let hits = search(&index, "fish", SearchMode::Vector).await;
    assert_eq!((hits.mode, hits.hits.len()), (SearchMode::Text, 5));
    assert!(
        hits.notes[0].contains("still being made"),
        "{:?}",
        hits.notes
    );
    let worked = index.run_maintenance(&stop).await.unwrap();
    assert_eq!((worked.embedded, worked.remaining), (5, 0));
    let hits = search(&index, "blue fish", SearchMode::Vector).await;
    assert_eq!(hits.mode, SearchMode::Vector);
    assert_eq!(hits.hits[0].passage.text, "blue fish");
    assert_eq!(index.run_maintenance(&stop).await.unwrap().embedded, 0);
}

#[tokio::test]
async fn work_stops_when_told() {
    let embedder = CountingEmbedder::new("one", 32);
    let index = in_memory(Some(embedder.clone()));
    embedder.set_down(true);
    index.put(vec![document("a", &["one fish"])]).await.unwrap();
    index.commit(1).await.unwrap();
    embedder.set_down(false);
    let stop = CancellationToken::new();
    stop.cancel();
    let worked = index.run_maintenance(&stop).await.unwrap();
    assert_eq!(worked.embedded + worked.remaining, 1);
}

#[tokio::test]
async fn another_embedder_makes_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let embedders = [
        CountingEmbedder::new("one", 32),
        CountingEmbedder::new("two", 48),
    ];
    let open = |embedder: &Arc<CountingEmbedder>| {
        let embedder: Arc<dyn Embedder> = embedder.clone();
        in_folder(folder.path(), Some(embedder))
    };
    let index = open(&embedders[0]);
    index
        .put(vec![document("a", &["one fish", "a bird"])])
        .await
        .unwrap();
    index.commit(1).await.unwrap();
    index.release().await.unwrap();
    drop(index);
    let index = open(&embedders[1]);
    assert_eq!(index.stats().missing_vectors, 2);
    let hits = search(&index, "fish", SearchMode::Hybrid).await;
    assert_eq!(hits.mode, SearchMode::Text);
    assert_eq!(
        index
            .run_maintenance(&CancellationToken::new())
            .await
            .unwrap()
            .remaining,
        0
    );
    assert_eq!(index.stats().dimensions, Some(48));
    assert_eq!(embedders[1].embedded_count(), 2);
    index.release().await.unwrap();
    drop(index);
    // The first one's are still there.
    embedders[0].embedded_count();
    let index = open(&embedders[0]);
    assert_eq!(
        (index.stats().vectors, embedders[0].embedded_count()),
        (2, 0)
    );
}

#[tokio::test]
async fn a_dimension_that_changes_behind_a_name_makes_all_again() {
    let folder = tempfile::tempdir().unwrap();
    for dimensions in [32, 48] {
        let embedder = CountingEmbedder::new("same", dimensions);
        let index = in_folder(folder.path(), Some(embedder.clone()));
        if dimensions == 32 {
            index.put(vec![document("a", &["one fish"])]).await.unwrap();
            index.commit(1).await.unwrap();
            index.release().await.unwrap();
            continue;
        }
        let hits = search(&index, "fish", SearchMode::Hybrid).await;
        assert_eq!(hits.mode, SearchMode::Text);
        let worked = index
            .run_maintenance(&CancellationToken::new())
            .await
            .unwrap();
        assert_eq!((worked.embedded, worked.remaining), (1, 0));
        let hits = search(&index, "fish", SearchMode::Vector).await;
        assert_eq!(
            (hits.mode, documents(&hits)),
            (SearchMode::Vector, vec!["a"])
        );
    }
}

#[tokio::test]
async fn dead_rows_are_tidied_away() {
    let folder = tempfile::tempdir().unwrap();
    let embedder = CountingEmbedder::new("one", 32);
    let index = in_folder(folder.path(), Some(embedder.clone()));
    let texts: Vec<String> = (0..2000)
        .map(|number| format!("fish number {number}"))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    index.put(vec![document("many", &texts)]).await.unwrap();
    index
        .put(vec![document("few", &["one bird", "two birds"])])
        .await
        .unwrap();
    index.commit(1).await.unwrap();
    let before = index.stats().bytes;
    index.remove(&["many".to_owned()]).await.unwrap();
    index.commit(2).await.unwrap();
    index
        .run_maintenance(&CancellationToken::new())
        .await
        .unwrap();
    let stats = index.stats();
    assert_eq!((stats.vectors, stats.missing_vectors), (2, 0));
    assert!(stats.bytes < before / 2, "{} of {before}", stats.bytes);
    let hits = search(&index, "two birds", SearchMode::Vector).await;
    assert_eq!(hits.hits[0].passage.text, "two birds");
}

#[tokio::test]
async fn part_of_the_vectors_is_used_and_told() {
    let embedder = CountingEmbedder::new("one", 32);
    let index = in_memory(Some(embedder.clone()));
    index.put(vec![document("a", &["one fish"])]).await.unwrap();
    embedder.set_down(true);
    index.put(vec![document("b", &["two fish"])]).await.unwrap();
    embedder.set_down(false);
    index.commit(1).await.unwrap();
    let hits = search(&index, "fish", SearchMode::Hybrid).await;
    assert_eq!((hits.mode, hits.hits.len()), (SearchMode::Hybrid, 2));
    assert!(hits.notes[0].contains("50 %"), "{:?}", hits.notes);
}
