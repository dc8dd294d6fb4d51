//! The vectors of queries, or a note why there are none: a search continues without.

use std::time::Duration;

use crate::{
    EmbedError,
    embed::EmbeddingPurpose,
    index::Index,
    limits::{QUERY_BYTES, truncate_bytes},
    vectors::{QuantizedVector, quantize},
    writer::check_vectors,
};

impl Index {
    pub(crate) async fn query_vector(
        &self,
        text: &str,
        notes: &mut Vec<String>,
    ) -> Option<QuantizedVector> {
        let texts = [truncate_bytes(text, QUERY_BYTES).to_owned()];
        let made = self.embed(&texts, EmbeddingPurpose::Query).await;
        vector_or_note(made, notes)?
            .first()
            .and_then(|vector| quantize(vector))
    }

    /// The mean direction of the texts' vectors.
    pub(crate) async fn middle_vector(
        &self,
        texts: &[String],
        notes: &mut Vec<String>,
    ) -> Option<QuantizedVector> {
        let made = self.embed(texts, EmbeddingPurpose::Passage).await;
        let vectors = vector_or_note(made, notes)?;
        let mut middle = vec![0.0; vectors.first()?.len()];
        for vector in vectors.iter().filter_map(|vector| quantize(vector)) {
            for (sum, value) in middle.iter_mut().zip(&vector.values) {
                *sum += f32::from(*value) * vector.scale;
            }
        }
        quantize(&middle)
    }

    async fn embed(
        &self,
        texts: &[String],
        what: EmbeddingPurpose,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        let Some(embedder) = &self.inner.options.embedder else {
            return Ok(None);
        };
        let rest = &self.inner.cooldown;
        if rest.is_active() {
            return Err(unavailable("it was too slow a moment ago and is paused"));
        }
        let made = async {
            let mut vectors = Vec::with_capacity(texts.len());
            for batch in texts.chunks(embedder.batch().max(1)) {
                let made = embedder.embed(batch, what).await?;
                check_vectors(&made, batch.len())?;
                vectors.extend(made);
            }
            check_vectors(&vectors, texts.len())?;
            Ok(Some(vectors))
        };
        let made = tokio::time::timeout(EMBED_TIMEOUT, made).await;
        made.unwrap_or_else(|_| {
            rest.start();
            Err(unavailable("it took too long for a question"))
        })
    }
}

/// The time a query waits for its vector before it uses full-text search only.
const EMBED_TIMEOUT: Duration = Duration::from_millis(2_500);

fn unavailable(reason: &str) -> EmbedError {
    EmbedError::Unavailable {
        reason: reason.to_owned(),
    }
}

fn vector_or_note(
    made: Result<Option<Vec<Vec<f32>>>, EmbedError>,
    notes: &mut Vec<String>,
) -> Option<Vec<Vec<f32>>> {
    match made {
        Ok(Some(vectors)) => Some(vectors),
        Ok(None) => {
            notes.push("no embedder is set: searched by words alone".to_owned());
            None
        }
        Err(error) => {
            notes.push(format!(
                "no vector for the question ({error}): searched by words alone"
            ));
            None
        }
    }
}
