//! An embedder and a reranker without a model, for tests and measurements.

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use sha2::{Digest, Sha256};

use crate::{EmbedError, Embedder, EmbeddingPurpose};

/// Hashes the words of a text into a vector: texts that share words are close.
#[derive(Debug, Clone)]
pub struct HashingEmbedder {
    pub dimensions: usize,
    /// Part of its id, so that two can differ.
    pub name: String,
}

impl HashingEmbedder {
    pub fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            name: "hashing".to_owned(),
        }
    }

    pub fn vector(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0.0; self.dimensions];
        let words = text
            .split(|letter: char| !letter.is_alphanumeric())
            .filter(|word| !word.is_empty());
        for word in words {
            let digest: [u8; 32] = Sha256::digest(word.to_lowercase()).into();
            let (pairs, _) = digest.as_chunks::<4>();
            for [a, b, c, sign] in pairs {
                let place = u32::from_le_bytes([*a, *b, *c, 0]) as usize % self.dimensions.max(1);
                if let Some(value) = vector.get_mut(place) {
                    *value += if sign & 1 == 0 { 1.0 } else { -1.0 };
                }
            }
        }
        vector
    }
}

impl Embedder for HashingEmbedder {
    fn id(&self) -> String {
        format!("{}-{}", self.name, self.dimensions)
    }

    fn dimensions(&self) -> BoxFuture<'_, Result<usize, EmbedError>> {
        ready(Ok(self.dimensions)).boxed()
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        _: EmbeddingPurpose,
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        let vectors = texts.iter().map(|text| self.vector(text)).collect();
        ready(Ok(vectors)).boxed()
    }

    fn batch(&self) -> usize {
        64
    }
}
