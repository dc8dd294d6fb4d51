//! The two things others do for a search: vectors for texts, and a second look at the best hits.

use futures::future::BoxFuture;

/// What a vector is made for: some models treat the two differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingPurpose {
    /// A question.
    Query,
    /// A text to be found.
    Passage,
}

/// Makes vectors.
pub trait Embedder: Send + Sync {
    /// The model and its revision. Vectors of different ids are never compared.
    fn id(&self) -> String;

    /// How many numbers a vector has; may have to ask.
    fn dimensions(&self) -> BoxFuture<'_, Result<usize, EmbedError>>;

    /// One vector for each text, in order. They need not be normalised.
    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        what: EmbeddingPurpose,
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>>;

    /// How many texts it takes at once.
    fn batch(&self) -> usize;
}

/// Scores texts for a question, better and slower than a search does.
pub trait Reranker: Send + Sync {
    /// What it is called in notes.
    fn name(&self) -> &str;

    /// One score from 0 to 1 for each text, in order.
    fn rerank<'a>(
        &'a self,
        query: &'a str,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>>;
}

/// Why there are no vectors or no scores.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// An address or a key that can't be right; nothing was sent.
    #[error("the settings can't be used: {reason}")]
    Misconfigured {
        /// What is wrong with them.
        reason: String,
    },
    /// The service is not there, or too busy: later may do.
    #[error("the service can't be reached: {reason}")]
    Unavailable {
        /// What happened.
        reason: String,
    },
    /// The service said no.
    #[error("the service refused: {reason}")]
    Refused {
        /// What it said.
        reason: String,
    },
    /// What came back can't be used.
    #[error("the answer can't be used: {reason}")]
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
}
