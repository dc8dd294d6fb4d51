//! Scores from any service with Cohere's `/rerank`.

use futures::{FutureExt as _, future::BoxFuture};
use serde::{Deserialize, Serialize};

use super::{ServiceSettings, head, service::Service};
use crate::{EmbedError, Reranker};

/// How much of one text is sent: what these models read at most.
const MOST_BYTES: usize = 16_000;

/// How many texts go at once. Each is scored for itself, so parts can be put together.
const AT_ONCE: usize = 500;

/// Asks a Cohere-compatible service for scores.
#[derive(Debug)]
pub struct CohereReranker {
    service: Service,
    name: String,
}

#[derive(Serialize)]
struct Asked<'a> {
    model: &'a str,
    query: &'a str,
    documents: Vec<&'a str>,
    top_n: usize,
}

#[derive(Deserialize)]
struct Answer {
    results: Vec<Scored>,
}

#[derive(Deserialize)]
struct Scored {
    index: usize,
    relevance_score: f32,
}

impl CohereReranker {
    /// A reranker; its base URL ends with the version, as in `https://api.cohere.com/v2`.
    pub fn new(settings: ServiceSettings) -> Result<Self, EmbedError> {
        let name = format!("cohere/{}", settings.model);
        let service = Service::new(settings, "rerank")?;
        Ok(Self { service, name })
    }

    async fn some(&self, query: &str, texts: &[String]) -> Result<Vec<f32>, EmbedError> {
        let asked = Asked {
            model: self.service.model(),
            query: head(query, MOST_BYTES),
            documents: texts.iter().map(|text| head(text, MOST_BYTES)).collect(),
            top_n: texts.len(),
        };
        let answer: Answer = self.service.ask(&asked).await?;
        in_order(&answer.results, texts.len())
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
            for some in texts.chunks(AT_ONCE) {
                scores.extend(self.some(query, some).await?);
            }
            Ok(within_one(scores))
        }
        .boxed()
    }
}

/// Scores in the order of the texts; the service gives them best first.
fn in_order(results: &[Scored], count: usize) -> Result<Vec<f32>, EmbedError> {
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
            return Err(malformed("a score is without an end".to_owned()));
        }
        match places.get_mut(scored.index) {
            Some(place @ None) => *place = Some(scored.relevance_score),
            _ => {
                return Err(malformed(format!(
                    "the index {} is there twice or too large",
                    scored.index
                )));
            }
        }
    }
    Ok(places.into_iter().flatten().collect())
}

/// Scores from 0 to 1. Some services give what comes before the last step of their model, which
/// has no bounds; that step keeps the order.
fn within_one(scores: Vec<f32>) -> Vec<f32> {
    if scores.iter().all(|score| (0.0..=1.0).contains(score)) {
        return scores;
    }
    let bounded = scores.into_iter().map(|score| 1.0 / (1.0 + (-score).exp()));
    bounded.collect()
}
