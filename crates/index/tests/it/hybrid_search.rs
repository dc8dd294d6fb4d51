//! How words and vectors are fused in a search.

use std::sync::Arc;

use deliberate_index::testing::HashingEmbedder;
use deliberate_index::{Fusion, Index, IndexOptions, IndexedDocument, Passage, PassageHits, Query};

/// An index of one passage a document; each document is committed alone, so that it gets a piece
/// of the files of its own.
async fn build_index(documents: &[(&str, &str)]) -> Index {
    let index = Index::open(IndexOptions {
        embedder: Some(Arc::new(HashingEmbedder::new(64))),
        ..IndexOptions::default()
    })
    .unwrap();
    for (version, (id, text)) in (1..).zip(documents) {
        let passage = Passage {
            text: (*text).to_owned(),
            ..Passage::default()
        };
        let document = IndexedDocument {
            id: (*id).to_owned(),
            passages: vec![passage],
            ..IndexedDocument::default()
        };
        index.put(vec![document]).await.unwrap();
        index.commit(version).await.unwrap();
    }
    index
}

async fn search(index: &Index, text: &str, fusion: Fusion) -> PassageHits {
    let query = Query {
        text: text.to_owned(),
        fusion,
        ..Query::default()
    };
    index.search(&query).await.unwrap()
}

fn ids(hits: &PassageHits) -> Vec<&str> {
    hits.hits.iter().map(|hit| hit.document.as_str()).collect()
}

const TEXTS: [(&str, &str); 4] = [
    ("ice", "Glaciers melt quickly and the sea rises."),
    ("law", "The court dismissed the appeal."),
    ("sea", "The sea is cold where glaciers end."),
    ("sun", "Sunlight warms the ground."),
];

#[tokio::test]
async fn adaptive_shares_are_part_of_the_fixed_ones() {
    let index = build_index(&TEXTS).await;
    let question = "How quickly do glaciers melt away";
    let fixed = Fusion {
        adaptive: false,
        ..Fusion::default()
    };
    let (fixed, adaptive) = (
        search(&index, question, fixed).await,
        search(&index, question, Fusion::default()).await,
    );
    let (Some(first), Some(least)) = (fixed.hits.first(), adaptive.hits.first()) else {
        panic!("nothing was found");
    };
    assert_eq!(
        (first.document.as_str(), least.document.as_str()),
        ("ice", "ice")
    );
    assert_eq!((least.text_rank, least.vector_rank), (Some(1), Some(1)));
    assert!((first.score - 1.0 / 61.0).abs() < 1e-6, "{}", first.score);
    // The words' best keeps their share whole; the vectors have some of theirs, as the question has
    // words that are nowhere.
    assert!(
        least.score > 0.7 / 61.0 && least.score < 1.0 / 61.0,
        "{}",
        least.score
    );
    let mut all = (ids(&fixed), ids(&adaptive));
    all.0.sort_unstable();
    all.1.sort_unstable();
    assert_eq!(all.0, all.1);
}

#[tokio::test]
async fn words_that_are_nowhere_leave_more_to_the_vectors() {
    let index = build_index(&TEXTS).await;
    let vectors_share = async |question: &str| {
        let hits = search(&index, question, Fusion::default()).await;
        hits.hits.first().unwrap().score - 0.7 / 61.0
    };
    let found = vectors_share("glaciers melt quickly").await;
    let mostly_not = vectors_share("glaciers melt quickly zyx wvu tsr qpo").await;
    assert!(mostly_not > found, "{mostly_not} {found}");
}

#[tokio::test]
async fn a_side_of_no_weight_says_nothing() {
    let index = build_index(&TEXTS).await;
    for adaptive in [false, true] {
        let words_alone = Fusion {
            vector_weight: 0.0,
            adaptive,
            ..Fusion::default()
        };
        let hits = search(&index, "cold sea, glaciers", words_alone).await;
        assert_eq!(ids(&hits), ["sea", "ice"], "adaptive: {adaptive}");
    }
}

#[tokio::test]
async fn equal_passages_come_in_the_same_order_however_they_were_put() {
    let names: Vec<String> = (0..12).map(|number| format!("d{number}")).collect();
    let mut documents: Vec<(&str, &str)> = names
        .iter()
        .map(|name| (name.as_str(), "Glaciers melt quickly."))
        .collect();
    let forwards = search(
        &build_index(&documents).await,
        "melting glaciers",
        Fusion::default(),
    )
    .await;
    documents.reverse();
    documents.swap(2, 9);
    let backwards = search(
        &build_index(&documents).await,
        "melting glaciers",
        Fusion::default(),
    )
    .await;
    assert_eq!(forwards.hits.len(), 10);
    assert_eq!(ids(&forwards), ids(&backwards));
}

#[test]
fn the_weights_are_the_documented_ones() {
    let (embedded, services) = (Fusion::default(), Fusion::for_services());
    assert_eq!((embedded.vector_weight, embedded.text_weight), (0.3, 0.7));
    assert_eq!((services.vector_weight, services.text_weight), (0.7, 0.3));
    assert!(embedded.adaptive && services.adaptive);
    assert_eq!(
        (embedded.rank_constant, services.rank_constant),
        (60.0, 60.0)
    );
}
