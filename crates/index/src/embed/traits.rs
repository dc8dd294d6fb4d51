//! The traits of what others provide to a search: vectors for texts, and reranking.

use futures::future::BoxFuture;

/// What a vector is made for; some models treat the two differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingPurpose {
    Query,
    Passage,
}

/// Makes vectors of texts.
pub trait Embedder: Send + Sync {
    /// The model and its revision. Vectors of different ids are never compared.
    fn id(&self) -> String;

    /// The dimensions of a vector; may need a request.
    fn dimensions(&self) -> BoxFuture<'_, Result<usize, EmbedError>>;

    /// Returns one vector for each text, in order. They need not be normalized.
    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        purpose: EmbeddingPurpose,
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>>;

    /// The texts per call.
    fn batch(&self) -> usize;
}

/// Scores texts for a query, better and slower than a search.
pub trait Reranker: Send + Sync {
    /// The name in notes.
    fn name(&self) -> &str;

    /// Returns one score from 0 to 1 for each text, in order.
    fn rerank<'a>(
        &'a self,
        query: &'a str,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>>;
}

/// Why there are no vectors or scores.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// The URL or the key cannot be right; nothing was sent.
    #[error("the settings can't be used: {reason}")]
    Misconfigured { reason: String },
    /// The service is unreachable or busy; a later call may succeed.
    #[error("the service can't be reached: {reason}")]
    Unavailable { reason: String },
    /// The service rejected the request.
    #[error("the service rejected the request: {reason}")]
    Refused { reason: String },
    /// The response cannot be used.
    #[error("the response can't be used: {reason}")]
    Malformed { reason: String },
}
