//! The second look: it orders what it sees, and its failing costs nothing but the order.

use std::sync::Arc;

use deliberate_index::{EmbedError, Index, PassageHits, Query, Reranker};
use futures::FutureExt;
use futures::future::{BoxFuture, ready};

use super::support::{document, in_memory};

type RerankAnswer = fn(usize) -> Result<Vec<f32>, EmbedError>;

/// Likes long texts, or answers what it is told.
struct LengthReranker(Option<RerankAnswer>);

impl Reranker for LengthReranker {
    fn name(&self) -> &'static str {
        "longest"
    }

    fn rerank<'a>(
        &'a self,
        _: &'a str,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>> {
        let scores = match self.0 {
            Some(answer) => answer(texts.len()),
            None => Ok(texts.iter().map(|text| text.len() as f32 / 100.0).collect()),
        };
        ready(scores).boxed()
    }
}

async fn fish_index() -> Index {
    let index = in_memory(None);
    let texts = [
        "fish",
        "fish here",
        "fish in the sea",
        "a fish is a fish of the sea",
    ];
    index.put(vec![document("a", &texts)]).await.unwrap();
    index.commit(1).await.unwrap();
    index
}

async fn search_reranked(
    index: &Index,
    reranker: LengthReranker,
    k: usize,
    seen: usize,
) -> PassageHits {
    let query = Query {
        text: "fish".to_owned(),
        k,
        reranker: Some(Arc::new(reranker)),
        rerank_candidates: seen,
        ..Query::default()
    };
    index.search(&query).await.unwrap()
}

#[tokio::test]
async fn it_orders_more_than_is_answered() {
    let index = fish_index().await;
    let hits = search_reranked(&index, LengthReranker(None), 2, 30).await;
    let numbers: Vec<u32> = hits.hits.iter().map(|hit| hit.passage.number).collect();
    assert_eq!(numbers, [3, 2]);
    assert!(hits.hits[0].rerank_score > hits.hits[1].rerank_score);
}

#[tokio::test]
async fn what_it_does_not_see_stays_behind() {
    let index = fish_index().await;
    let hits = search_reranked(&index, LengthReranker(None), 4, 2).await;
    assert_eq!(hits.hits.len(), 4);
    let scored: Vec<bool> = hits
        .hits
        .iter()
        .map(|hit| hit.rerank_score.is_some())
        .collect();
    assert_eq!(scored, [true, true, false, false]);
}

#[tokio::test]
async fn its_failures_are_noted_and_the_order_kept() {
    let index = fish_index().await;
    let plain = search_reranked(
        &index,
        LengthReranker(Some(|count| Ok(vec![0.5; count]))),
        4,
        30,
    )
    .await;
    let order = |hits: &PassageHits| {
        hits.hits
            .iter()
            .map(|hit| hit.passage.number)
            .collect::<Vec<_>>()
    };
    let failures: [RerankAnswer; 3] = [
        |_| {
            Err(EmbedError::Refused {
                reason: "no credit".to_owned(),
            })
        },
        |_| Ok(vec![0.1]),
        |count| Ok(vec![f32::NAN; count]),
    ];
    for failure in failures {
        let hits = search_reranked(&index, LengthReranker(Some(failure)), 4, 30).await;
        assert_eq!(order(&hits), order(&plain));
        assert!(
            hits.notes.iter().any(|note| note.contains("longest")),
            "{:?}",
            hits.notes
        );
        assert!(hits.hits.iter().all(|hit| hit.rerank_score.is_none()));
    }
}
