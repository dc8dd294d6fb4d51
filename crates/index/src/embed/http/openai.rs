//! Embeddings from any service with `OpenAI`'s `/embeddings` API.

use futures::{FutureExt as _, future::BoxFuture};
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use super::{
    ServiceSettings, head,
    service::{ServiceClient, misconfigured},
};
use crate::{EmbedError, Embedder, EmbeddingPurpose};

/// Bytes of one text that are sent: the maximum that these models read, in any script.
const MAX_TEXT_BYTES: usize = 24_000;

const MAX_DIMENSIONS: usize = 16_384;

/// Embeds with an OpenAI-compatible service.
#[derive(Debug)]
pub struct OpenAiEmbedder {
    service: ServiceClient,
    requested_dimensions: Option<usize>,
    known_dimensions: OnceCell<usize>,
    batch: usize,
    query_prefix: String,
    passage_prefix: String,
}

#[derive(Serialize)]
struct EmbeddingRequest<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

#[derive(Deserialize)]
struct EmbeddingResponse {
    data: Vec<EmbeddingRow>,
}

#[derive(Deserialize)]
struct EmbeddingRow {
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl OpenAiEmbedder {
    /// An embedder with batches of 64 texts that learns the dimensions from a response.
    pub fn new(settings: ServiceSettings) -> Result<Self, EmbedError> {
        Ok(Self {
            service: ServiceClient::new(settings, "embeddings")?,
            requested_dimensions: None,
            known_dimensions: OnceCell::new(),
            batch: 64,
            query_prefix: String::new(),
            passage_prefix: String::new(),
        })
    }

    /// Requests vectors of these dimensions, if the model supports it.
    pub fn with_dimensions(self, dimensions: usize) -> Result<Self, EmbedError> {
        if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            return Err(misconfigured("vectors have 1 to 16384 numbers"));
        }
        Ok(Self {
            requested_dimensions: Some(dimensions),
            known_dimensions: OnceCell::new_with(Some(dimensions)),
            ..self
        })
    }

    /// Sets the texts per request, 1 to 2048.
    pub fn with_batch(self, batch: usize) -> Self {
        Self {
            batch: batch.clamp(1, 2048),
            ..self
        }
    }

    /// Sets prefixes of queries and passages, which some models need.
    pub fn with_prefixes(self, query: impl Into<String>, passage: impl Into<String>) -> Self {
        Self {
            query_prefix: query.into(),
            passage_prefix: passage.into(),
            ..self
        }
    }

    /// Embeds one batch.
    async fn embed_batch(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let request = EmbeddingRequest {
            model: self.service.model(),
            input: texts,
            encoding_format: "float",
            dimensions: self.requested_dimensions,
        };
        let answer: EmbeddingResponse = self.service.post(&request).await?;
        let vectors = vectors_in_order(answer.data, texts.len())?;
        let found = vectors.first().map_or(0, Vec::len);
        if !(1..=MAX_DIMENSIONS).contains(&found) {
            return Err(malformed(format!("a vector has {found} numbers")));
        }
        let expected = *self.known_dimensions.get_or_init(|| async { found }).await;
        for vector in &vectors {
            if vector.len() != expected {
                return Err(malformed(format!(
                    "a vector has {} numbers where {expected} were expected",
                    vector.len()
                )));
            }
            if !vector.iter().all(|number| number.is_finite()) {
                return Err(malformed(
                    "a vector has a number that is not finite".to_owned(),
                ));
            }
        }
        Ok(vectors)
    }
}

impl Embedder for OpenAiEmbedder {
    fn id(&self) -> String {
        let model = self.service.model();
        let length = self
            .requested_dimensions
            .map_or_else(String::new, |n| format!("/{n}"));
        let (query, passage) = (&self.query_prefix, &self.passage_prefix);
        if query.is_empty() && passage.is_empty() {
            format!("openai/{model}{length}")
        } else {
            format!("openai/{model}{length}/{query:?}/{passage:?}")
        }
    }

    fn dimensions(&self) -> BoxFuture<'_, Result<usize, EmbedError>> {
        async move {
            if let Some(known) = self.known_dimensions.get() {
                return Ok(*known);
            }
            let vectors = self.embed_batch(&["length".to_owned()]).await?;
            Ok(vectors.first().map_or(0, Vec::len))
        }
        .boxed()
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        purpose: EmbeddingPurpose,
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        let prefix = match purpose {
            EmbeddingPurpose::Query => &self.query_prefix,
            EmbeddingPurpose::Passage => &self.passage_prefix,
        };
        async move {
            let mut vectors = Vec::with_capacity(texts.len());
            for some in texts.chunks(self.batch) {
                let sent: Vec<_> = some.iter().map(|text| prepare_text(prefix, text)).collect();
                vectors.extend(self.embed_batch(&sent).await?);
            }
            Ok(vectors)
        }
        .boxed()
    }

    fn batch(&self) -> usize {
        self.batch
    }
}

/// Prepares a text. Services reject an empty one, and its whole batch with it.
fn prepare_text(prefix: &str, text: &str) -> String {
    let text = format!("{prefix}{}", head(text, MAX_TEXT_BYTES));
    if text.is_empty() {
        " ".to_owned()
    } else {
        text
    }
}

/// Returns the vectors in the order of the texts; services may use another order.
fn vectors_in_order(rows: Vec<EmbeddingRow>, count: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
    if rows.len() != count {
        return Err(malformed(format!(
            "it holds {} vectors for {count} texts",
            rows.len()
        )));
    }
    let mut places: Vec<Option<Vec<f32>>> = vec![None; count];
    for (at, row) in rows.into_iter().enumerate() {
        let index = row.index.unwrap_or(at);
        match places.get_mut(index) {
            Some(place @ None) => *place = Some(row.embedding),
            _ => {
                return Err(malformed(format!(
                    "the index {index} is repeated or out of range"
                )));
            }
        }
    }
    Ok(places.into_iter().flatten().collect())
}

fn malformed(reason: String) -> EmbedError {
    EmbedError::Malformed { reason }
}
