//! Reranking by any service with Cohere's `/rerank` API.

use futures::{FutureExt as _, future::BoxFuture};
use serde::{Deserialize, Serialize};

use super::{ServiceSettings, head, service::ServiceClient};
use crate::{EmbedError, Reranker};

/// Bytes of one text that are sent: the maximum that these models read.
const MAX_TEXT_BYTES: usize = 16_000;

/// Texts per request. Each text is scored by itself, so batches can be combined.
const BATCH: usize = 500;

/// Reranks with a Cohere-compatible service.
#[derive(Debug)]
pub struct CohereReranker {
    service: ServiceClient,
    name: String,
}

#[derive(Serialize)]
struct RerankRequest<'a> {
    model: &'a str,
    query: &'a str,
    documents: Vec<&'a str>,
    top_n: usize,
}

#[derive(Deserialize)]
struct RerankResponse {
    results: Vec<RerankResult>,
}

#[derive(Deserialize)]
struct RerankResult {
    index: usize,
    relevance_score: f32,
}

impl CohereReranker {
    /// Creates a reranker; the base URL ends with the version, as in `https://api.cohere.com/v2`.
    pub fn new(settings: ServiceSettings) -> Result<Self, EmbedError> {
        let name = format!("cohere/{}", settings.model);
        let service = ServiceClient::new(settings, "rerank")?;
        Ok(Self { service, name })
    }

    async fn rerank_batch(&self, query: &str, texts: &[String]) -> Result<Vec<f32>, EmbedError> {
        let request = RerankRequest {
            model: self.service.model(),
            query: head(query, MAX_TEXT_BYTES),
            documents: texts
                .iter()
                .map(|text| head(text, MAX_TEXT_BYTES))
                .collect(),
            top_n: texts.len(),
        };
        let answer: RerankResponse = self.service.post(&request).await?;
        scores_in_order(&answer.results, texts.len())
    }
}

impl Reranker for CohereReranker {
    fn name(&self) -> &str {
        &self.name
    }

    fn rerank<'a>(
        &'a self,
        query: &'a str,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>> {
        async move {
            let mut scores = Vec::with_capacity(texts.len());
            for some in texts.chunks(BATCH) {
                scores.extend(self.rerank_batch(query, some).await?);
            }
            Ok(normalize_scores(scores))
        }
        .boxed()
    }
}

/// Returns the scores in the order of the texts; the service returns them best first.
fn scores_in_order(results: &[RerankResult], count: usize) -> Result<Vec<f32>, EmbedError> {
    let malformed = |reason: String| EmbedError::Malformed { reason };
    if results.len() != count {
        return Err(malformed(format!(
            "it holds {} scores for {count} texts",
            results.len()
        )));
    }
    let mut places: Vec<Option<f32>> = vec![None; count];
    for scored in results {
        if !scored.relevance_score.is_finite() {
            return Err(malformed("a score is not finite".to_owned()));
        }
        match places.get_mut(scored.index) {
            Some(place @ None) => *place = Some(scored.relevance_score),
            _ => {
                return Err(malformed(format!(
                    "the index {} is repeated or out of range",
                    scored.index
                )));
            }
        }
    }
    Ok(places.into_iter().flatten().collect())
}

/// Normalizes scores to 0 to 1. Some services return logits, which are unbounded; the sigmoid keeps
/// their order.
fn normalize_scores(scores: Vec<f32>) -> Vec<f32> {
    if scores.iter().all(|score| (0.0..=1.0).contains(score)) {
        return scores;
    }
    let bounded = scores.into_iter().map(|score| 1.0 / (1.0 + (-score).exp()));
    bounded.collect()
}
