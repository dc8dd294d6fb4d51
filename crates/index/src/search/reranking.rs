//! Reranks the best hits.

use std::time::{Duration, Instant};

use crate::{EmbedError, PassageHit, PassageHits, Query};

/// The time limit of reranking; after it the order stays.
const RERANK_TIMEOUT: Duration = Duration::from_secs(5);

/// Reranks the hits; keeps their order if the reranker fails.
pub(crate) async fn rerank(query: &Query, hits: &mut PassageHits) {
    let Some(reranker) = &query.reranker else {
        return;
    };
    let began = Instant::now();
    let seen = hits.hits.len().min(query.rerank_candidates);
    let texts: Vec<String> = hits
        .hits
        .iter()
        .take(seen)
        .map(|hit| hit.passage.text.clone())
        .collect();
    if texts.is_empty() {
        return;
    }
    let name = reranker.name();
    let asked = tokio::time::timeout(RERANK_TIMEOUT, reranker.rerank(&query.text, &texts)).await;
    let asked = asked.unwrap_or_else(|_| {
        Err(EmbedError::Unavailable {
            reason: "it took too long".to_owned(),
        })
    });
    match asked {
        Ok(scores) if scores.len() == seen && scores.iter().all(|score| score.is_finite()) => {
            for (hit, score) in hits.hits.iter_mut().zip(scores) {
                hit.rerank_score = Some(score.clamp(0.0, 1.0));
            }
            // Hits that were not reranked stay behind the others in their order.
            hits.hits.sort_by(|left, right| {
                let score = |hit: &PassageHit| hit.rerank_score.unwrap_or(-1.0);
                score(right).total_cmp(&score(left))
            });
        }
        Ok(scores) => hits.notes.push(format!(
            "{name} gave {} scores for {seen} passages: not reranked",
            scores.len()
        )),
        Err(error) => hits.notes.push(format!("not reranked by {name}: {error}")),
    }
    hits.timings.rerank = began.elapsed();
}
